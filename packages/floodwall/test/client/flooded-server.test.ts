import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Cluster, envOf, type RejectedError, systemRuntime, timeout } from 'floodwall'
import { client } from 'floodwall/client'
import { expect, test } from 'vitest'
import { classOf } from './support/flooded.ts'

// A server at four times its load and a client, two real processes. Counts are compared and no times, on the same machine in the same minute.

const script = fileURLToPath(new URL('support/flooded-server.mjs', import.meta.url))
const CALLS = 2400
/** So many before it is counted: the server has to find out, and its answers have to tell. */
const BEFORE = 1200
/** Four times what the server can do. */
const PER_MS = 0.2

interface Counts {
  readonly arrived: number
  readonly done: number
}

async function flooded(heed: boolean) {
  const server = fork(script, { execArgv: [], env: { ...process.env, VITEST: '' } })
  try {
    const [port] = (await once(server, 'message')) as [number]
    const cluster = new Cluster({ slowStart: 0 }, envOf(systemRuntime, 'c'))
    cluster.update([{ id: 's', address: `http://127.0.0.1:${port}` }])
    await using caller = client('c', cluster, [timeout({ after: '20s' })], {
      heed,
      holdBack: false,
      pool: { connections: 1000 },
    })
    let here = 0
    const ask = async (i: number): Promise<void> => {
      try {
        const { body } = await caller.request({ path: '/items', criticality: classOf(i) })
        await body.dump()
      } catch (error) {
        if ((error as RejectedError).code === 'overloaded') here++
      }
    }
    const counts = async () => {
      const { arrived, done } = (await (await fetch(`http://127.0.0.1:${port}/counts`)).json()) as Counts
      return { done, refusedThere: arrived - done, refusedHere: here }
    }
    const all: Promise<void>[] = []
    const since = performance.now()
    const until = async (calls: number) => {
      while (all.length < calls) {
        while (all.length < Math.min(calls, (performance.now() - since) * PER_MS)) all.push(ask(all.length))
        await pause(2)
      }
    }
    await until(BEFORE)
    const before = await counts()
    await until(CALLS)
    const after = await counts()
    await Promise.all(all)
    return {
      done: after.done - before.done,
      refusedThere: after.refusedThere - before.refusedThere,
      refusedHere: after.refusedHere - before.refusedHere,
    }
  } finally {
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
}

test('the client refuses most of what the server would have refused, and as much is done', async () => {
  const without = await flooded(false)
  const heeded = await flooded(true)
  const show = ({ refusedThere, refusedHere, done }: typeof heeded) =>
    `${done} done, ${refusedThere} refused there, ${refusedHere} here`
  console.log(`unheeded: ${show(without)}; heeded: ${show(heeded)}`)
  expect(without.refusedHere).toBe(0)
  expect(heeded.refusedHere).toBeGreaterThan((CALLS - BEFORE) / 4)
  expect(heeded.refusedThere).toBeLessThan(without.refusedThere / 2)
  expect(heeded.done).toBeGreaterThan(without.done * 0.7)
}, 90_000)
