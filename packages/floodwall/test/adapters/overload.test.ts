import { Readable } from 'node:stream'
import { overload, type Pipeline, pipeline } from 'floodwall'
import { names } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from '../core/fate.ts'
import { ask, oneConnection, until } from './client.ts'
import { frameworks } from './frameworks.ts'

// `protect(pipeline('api', [overload()]), ...)` over every framework. Two calls at once and one that waits, so that nothing here goes by time.

const LOCAL = ['127.0.0.1']
const tight = () => pipeline('api', [overload({ limits: { start: 2, most: 2 }, size: 1, atMost: '1m' })])

interface View {
  readonly inFlight: number
  readonly waiting: number
  readonly admitted: Record<string, number>
  readonly refused: Record<string, number>
}

const viewOf = (p: Pipeline) => (p.inspect()['layers'] as unknown as View[])[0] as View
const nothingLeft = (p: Pipeline) => JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING)

/** Requests that wait for a word. */
function doors() {
  const open: (() => void)[] = []
  return { open, wait: () => new Promise<void>((resolve) => void open.push(resolve)) }
}

/** One by one, until so many have gone. */
async function letAllGo(open: (() => void)[], count: number): Promise<void> {
  for (let gone = 0; gone < count; gone++) {
    await until(() => open.length > 0)
    open.shift()?.()
  }
}

describe.each(frameworks)('%s', (_, start) => {
  const rank = (criticality: string) => ({ headers: { [names.criticality]: criticality } })

  test('who matters more takes the place of who waits; what a stranger says of himself does not count', async () => {
    for (const trust of [LOCAL, []]) {
      const p = tight()
      const { open, wait } = doors()
      await using server = await start(p, async () => (await wait(), { body: 'ok' }), { trust })
      const { port } = server
      const inside = [ask({ port }), ask({ port })]
      await until(() => viewOf(p).inFlight === 2)
      const batch = ask({ port, ...rank('SHEDDABLE') })
      await until(() => viewOf(p).waiting === 1)
      const person = ask({ port, ...rank('CRITICAL') })
      // One of them is told at once: the batch, or, where all are alike, who came last.
      const refused = await Promise.race([batch, person])
      expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'queue-full'])
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(trust.length > 0 ? 120 : 1)
      await letAllGo(open, 3)
      const statuses = (await Promise.all([...inside, batch, person])).map(({ status }) => status)
      expect(statuses).toEqual(trust.length > 0 ? [200, 200, 503, 200] : [200, 200, 200, 503])
      expect(viewOf(p).refused).toMatchObject(trust.length > 0 ? { sheddable: 1 } : { critical: 1 })
      await until(() => nothingLeft(p))
    }
  })

  test('a refusal comes before the body is read, and the connection lives on', async () => {
    const p = tight()
    const { open, wait } = doors()
    let ran = 0
    await using server = await start(p, async () => (ran++, await wait(), { body: 'ok' }))
    const { port } = server
    const three = [ask({ port }), ask({ port }), ask({ port })]
    await until(() => viewOf(p).waiting === 1)
    const agent = oneConnection()
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await ask({ port, agent, method: 'POST', body: 'x'.repeat(50_000) })
      expect([status, headers.connection]).toEqual([503, 'keep-alive'])
    }
    expect(Object.values(agent.freeSockets).flat().length).toBe(1)
    expect(ran).toBe(2)
    await letAllGo(open, 3)
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual([200, 200, 200])
    agent.destroy()
  })

  test('a streamed answer has its place until its body has ended', async () => {
    const p = tight()
    const { open, wait } = doors()
    const body = () =>
      Readable.from(
        (async function* () {
          yield 'half'
          await wait()
          yield 'whole'
        })(),
      )
    await using server = await start(p, async () => ({ body: body() }))
    const { port } = server
    const inside = [ask({ port }), ask({ port })]
    await until(() => open.length === 2)
    const third = ask({ port })
    await until(() => viewOf(p).waiting === 1)
    expect(viewOf(p).inFlight).toBe(2)
    open.shift()?.()
    expect((await Promise.race(inside)).body).toBe('halfwhole')
    await until(() => open.length === 2)
    for (const go of open) go()
    expect((await third).body).toBe('halfwhole')
    await until(() => nothingLeft(p))
  })

  test('routes that are exempt pass while all places are taken; trusted callers hear of the level on every answer', async () => {
    const p = tight()
    const { open, wait } = doors()
    const handler = async (_call: unknown, { url }: { url?: string | undefined }) => {
      if (url !== '/health') await wait()
      return { body: 'ok' }
    }
    await using server = await start(p, handler, { exempt: ['/health'], trust: LOCAL })
    const { port } = server
    const taken = [ask({ port }), ask({ port }), ask({ port })]
    await until(() => viewOf(p).waiting === 1)
    const [health, refused] = [await ask({ port, path: '/health' }), await ask({ port })]
    expect([health.status, refused.status]).toEqual([200, 503])
    await letAllGo(open, 3)
    for (const { headers } of [...(await Promise.all(taken)), refused]) expect(headers[names.level]).toBe('512')
  })

  test('where a trusted caller says that its user stands, the call stands', async () => {
    const seen: unknown[] = []
    for (const trust of [LOCAL, []]) {
      await using server = await start(
        pipeline('api', [overload()]),
        async ({ init }) => (seen.push([init.cohort, init.standsFor]), { body: 'ok' }),
        { trust },
      )
      await ask({ port: server.port, headers: { [names.cohort]: '17.42', [names.standsFor]: '10' } })
    }
    expect(seen).toEqual([
      [17.42, 10],
      [undefined, undefined],
    ])
  })
})
