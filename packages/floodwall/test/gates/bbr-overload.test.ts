import { type Layer, overload } from 'floodwall'
import { type Arrivals, poisson, steps } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'
import { aegis, arrivalsOf, goZero, type Seen, seen } from './bbr-world.ts'

// What shedding by CPU gets wrong, and `overload()` on the same loads: it looks at how long calls wait, so that there is no eye to be slow, no zone to
// be deaf in, and nothing to cool down. The numbers say whose fault it is: 1.2 aegis, 1.6 go-zero.

const ours = (): readonly Layer[] => [overload()]

function print(load: string, contenders: Readonly<Record<string, Seen>>): void {
  for (const [name, { shed, goodput, p50, p99, mostInside }] of Object.entries(contenders)) {
    const percent = `${(100 * shed).toFixed(2).padStart(6)} % refused, goodput ${goodput.toFixed(3)}`
    console.log(
      `${load}, ${name}: ${percent}, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, most inside ${mostInside}`,
    )
  }
}

describe('overload() on the loads of those who shed by CPU', () => {
  test.each(['aegis-bbr.json', 'gozero-shedder.json'])(
    '1.2.5 false sheds at 88 %%: none on the arrivals of %s',
    (file) => {
      const load = arrivalsOf(file, 'closed-cpu-loop-1')
      const all = { aegis: seen({ ...load, guard: aegis }), overload: seen({ ...load, guard: ours }) }
      print(`88 %, ${file}`, all)
      expect(all.overload.refused).toBe(0)
    },
  )

  test('1.2.5 false sheds at 88 %: none to speak of in a minute', () => {
    const load = { arrivals: poisson(350), ms: 60_000 }
    const all = { overload: seen({ ...load, guard: ours }) }
    print('88 %, a minute', all)
    expect(all.overload.shed).toBeLessThanOrEqual(0.001)
  })

  test('1.2.1 slow eye, 1.2.2 deaf zone, 1.2.3 cool-down: a step to four times is seen as it comes, without a CPU', () => {
    const load: { arrivals: Arrivals; ms: number; warmUp: number } = {
      arrivals: steps([
        { from: 0, rate: 320 },
        { from: 3000, rate: 1600 },
      ]),
      ms: 6000,
      warmUp: 3000,
    }
    const all = { goZero: seen({ ...load, guard: goZero }), overload: seen({ ...load, guard: ours }) }
    print('0.8, then 4x', all)
    expect(all.overload.mostInside).toBeLessThan(100)
    expect(all.overload.p99).toBeLessThan(all.goZero.p99 / 5)
    expect(all.overload.goodput).toBeGreaterThan(0.95)
  })

  test.each([
    ['1.2.4 self-inflation', 'aegis-bbr.json', 'closed-cpu-loop-3'],
    ['1.2.4 self-inflation', 'aegis-bbr.json', 'closed-cpu-loop-2'],
    ['1.6 standing queue', 'gozero-shedder.json', 'closed-cpu-loop-3'],
  ])('%s, and 1.2.6 a cold start into it: %s, %s', (_, file, name) => {
    const load = arrivalsOf(file, name)
    const all = {
      ...{ aegis: seen({ ...load, guard: aegis }), goZero: seen({ ...load, guard: goZero }) },
      overload: seen({ ...load, guard: ours }),
    }
    print(`${file}, ${name}`, all)
    // Service takes 5 to 15 ms: the middle one waits for about one more, and no queue stands.
    expect(all.overload.p50).toBeLessThan(30)
    expect(all.overload.p99).toBeLessThan(all.aegis.p99 / 2)
    expect(all.overload.goodput).toBeGreaterThan(0.95)
    expect(all.overload.mostInside).toBeLessThan(100)
  })
})
