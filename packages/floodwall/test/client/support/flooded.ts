import { type Call, Cluster, type Criticality, type Init, type Layer, overload, pipeline, timeout } from 'floodwall'
import { type ClientOptions, client, type Fetch } from 'floodwall/client'
import { VirtualRuntime } from 'floodwall/testing'
import { names, readInbound } from 'floodwall/wire'

// Services behind `overload()`, and clients that call them, in virtual time. The network is a function like fetch; what an edge does with headers
// is done here with the same parts.

interface Host {
  readonly trusts?: boolean
  readonly workers?: number
  /** Of one worker, in the mean; exponential. */
  readonly serviceMs?: number
  /** Besides: calls elsewhere on behalf of the request, before it is answered. */
  readonly then?: (call: Call, user: string) => Promise<unknown>
  readonly layers?: readonly Layer[]
}

/** What a server has seen. */
export interface Tally {
  arrived: number
  refused: number
  done: number
  /** By user, in the order in which they came: let in or not. */
  readonly verdicts: { readonly user: string; readonly admitted: boolean; readonly cohort: number | undefined }[]
}

export class Flooded {
  readonly runtime: VirtualRuntime
  private readonly hosts = new Map<string, (init: RequestInit) => Promise<Response>>()
  readonly tallies = new Map<string, Tally>()

  constructor(seed = 1) {
    this.runtime = new VirtualRuntime({ seed })
  }

  /** A server called `id`. */
  host(id: string, { trusts = true, workers = 4, serviceMs = 20, then, layers = [overload()] }: Host = {}): Tally {
    const { runtime } = this
    const door = pipeline(id, layers, { runtime })
    const tally: Tally = { arrived: 0, refused: 0, done: 0, verdicts: [] }
    this.tallies.set(id, tally)
    const line: (() => void)[] = []
    let busy = 0
    const turn = () => {
      while (busy < workers && line.length > 0) {
        busy++
        const begun = line.shift() as () => void
        const tookMs = -Math.log(1 - runtime.random()) * serviceMs
        runtime.after(tookMs, () => {
          busy--
          begun()
          turn()
        })
      }
    }
    const work = () =>
      new Promise<void>((resolve) => {
        line.push(resolve)
        turn()
      })
    const level = () => (door.find('overload') as unknown as { levelText(): string } | undefined)?.levelText()
    this.hosts.set(id, async ({ headers }) => {
      tally.arrived++
      const said = readInbound((name) => (headers as Headers).get(name) ?? undefined, {
        trusted: trusts,
        mostMs: 60_000,
        criticalPlus: true,
      })
      const { criticality, cohort, standsFor } = said
      const init: Init = { ...(criticality && { criticality }), ...(cohort !== undefined && { cohort }), standsFor }
      const key = (headers as Headers).get('x-user') ?? ''
      let admitted = false
      let status = 200
      try {
        await door.call(
          async (call) => {
            admitted = true
            await work()
            await then?.(call, (headers as Headers).get('x-of') ?? key)
          },
          { ...init, key },
        )
        tally.done++
      } catch {
        status = 503
        tally.refused++
      }
      tally.verdicts.push({ user: (headers as Headers).get('x-of') ?? key, admitted, cohort })
      const told = trusts ? level() : undefined
      return new Response(null, {
        status,
        headers: { ...(told && { [names.level]: told }), ...(status === 503 && { 'retry-after': '1' }) },
      })
    })
    return tally
  }

  /** A client that calls the servers `ids`; no retries. */
  caller(ids: readonly string[], options: ClientOptions = {}) {
    const { runtime } = this
    const cluster = new Cluster({ slowStart: 0 }, runtime.env(`to-${ids.join('-')}`))
    cluster.update(ids.map((id) => ({ id })))
    const fetch: Fetch = (url, init) =>
      (this.hosts.get(new URL(url).hostname) as (init: RequestInit) => Promise<Response>)(init)
    return client(`to-${ids.join('-')}`, cluster, [timeout({ after: '30s' })], { runtime, fetch, ...options })
  }

  /** `perSecond` calls, at random moments, for so long; runs until all have ended. */
  async flood(perSecond: number, forMs: number, call: (i: number) => Promise<unknown>): Promise<void> {
    const { runtime } = this
    const until = runtime.now() + forMs
    for (let i = 0, at = runtime.now(); ; i++) {
      at += (-Math.log(1 - runtime.random()) / perSecond) * 1000
      if (at >= until) break
      runtime.after(at - runtime.now(), () => void call(i).catch(() => {}))
    }
    await runtime.advanceAsync(forMs + 2000)
  }
}

export const classOf = (i: number): Criticality =>
  (['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const)[i % 4] as Criticality
