import { HotParameter } from '../algorithms/gates/hot-parameter.ts'
import {
  behaviourOf,
  type HotParameterOptions,
  type HotParameterSettings,
  hotParameterOptions,
  hotParameterSnapshot,
} from '../algorithms/gates/hot-parameter-settings.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import { HotParameterPace } from './hot-parameter-pace.ts'

// One kind for three behaviours: two of them are gates, and the third waits, which only a policy may.

/**
 * A limit for each value of a parameter: `{ parameter: 0, slots: 2 }` calls at once, `{ parameter: 'query:item', rate: 100 }` a second, or the same
 * with `maxWait: '500ms'`, where who comes too early waits for his turn.
 */
export const hotParameter: Kind<HotParameterOptions, HotParameterSettings> = kindOf({
  kind: 'hotParameter',
  options: hotParameterOptions,
  snapshot: hotParameterSnapshot,
  build(settings, env, previous) {
    if (
      (previous instanceof HotParameter || previous instanceof HotParameterPace) &&
      previous.table.goesOnAs(settings)
    ) {
      previous.table.reconfigure(settings, env.now())
      return previous
    }
    return behaviourOf(settings) === 'pace' ? new HotParameterPace(settings, env) : new HotParameter(settings, env)
  },
})
