import type { Verdict } from '../../core/outcome.ts'
import { Knee, type KneeSettings } from '../estimators/knee.ts'
import { AdmissionLevel } from './admission-level.ts'
import { ByClass } from './by-class.ts'
import { OPEN } from './level.ts'
import { Pace } from './pace.ts'
import { highest, type Pressure } from './pressure.ts'
import { COHORTS, LAST_PLACE, placeOf } from './priority.ts'
import { Share } from './share.ts'
import { Surge } from './surge.ts'

// May this one come in, must it wait, and for how long is that of use?
//
// The parts of overload protection, put together: a limit (`estimators/knee.ts`), a test for too much (`surge.ts`), and while there is too much
// an admission level (`admission-level.ts`) and a short patience. In calm times nobody is refused for waiting; in a surge nobody but the
// last before a single worker waits longer than twice the target, which 98 of a hundred calls take without any queue: three times as long as a slow call.
//
// 4 workers of 20 ms, give or take a half: target 27 ms. Four times the load: who is admitted has waited 55 ms at the most.
//
// Invariant: inFlight counts begun minus ended, `inside` those of them whose answer has not begun; a call that finds nobody inside and nobody waiting, and
// has not waited itself, is admitted, unless a higher class was refused in the last 100 ms.

const CLASSES = LAST_PLACE / COHORTS

/** The answers. */
export const ADMIT = 0
export const WAIT = 1
/** Its class, or its cohort, is not among those that are taken. */
export const BELOW_LEVEL = 2
/** It has waited too long already, before it was seen. */
const TOO_LATE = 3

/** Mean and so many standard deviations: 98 of a hundred of a normal distribution take less, and nearly as many of others. */
const MOST = 2
/** Timers and turns of the loop are not finer. */
const LEAST_TARGET_MS = 1
/** A lower class gives up earlier, so that waiting that cannot be seen (before the loop) hits it first. */
const PATIENCE = [1.1, 1, 0.9, 0.8] as const
/** Classes that need not be refused at all wait longer than by chance: one in a thousand where they are half of the load. */
const SPARED = 4
/** Who is the last to wait for a single worker, in targets; what tells one from two: how much is done at once, by Little's law; and so many are no crowd. */
const LAST = 3
const ONE_WORKER = 1.5
const HANDFUL = 4
/** A window of the level: so many calls, and so long. */
const WINDOW_CALLS = 8
const WINDOW_MS = 50
const LONGEST_WINDOW_MS = 1000
/** Waiting of less than this share of the service time is none; */
const AT_ONCE = 0.05
/** nor is what was waited for the loop, and is only estimated, below the target of CoDel (RFC 8289): collections and time slices take as long. */
const LOOP_MS = 5
/** Work that is shorter lets the loop read on soon enough: to keep it would make a burst of what a pause of the loop has gathered. */
const SHORT_MS = 1
/** Signals are asked so often. */
const LOOK_EVERY_MS = 100
/** Windows end when calls come. After so long without any, what the last one has found is out of date. */
const SILENCE_MS = 5 * LONGEST_WINDOW_MS

export interface DoorkeeperSettings {
  /** 0: mean and two deviations of the service time, as measured. */
  readonly targetMs: number
  readonly patienceMs: number
  readonly limits: KneeSettings
  readonly signals: readonly Pressure[]
}

export class Doorkeeper {
  private settings: DoorkeeperSettings
  readonly knee: Knee
  readonly classes = new ByClass()
  inFlight = 0
  /** Those of them whose answer is only being sent: the limit was learned without them. */
  bodies = 0
  /** Of those that ran: with success, and all. */
  good = 0
  ran = 0
  private readonly pace = new Pace()
  private readonly surge = new Surge()
  private readonly cut = new AdmissionLevel()
  /** The window. */
  private since = 0
  private done = 0
  private entered = 0
  private atOnce = 0
  /** What signals leave of the load. */
  private readonly share = new Share()
  private lookAgainAt = Number.NEGATIVE_INFINITY
  private seenAt = Number.NEGATIVE_INFINITY
  private on = false
  /** Of the call that was refused last by its level. */
  lastPlace = 0

  constructor(settings: DoorkeeperSettings) {
    this.settings = settings
    this.knee = new Knee(settings.limits)
  }

