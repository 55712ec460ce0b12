import * as v from 'valibot'
import { parse } from '../../core/schema.ts'
import { HotspotController } from './hotspot-controller.ts'
import {
  isValidHotspot,
  meaningOf,
  type SentinelHotspotRule,
  type SentinelHotspotValues,
  sameCounters,
  sentinelHotspotRule,
} from './hotspot-rule.ts'

// May this call pass, and after which wait, as the hotspot rules of its resource in Sentinel would say?
//
// A replica of the hotspot slots of alibaba/sentinel-golang (commit f7a7f957). The rules are asked in their order, and the waits add up; the first
// refusal counts. Who passes all of them is counted as inside; who leaves is counted out by the rules that are in force then.
//
// Two rules, 3/s by user and 1/s by item: a second call within the second is refused by the item, and the user's token is gone all the same.
//
// Invariant: answers, waits and counts are Sentinel's, with its faults: a call whose value cannot be a key (a list) passes everything, uncounted; an
// absent key falls back to the first argument; a rule with another paramIndex goes on with the table of the other parameter. `hotParameter` has none of
// them. What is not repeated is Sentinel's argument list that calls share: a call leaves here as what it came.

const rulesOf = v.array(sentinelHotspotRule)

/** A call, as hotspot rules see it. */
export interface HotspotCall {
  readonly args?: readonly unknown[] | undefined
  readonly attachments?: Readonly<Record<string, unknown>> | undefined
  /** Default 1. */
  readonly batch?: number | undefined
}

/** What becomes of who enters. `exit` once, when he leaves. */
export type HotspotAnswer =
  | { readonly pass: true; readonly waitMs: number; readonly exit: () => void }
  | { readonly pass: false; readonly blockedBy: string }

/** The hotspot rules of one resource. */
export class SentinelHotspot {
  readonly resource: string
  private list: readonly HotspotController[] = []
  private loaded = '[]'

  constructor(resource: string) {
    this.resource = resource
  }

  /** One for each rule, in the order in which they are asked. */
  get controllers(): readonly HotspotController[] {
    return this.list
  }

  /**
   * Replaces all rules; false when they are the same as before. There, rules without specific items are changed by the load itself, and never the same.
   *
   * @throws ConfigError on what is no rule
   */
  loadRules(rules: readonly SentinelHotspotRule[]): boolean {
    const values = parse(rulesOf as v.GenericSchema<unknown, SentinelHotspotValues[]>, rules, 'rules')
    const text = JSON.stringify(values)
    if (text === this.loaded && values.every(({ specificItems }) => specificItems.length > 0)) return false
    this.loaded = text
    const old = [...this.list]
    const mine = values.filter((rule) => rule.resource === this.resource && isValidHotspot(rule))
    this.list = mine.map((rule) => {
      const equal = old.findIndex((other) => meaningOf(other.rule) === meaningOf(rule))
      if (equal >= 0) return old.splice(equal, 1)[0] as HotspotController
      const alike = old.findIndex((other) => sameCounters(other.rule, rule))
      const [lender] = alike < 0 ? [] : old.splice(alike, 1)
      return new HotspotController(rule, lender?.counters)
    })
    return true
  }

  /** `now` in whole milliseconds. */
  enter(call: HotspotCall, now: number): HotspotAnswer {
    let waitMs = 0
    let counted = true
    for (const controller of this.list) {
      const value = valueFor(controller.rule, call)
      if (value == null) continue
      if (typeof value === 'object') {
        // There it is a panic; the chain lets the call pass, and counts nobody in.
        counted = false
        break
      }
      const answer = controller.check(value, call.batch ?? 1, now)
      if (answer < 0) return { pass: false, blockedBy: controller.rule.id }
      waitMs += answer
    }
    if (counted) this.move(call, 1)
    let inside = true
    const exit = (): void => {
      if (inside) this.move(call, -1)
      inside = false
    }
    return { pass: true, waitMs, exit }
  }

  private move(call: HotspotCall, by: 1 | -1): void {
    for (const controller of this.list) {
      const value = valueFor(controller.rule, call)
      if (controller.rule.metricType === 0 && value != null && typeof value !== 'object') controller.move(value, by)
    }
  }
}

function valueFor({ paramKey, paramIndex }: SentinelHotspotValues, { args = [], attachments }: HotspotCall): unknown {
  const attached = paramKey === '' ? undefined : attachments?.[paramKey]
  return attached ?? args.at(paramIndex)
}
