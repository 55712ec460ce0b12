import type { Env } from '../core/runtime.ts'

// Who works on although nobody waits for it any more?
//
// Its caller has left, or has been answered that the time is over. The outcome was told then; the slot comes back when the handler has ended
// (its promise has settled, or it has ended its answer, into the void), and after a while in any case: a handler that just stops says nothing.
//
// Invariant: who is watched is let go once, by its end or by the lapse.

/** Handlers that nobody waits for. */
export class Abandoned {
  /** So many go on, now. */
  running = 0
  /** So many had not ended in time, and their slots were taken back. */
  lapsed = 0
  private readonly mostMs: number
  private readonly silentMs: number

  /** After `mostMs` any of them is as if it had ended; after `silentMs` one whose client has left, and that has not promised to say when it ends. */
  constructor(mostMs: number, silentMs: number) {
    this.mostMs = mostMs
    this.silentMs = Math.min(silentMs, mostMs)
  }

  /** Its time is over. Calls `ended` when it lapses; what is returned is to be called once, when it has ended or lapsed. */
  byTime(env: Env, ended: () => void): () => void {
    return this.watch(env, this.mostMs, 'its time', ended)
  }

  /** The same for one whose client has left. */
  byClient(env: Env, promised: boolean, ended: () => void): () => void {
    return this.watch(env, promised ? this.mostMs : this.silentMs, 'its client had left', ended)
  }

  private watch(env: Env, withinMs: number, what: string, ended: () => void): () => void {
    this.running++
    const lapse = () => {
      this.lapsed++
      const why = `a handler went on for ${withinMs} ms after ${what}`
      env.emit({ type: 'lapsed', at: env.now(), path: env.path, why })
      ended()
    }
    const cancel = env.after(withinMs, lapse, true)
    return () => {
      this.running--
      cancel()
    }
  }
}