  /** What was learned stays. */
  reconfigure(settings: DoorkeeperSettings): void {
    this.settings = settings
    this.knee.limitTo(settings.limits.most)
  }

  get level(): number {
    return this.cut.level
  }
  /** More is offered than can be done, or a signal says so. */
  get overloaded(): boolean {
    return this.on
  }

  /** For people: as of the last calls that came, if that is not long ago. */
  isOverloaded(now: number): boolean {
    return this.on && now - this.seenAt < SILENCE_MS
  }

  /** Those who count for the limit: answers that are being sent have as many places of their own as calls may have at the most. */
  get inside(): number {
    return this.inFlight - Math.min(this.bodies, this.settings.limits.most)
  }

  get free(): boolean {
    return this.inside < this.knee.limit
  }

  /** The delay that is aimed at under overload, in milliseconds; 0 while nothing is known. */
  get targetMs(): number {
    const { targetMs } = this.settings
    if (targetMs > 0) return targetMs
    const { baseMs, deviationMs } = this.knee
    return baseMs === 0 ? 0 : Math.max(LEAST_TARGET_MS, baseMs + MOST * deviationMs)
  }

  /** The median service time, as far as mean and spread tell it: that of a log-normal distribution. */
  get usualMs(): number {
    const { baseMs, deviationMs } = this.knee
    return baseMs === 0 ? 0 : (baseMs * baseMs) / Math.sqrt(baseMs * baseMs + deviationMs * deviationMs)
  }

  /**
   * From this class down the newest goes first: of whom more come than can be done, the oldest have the least time left. Of classes of which all can be done
   * at the cost of others the unlucky would wait for ever: at a load of 0.4 one call in 500 for more than eight service times, with the oldest first none of
   * 13,000. Nor is a handful before a single worker a crowd, who would lose its oldest and be idle for a hundredth more. A crowd that is worked off: the newest.
   */
  newestFrom(lined: number): number {
    if (!this.on || (lined <= HANDFUL && this.isSingle && this.cut.level >= OPEN)) return CLASSES
    const { sparedRank } = this.cut
    return sparedRank < CLASSES - 1 ? sparedRank + 1 : 0
  }

  /** How long one waits who has so many before him. */
  waitFor(before: number): number {
    const { perMs } = this.pace
    return perMs === 0 ? 0 : before / perMs
  }

  /**
   * A call is here, that had waited `waitedMs` before; `lined` wait here already. The answer is one of the four above. `standing`: where in its class it stands
   * (`standing.ts`), below 0 if nobody has looked, since it matters only while {@link overloaded}. `standsFor`: its caller has refused the others of so many by
   * our level, itself. `metAt`: when the first call was met of those that the event loop found together with it.
   */
  arrive(
    rank: number,
    standing: number,
    waitedMs: number,
    lined: number,
    now: number,
    standsFor = 1,
    metAt = now,
  ): number {
    const { pace, surge, knee } = this
    pace.seen(now, waitedMs)
    this.seenAt = now
    const { perMs } = pace
    const isFree = lined === 0 && this.free
    const late = waitedMs > LOOP_MS && waitedMs > AT_ONCE * knee.baseMs
    const backlog = lined + Math.max(0, this.inside - knee.limit)
    const waits = !isFree || late || (surge.on && this.cut.level < OPEN)
    // Nobody is inside, and yet they wait: all sockets were read. Then it came since the last turn, and nothing need be estimated.
    const at = lined > 0 && this.inside === 0 ? metAt : now - waitedMs
    // Where there is room inside, or nobody waits here, it is not a limit that has still to grow that makes them wait.
    const settled = knee.settled || lined === 0 || this.free
    surge.arrive(at, waits, backlog, perMs, settled, standsFor, metAt, waitedMs === 0)
    if (now >= this.lookAgainAt) this.look(now)
    const on = surge.on || this.share.value < 1
    if (on !== this.on) this.become(on, now)
    // With who has waited for the loop others have come, and are to be seen first.
    const answer = isFree && (!late || (knee.baseMs > 0 && knee.baseMs < SHORT_MS)) ? ADMIT : WAIT
    // In calm times nobody is refused for a pause of the loop that was longer than he may wait.
    if (!on) return isFree && waitedMs >= this.settings.patienceMs ? ADMIT : answer
    const age = now - this.since
    if (age >= WINDOW_MS && (this.done >= WINDOW_CALLS || age >= LONGEST_WINDOW_MS)) this.turn(now)
    const place = placeOf(rank, '', 0, standing < 0 ? 0.5 : standing / COHORTS)
    this.cut.offer(place, standsFor)
    if (this.classes.isLocked(rank, now)) return this.below(place)
    // An idle server refuses nobody.
    if (isFree && !late && this.inside === 0) return ADMIT
    if (now < this.classes.sparedUntil(rank)) return answer
    if (place >= this.cut.level) return this.below(place)
    return waitedMs > LOOP_MS && this.patienceMs(rank, waitedMs) < 0 ? TOO_LATE : answer
  }

