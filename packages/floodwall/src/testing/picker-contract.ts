import { Cluster } from '../algorithms/cluster/cluster.ts'
import type { Member } from '../algorithms/cluster/member.ts'
import type { Picker } from '../algorithms/cluster/picker.ts'
import type { Ask } from '../core/gate.ts'
import type { Endpoint } from '../core/init.ts'
import type { Check } from './gate-contract.ts'
import { VirtualRuntime } from './virtual-runtime.ts'

/** What every picker keeps: `for (const check of pickerContract(() => new MyPicker())) test(check.name, check.run)`. */
export function pickerContract(make: () => Picker): Check[] {
  const check = (name: string, endpoints: readonly Endpoint[], body: (scene: Scene) => void): Check => ({
    name,
    run: () => body(new Scene(make(), endpoints)),
  })
  const some = named('a', 'b', 'c', 'd')
  return [
    check('one endpoint gets everything', named('only'), (scene) => {
      for (let i = 0; i < 20; i++) scene.expectOneOf(scene.pick(`k${i}`), ['only'])
    }),
    check('an endpoint of weight 0 gets nothing', [{ id: 'off', weight: 0 }, ...named('b', 'c')], (scene) => {
      for (let i = 0; i < 300; i++) scene.expectOneOf(scene.pick(`k${i}`), ['b', 'c'])
    }),
    check('an isolated endpoint gets nothing', some, (scene) => {
      scene.cluster.isolate('b', 60_000, 'test')
      for (let i = 0; i < 300; i++) scene.expectOneOf(scene.pick(`k${i}`), ['a', 'c', 'd'])
    }),
    check('a tried endpoint is the last resort, and still better than none', named('a', 'b'), (scene) => {
      for (let i = 0; i < 100; i++) scene.expectOneOf(scene.pick(`k${i}`, ['a']), ['b'])
      for (let i = 0; i < 100; i++) scene.expectOneOf(scene.pick(`k${i}`, ['a', 'b']), ['a', 'b'])
    }),
    check('equals are chosen, all of them', some, (scene) => {
      const seen = new Set<string>()
      for (let i = 0; i < 2000; i++) seen.add(scene.pick(`key ${i}`))
      if (seen.size !== some.length) throw new Error(`only ${[...seen].join(', ')} were ever chosen`)
    }),
    check('endpoints come and go, and a dropped one is never chosen', some, (scene) => {
      for (let round = 0; round < 50; round++) {
        const here = some.filter((_, i) => (round >> i) % 2 === 0 || i === round % some.length)
        scene.cluster.update(here)
        const ids = here.map((e) => e.id)
        for (let i = 0; i < 20; i++) scene.expectOneOf(scene.pick(`${round}/${i}`), ids)
      }
    }),
  ]
}

function named(...ids: string[]): Endpoint[] {
  return ids.map((id) => ({ id }))
}

class Scene {
  readonly world = new VirtualRuntime({ seed: 5, startAt: 1000 })
  readonly cluster: Cluster

  constructor(picker: Picker, endpoints: readonly Endpoint[]) {
    this.cluster = new Cluster({ picker, slowStart: 0 }, this.world.env('cluster'))
    this.cluster.update(endpoints)
  }

  pick(key: string, tried: readonly string[] = []): string {
    const ask: Ask = {
      now: this.world.now(),
      deadline: Number.POSITIVE_INFINITY,
      criticality: 'critical',
      cost: 1,
      key,
    }
    const placed = this.cluster.place(ask, (member: Member) => tried.includes(member.endpoint.id))
    if (!placed.ok) throw new Error(`nothing was chosen: ${placed.why}`)
    return placed.member.endpoint.id
  }

  expectOneOf(id: string, allowed: readonly string[]): void {
    if (!allowed.includes(id)) throw new Error(`"${id}" was chosen, expected one of ${allowed.join(', ')}`)
  }
}
