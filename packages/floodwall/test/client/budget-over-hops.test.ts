import { Cluster, deadline, isRejected, pipeline, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { names } from 'floodwall/wire'
import { expect, test } from 'vitest'
import { type ClientOptions, client, type Fetch } from '../../src/client/index.ts'
import { type Fate, fateOf } from '../core/fate.ts'

// Each hop used its own full timeout, so downstream work went on after the caller had given up; retries restarted the clock. (SRE, ch. 22)
// Here: what is sent to the next hop. In virtual time, over a function like fetch.

/** A world with peers that answer after so many milliseconds, and what was sent to each, when. */
function world(answers: Readonly<Record<string, number | 'fails'>>) {
  const runtime = new VirtualRuntime()
  const sent: { to: string; at: number; told: string | null }[] = []
  const aborted: { to: string; at: number; reason: unknown }[] = []
  const fetch: Fetch = (url, init) => {
    const to = new URL(url).hostname
    sent.push({ to, at: runtime.now(), told: new Headers(init.headers).get(names.timeout) })
    return new Promise((resolve, reject) => {
      init.signal?.addEventListener('abort', () => {
        aborted.push({ to, at: runtime.now(), reason: init.signal?.reason })
        reject(init.signal?.reason as Error)
      })
      const answer = answers[to] ?? 'fails'
      if (answer === 'fails') reject(new Error('reset'))
      else runtime.after(answer, () => resolve(new Response('ok')))
    })
  }
  const peer = (id: string, layers: Parameters<typeof client>[2], options: ClientOptions = {}) => {
    const cluster = new Cluster({ slowStart: 0 }, runtime.env(id))
    cluster.update([{ id }])
    return client(id, cluster, layers, { runtime, fetch, ...options })
  }
  const sleep = (ms: number) => new Promise<void>((resolve) => void runtime.after(ms, resolve))
  return { runtime, sent, aborted, peer, sleep, server: pipeline('server', [deadline({ within: 1000 })], { runtime }) }
}

test('C19 local work, then C, then D, then E: each is told what is left', async () => {
  const { runtime, sent, peer, sleep, server } = world({ c: 500, d: 1, e: 1 })
  const c = peer('c', [timeout({ after: 600 })])
  const d = peer('d', [timeout({ after: 400 })])
  const e = peer('e', [deadline({ within: 5000, floor: 250 }), timeout({ after: 5000 })])
  let refusal: unknown
  void fateOf(
    server.call(async (parent) => {
      await sleep(300)
      await c.fetch('/', { parent })
      await d.fetch('/', { parent })
      await e.fetch('/', { parent }).catch((error: unknown) => (refusal = error))
    }),
  )
  await runtime.advanceAsync(2000)
  expect(sent).toEqual([
    { to: 'c', at: 300, told: '600' },
    { to: 'd', at: 800, told: '200' },
  ])
  expect([isRejected(refusal), refusal]).toMatchObject([true, { code: 'deadline', path: 'e/deadline' }])
})

test('C19 F fails at 850 ms, and is not tried again when the wait would pass the deadline', async () => {
  const { runtime, sent, peer, sleep, server } = world({ f: 'fails' })
  const backoff = { first: '10s', atMost: '10s' } as const
  const f = peer('f', [retry({ backoff }), timeout({ after: 600 })])
  const fate = fateOf(
    server.call(async (parent) => {
      await sleep(850)
      return f.fetch('/', { parent })
    }),
    runtime,
  )
  await runtime.advanceAsync(2000)
  expect([sent, fate.at, fate.state]).toEqual([[{ to: 'f', at: 850, told: '150' }], 850, 'failed'])
})

test('C19 the abort of the caller at 400 ms reaches C, with its reason', async () => {
  const { runtime, aborted, peer, server } = world({ c: 10_000 })
  const c = peer('c', [timeout({ after: 600 })])
  const aborter = new AbortController()
  const fate = fateOf(
    server.call((parent) => c.fetch('/', { parent }), { signal: aborter.signal }),
    runtime,
  )
  runtime.after(400, () => aborter.abort('caller left'))
  await runtime.advanceAsync(2000)
  expect(aborted).toEqual([{ to: 'c', at: 400, reason: 'caller left' }])
  expect([fate.value, fate.at]).toEqual(['caller left', 400])
})

test('C19 a child that asks for 5 s is told, and given, what its parent has', async () => {
  const { runtime, sent, aborted, peer, server } = world({ c: 10_000 })
  const c = peer('c', [deadline({ within: 5000 }), timeout({ after: 5000 })])
  const fate: Fate = fateOf(
    server.call((parent) => c.fetch('/', { parent, within: 5000 })),
    runtime,
  )
  await runtime.advanceAsync(6000)
  expect([sent[0]?.told, aborted[0]?.at, fate.at]).toEqual(['1000', 1000, 1000])
})

test('C19 each attempt is told less than the one before', async () => {
  const { runtime, sent, peer } = world({ f: 'fails' })
  const f = peer('f', [
    deadline({ within: 1000 }),
    retry({ wait: () => 300, on: { failure: 'backoff' } }),
    timeout({ after: '1m' }),
  ])
  void fateOf(f.fetch('/'))
  await runtime.advanceAsync(2000)
  expect(sent.map(({ told }) => Number(told))).toEqual([1000, 700])
})

test('C18 a call that is over before it is sent reaches nobody', async () => {
  const { runtime, sent, peer, sleep, server } = world({ c: 1 })
  const c = peer('c', [timeout({ after: 600 })], { margin: 20 })
  const codes: unknown[] = []
  void fateOf(
    server.call(async (parent) => {
      await sleep(979)
      codes.push(await c.fetch('/', { parent }).catch((error: { code: unknown }) => error.code))
      await sleep(1)
      codes.push(await c.fetch('/', { parent }).catch((error: { code: unknown }) => error.code))
    }),
  )
  await runtime.advanceAsync(2000)
  expect(sent).toEqual([{ to: 'c', at: 979, told: '1' }])
  expect(codes).toEqual([expect.any(Response), 'deadline'])
})
