/** The two numbers of brpc's cluster recovery. */
export interface BrpcRecoverParams {
  /** The servers that can carry the whole traffic. Above 2^53 it is the nearest double. */
  readonly minWorkingInstances: number
  /** As long must the number of usable servers stay the same for recovery to end. */
  readonly holdSeconds: number
}

const LARGEST = 9_223_372_036_854_775_807n

/**
 * Reads the text after the name of a load balancer: `min_working_instances=6 hold_seconds=10`. An empty text asks for no recovery:
 * `undefined`. Keys repeat (the last counts) and come in any order, both are needed, numbers are above 0; blanks separate, nothing else.
 *
 * @throws TypeError naming what it cannot read; in brpc the channel does not start then
 */
export function parseBrpcRecoverParams(text: string): BrpcRecoverParams | undefined {
  let instances = 0n
  let seconds = 0n
  const words = text.split(' ').filter((word) => word !== '')
  for (const word of words) {
    const [key, value = ''] = halves(word)
    if (key === 'min_working_instances') instances = int64(value, word)
    else if (key === 'hold_seconds') seconds = int64(value, word)
    else throw new TypeError(`"${word}" is none of min_working_instances=N and hold_seconds=N`)
  }
  if (words.length === 0) return undefined
  if (instances <= 0n || seconds <= 0n)
    throw new TypeError(`"${text}" needs min_working_instances and hold_seconds, both above 0`)
  return { minWorkingInstances: Number(instances), holdSeconds: Number(seconds) }
}

function halves(word: string): readonly [key: string, value?: string] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

function int64(digits: string, word: string): bigint {
  if (/^[+-]?\d{1,100}$/.test(digits)) {
    const value = BigInt(digits.replace('+', ''))
    if (value <= LARGEST && value >= -LARGEST - 1n) return value
  }
  throw new TypeError(`"${word}" has no whole number of 64 bits`)
}
