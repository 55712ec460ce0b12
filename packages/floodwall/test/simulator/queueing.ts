// What queueing theory says, in closed form; and how far a mean of a few runs may lie from it. Times in seconds, rates a second.
// Formulas: Kleinrock, "Queueing Systems", vol. 1 (1975), ch. 3 (M/M/1, M/M/c, M/M/1/K, finite population) and 5 (Pollaczek-Khinchine).

export interface Queue {
  /** Arrivals a second. */
  readonly lambda: number
  /** Mean service time. */
  readonly service: number
}

/** Mean wait in an M/G/1 queue, by the second moment of the service time. */
export function pollaczekKhinchine({ lambda, service }: Queue, secondMoment: number): number {
  return (lambda * secondMoment) / (2 * (1 - lambda * service))
}

/** The chance to have to wait in an M/M/c queue. */
function erlangC({ lambda, service }: Queue, servers: number): number {
  const load = lambda * service
  // Erlang B by its recursion: no factorials.
  let blocked = 1
  for (let i = 1; i <= servers; i++) blocked = (load * blocked) / (i + load * blocked)
  return blocked / (1 - (load / servers) * (1 - blocked))
}

/** Mean wait in an M/M/c queue. */
export function waitOfMMc(queue: Queue, servers: number): number {
  return erlangC(queue, servers) / (servers / queue.service - queue.lambda)
}

/** The share that an M/M/1 queue with room for `most` (the one in service included) turns away. */
export function lossOfMM1K({ lambda, service }: Queue, most: number): number {
  const weights = powers(lambda * service, most)
  return (weights[most] as number) / sum(weights)
}

/** Answers a second of one server for `users` who think `think` on average, both exponential. */
export function throughputOfUsers(users: number, think: number, service: number): number {
  // Weights of 0..users at the server: each step in multiplies by the thinkers left times service / think.
  const weights = [1]
  for (let n = 1; n <= users; n++) weights.push(((weights[n - 1] as number) * (users - n + 1) * service) / think)
  return (1 - 1 / sum(weights)) / service
}

function powers(base: number, most: number): number[] {
  const list = [1]
  for (let i = 1; i <= most; i++) list.push((list[i - 1] as number) * base)
  return list
}

const sum = (list: readonly number[]): number => list.reduce((total, x) => total + x, 0)

/** Student's t for 99.9 % between both bounds, by degrees of freedom: from the tables. */
const T999: Readonly<Record<number, number>> = { 9: 4.781, 19: 3.883, 29: 3.659 }

export interface Estimate {
  readonly mean: number
  /** The true mean is within this of `mean`, 999 times in 1000. */
  readonly within: number
}

/** The mean of independent runs, with its 99.9 % confidence bounds. */
export function estimate(runs: readonly number[]): Estimate {
  const t = T999[runs.length - 1]
  if (t === undefined) throw new Error(`no quantile for ${runs.length} runs`)
  const mean = sum(runs) / runs.length
  const variance = sum(runs.map((x) => (x - mean) * (x - mean))) / (runs.length - 1)
  return { mean, within: t * Math.sqrt(variance / runs.length) }
}
