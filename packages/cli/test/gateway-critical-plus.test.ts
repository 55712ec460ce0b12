import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'

// Who may say that a request comes before all others.

const NAME = 'x-floodwall-criticality'
const overload = [{ kind: 'overload' }]

/** How the gateway ranks a request with `headers`, and what its server hears of it. */
async function ranked(
  more: object,
  headers: Readonly<Record<string, string | string[]>>,
): Promise<{ readonly ranks: string[]; readonly told: Readonly<Record<string, unknown>> }> {
  const origin = await startOrigin()
  const config = { ...more, layers: overload, endpoint: [] }
  const gateway = await startGateway({ upstreams: [origin.port], config })
  expect((await ask(gateway.port, { headers })).status).toBe(200)
  const { layers } = (await gateway.inspect()).pipeline as unknown as {
    layers: { kind: string; admitted: Readonly<Record<string, number>> }[]
  }
  const admitted = layers.find(({ kind }) => kind === 'overload')?.admitted ?? {}
  const ranks = Object.keys(admitted).filter((name) => admitted[name] === 1)
  return { ranks, told: origin.seen[0]?.headers ?? {} }
}

const trust = ['127.0.0.0/8']

describe('CRITICAL_PLUS', () => {
  test.each([
    ['nobody is named', { trust }],
    ['others are named', { trust, criticalPlus: ['10.0.0.0/8'] }],
  ])('%s: a trusted peer is critical, here and behind', async (_who, more) => {
    const { ranks, told } = await ranked(more, { [NAME]: 'CRITICAL_PLUS' })
    expect(ranks).toEqual(['critical'])
    expect(told[NAME]).toBe('CRITICAL')
  })

  test('who is named may, and is passed on as he is', async () => {
    const { ranks, told } = await ranked({ trust, criticalPlus: trust }, { [NAME]: 'CRITICAL_PLUS' })
    expect(ranks).toEqual(['criticalPlus'])
    expect(told[NAME]).toBe('CRITICAL_PLUS')
  })

  test('who is named and not trusted may say nothing', async () => {
    const { ranks, told } = await ranked({ criticalPlus: trust }, { [NAME]: 'CRITICAL_PLUS' })
    expect(ranks).toEqual(['critical'])
    expect(told).not.toHaveProperty(NAME)
  })

  test('said in the baggage, in one of two lines, it counts no more', async () => {
    const { ranks, told } = await ranked(
      { trust },
      { baggage: ['a=1', 'floodwall.criticality=CRITICAL_PLUS, b=2;secret=no'] },
    )
    expect(ranks).toEqual(['critical'])
    expect(String(told['baggage'])).not.toContain('CRITICAL_PLUS')
    expect(String(told['baggage'])).toMatch(/a=1.*b=2;secret=no/)
  })

  test.each(['SHEDDABLE', 'SHEDDABLE_PLUS', 'critical_plus'])('%s is passed on as it is', async (value) => {
    expect((await ranked({ trust }, { [NAME]: value })).told[NAME]).toBe(value)
  })
})
