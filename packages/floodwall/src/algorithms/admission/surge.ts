// Is more offered than can be done, or is this a run of bad luck?
//
// At nine tenths of its load a server makes calls wait for many service times now and then, and nobody should be refused for it; at one and a
// half times, the first call that waits long is the first of all. What tells them apart is not how long somebody waits but what comes: a test
// of two rates, one against the other (Wald, "Sequential Tests", 1945; Page's CUSUM, 1954). Time is counted in calls that could have been
// done in it. Each arrival is evidence for the higher rate, each unit of time for the lower one.
//
//   begins: 2 against 1, and 4 against 1, sure at 9 (one false alarm in 20,000 arrivals at full load, in millions at nine tenths), while calls wait;
//           or when BACKLOG calls wait, whatever came: nine tenths with exponential service gets there once in 80,000 arrivals
//   ends:   0.9 against 1.5, sure at 13 (one false end in a million calls at 1.5); or when for a second, and 64 calls, nobody waited and nobody was refused
//
// Four times the load: sure after 5 units, 25 ms of a server that does 200 a second.
//
// Invariant: what does not wait is never the beginning; with nobody coming it ends.

const LN_2 = 0.6931471805599453
const LN_4 = 2 * LN_2
const BEGIN_AT = 9
const BACKLOG = 64
/** While the limit is still being found, few can be done at once, and many wait. */
const BACKLOG_AT_FIRST = 256

/** ln(1.5 / 0.9), and 1.5 - 0.9. */
const END_ARRIVAL = 0.5108256237659907
const END_UNIT = 0.6
const END_AT = 13
/**
 * Or nobody had to wait for so long, of so many who came: where what can be done is not known, or was found when it was less. Twenty would be five service
 * times of four workers with 200 ms each, and chance.
 */
const CALM_MS = 1000
const CALM_CALLS = 64

export class Surge {
  on = false
  private evidence = 0
  private steep = 0
  /** When the last call came into being, on the clock of those who sent it. */
  private last = Number.NaN
  /** When the present batch was met: the turn of a loop that met the first of them met them all. */
  private metAt = Number.NaN
  /** The present batch is one call, which was met when it came. */
  private exact = true
  /** In a surge: since when nobody waits, and of how many. */
  private calmSince = Number.NaN
  private calm = 0

  /**
   * A call that came into being at `at`. `waits`: it must wait, or has waited, or in a surge others are refused for it; `backlog`: how many do; `perMs`: how many can be done, 0 when
   * that is not known; `settled`: the limit has been found;
   * `standsFor` so many calls it counts; `metAt`: when the first of those was met that were met together; `isExact`: it was
   * met when it came. True when the answer has changed.
   */
  arrive(
    at: number,
    waits: boolean,
    backlog: number,
    perMs: number,
    settled: boolean,
    standsFor = 1,
    metAt: number = at,
    isExact = at === metAt,
  ): boolean {
    if (!(metAt <= this.metAt)) this.batch(isExact, metAt)
    const units = at > this.last ? (at - this.last) * perMs : 0
    if (!(at <= this.last)) this.last = at
    return this.on
      ? this.maybeEnd(units, waits, standsFor, metAt)
      : this.maybeBegin(units, waits, backlog, perMs, settled)
  }

  private maybeBegin(units: number, waits: boolean, backlog: number, perMs: number, settled: boolean): boolean {
    if (!waits) {
      // The time of a batch counts against all of it.
      this.evidence = Math.min(0, this.evidence - units)
      this.steep = Math.min(0, this.steep - 3 * units)
      return false
    }
    if (backlog >= (settled ? BACKLOG : BACKLOG_AT_FIRST)) return this.become(true)
    if (perMs === 0 || !settled) return false
    const left = this.evidence - units
    this.evidence = (left > 0 || !this.exact ? left : 0) + LN_2
    const steepLeft = this.steep - 3 * units
    this.steep = (steepLeft > 0 || !this.exact ? steepLeft : 0) + LN_4
    return (this.evidence >= BEGIN_AT || this.steep >= BEGIN_AT) && this.become(true)
  }

  /**
   * An event loop finds what came during its last turn all at once, and when each came is known to a part of that turn. So the time of the turn
   * counts against all of them before what is below nothing is forgotten: else each batch would look like a burst.
   */
  private batch(isExact: boolean, metAt: number): void {
    this.metAt = metAt
    this.exact = isExact
    if (this.evidence < 0) this.evidence = 0
    if (this.steep < 0) this.steep = 0
  }

  private maybeEnd(units: number, waits: boolean, standsFor: number, now: number): boolean {
    // Who has refused others for us would not do so in calm times.
    if (waits || standsFor > 1) this.calm = 0
    else if (this.calm++ === 0) this.calmSince = now
    if (this.calm >= CALM_CALLS && now - this.calmSince >= CALM_MS) return this.become(false)
    const evidence = this.evidence + units * END_UNIT - END_ARRIVAL * standsFor
    this.evidence = evidence > 0 ? evidence : 0
    return this.evidence >= END_AT && this.become(false)
  }

  private become(on: boolean): true {
    this.on = on
    this.calm = 0
    this.evidence = this.steep = 0
    return true
  }
}