  private below(place: number): number {
    this.lastPlace = place
    return BELOW_LEVEL
  }

  /** Its turn has come in the line; false when it must leave, since a higher class is being refused. */
  mayGo(rank: number, now: number): boolean {
    return !this.on || !this.classes.isLocked(rank, now)
  }

  /** How long in all a call of this class may have waited when its work begins. */
  boundMs(rank: number): number {
    const { targetMs } = this
    const { patienceMs } = this.settings
    if (!this.on || targetMs === 0) return patienceMs
    const bound = 2 * targetMs * (PATIENCE[rank] ?? 1)
    return rank <= this.cut.sparedRank ? Math.max(bound, Math.min(patienceMs, bound * SPARED)) : bound
  }

  /**
   * The same for one whose time is over, where `others` wait besides. A single worker would have nothing to do if the last one left: so he may stay for the
   * whole bound, and for three targets while the level is open, since where it is not there are others soon.
   */
  lastMs(rank: number, others: number): number {
    if (others > 0 || !this.isSingle) return 0
    const most = this.cut.level < OPEN ? 0 : LAST * this.targetMs - this.knee.queueMs
    return Math.max(this.boundMs(rank), most)
  }

  private get isSingle(): boolean {
    return this.pace.perMs * this.knee.baseMs < ONE_WORKER
  }

  /** How long it may wait here from now on, that has waited `waitedMs`. */
  patienceMs(rank: number, waitedMs: number): number {
    const bound = this.boundMs(rank)
    if (!this.on) return bound - waitedMs
    // Those inside wait for each other as well.
    return Math.max(this.targetMs / 4, bound - this.knee.queueMs) - waitedMs
  }

  /** Its work begins, `straight` when it did not wait here; how many are inside now. */
  begun(rank: number, straight: boolean, waitedMs: number, now: number): number {
    this.classes.admit(rank, now)
    this.entered++
    if (straight && waitedMs <= AT_ONCE * this.knee.baseMs) this.atOnce++
    this.inFlight++
    return this.inside
  }

  /** What came of work that ran: `inFlight` as {@link begun} said. `lined` wait here. */
  evidence(tookMs: number, inFlight: number, verdict: Verdict, lined: number, now: number): void {
    this.ran++
    if (verdict === 'success') this.good++
    this.done++
    // In shadow nobody waits here, but inside.
    this.pace.end(now, lined > 0 || this.inside > this.knee.limit)
    this.knee.sample(tookMs, inFlight, verdict)
  }

  /** The work has really ended, or never ran. */
  released(): void {
    this.inFlight--
  }

  private become(on: boolean, now: number): void {
    this.on = on
    this.cut.open()
    this.restart(now)
  }

  private restart(now: number): void {
    this.since = now
    this.done = 0
    this.entered = 0
    this.atOnce = 0
  }

  private turn(now: number): void {
    const atOnce = this.entered === 0 ? 1 : this.atOnce / this.entered
    this.cut.adjust(this.done, atOnce, this.share.value)
    this.restart(now)
  }

  /** What the signals say. */
  private look(now: number): void {
    this.lookAgainAt = now + LOOK_EVERY_MS
    const { signals } = this.settings
    if (signals.length === 0 && this.share.value === 1) return
    this.share.look(highest(signals, now), now)
  }

  /** For those who tell callers: what is refused now, whether by the level or since a higher class was refused. */
  posted(now: number): number {
    return this.isOverloaded(now) ? Math.min(this.cut.level, this.classes.unlocked(now) * COHORTS) : OPEN
  }
}
