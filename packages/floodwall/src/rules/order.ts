import { showMs } from '../core/duration.ts'
import type { Layer } from '../core/layer.ts'

// Which lists of layers defeat themselves?
//
// Every order means something, and some of them mean what nobody wants: a timeout that ends the retries which should follow it, a breaker that
// hears one word of three attempts, a slot that is held while a backoff waits. They are not wrong, so that they are warnings, each with the
// two layers and what happens.

/** A pair of layers that stands in each other's way. */
export interface OrderWarning {
  /** Places in the list, outermost first. */
  readonly outer: number
  readonly inner: number
  /** What happens, and what to do instead. */
  readonly why: string
}

interface Place {
  readonly at: number
  readonly kind: string
  readonly options: Readonly<Record<string, unknown>>
}

type Rule = (outer: Place, inner: Place) => string | undefined

/** For each pair, outer before inner. */
const rules: readonly Rule[] = [
  pair(
    'timeout',
    ['retry', 'hedge'],
    'the timeout ends all attempts at once: move it inside, or take a deadline for the whole',
  ),
  pair(
    'retry',
    ['deadline'],
    'each attempt gets a deadline and the whole has none: move the deadline outside, and give attempts a timeout',
  ),
  pair('hedge', ['deadline'], 'each attempt gets a deadline and the whole has none: move the deadline outside'),
  pair('queue', ['deadline'], 'what waits is under no deadline: move the deadline outside'),
  pair('deadline', ['deadline'], 'the shorter one counts, whichever it is: keep one'),
  pair(
    'holdBack',
    ['retry', 'hedge'],
    'it is asked once for all attempts, so that later ones go to who has asked for a pause: move it inside',
  ),
  pair(
    'hedge',
    ['retry'],
    'each of two parallel attempts is retried, which is up to twice the retries: move the retry outside',
  ),
  pair(
    'breaker',
    ['retry', 'hedge'],
    'the breaker hears one outcome of several attempts, and retries go on where it should refuse: move it inside',
  ),
  pair('throttle', ['retry'], 'the throttle hears one outcome of several attempts: move it inside'),
  pair('bulkhead', ['retry'], 'a slot is held while a backoff waits: move the bulkhead inside'),
  pair(
    'bulkhead',
    ['queue'],
    'who waits holds a slot of this bulkhead already: the queue waits for what stands inside of it',
  ),
  pair('breaker', ['queue'], 'a probe may be lent to who then stands in a line: move the queue outside'),
  pair('timeout', ['queue'], 'waiting counts as slowness of the target: move the timeout inside, next to the work'),
  pair(
    'timeout',
    ['breaker'],
    'the timeout ends calls before the breaker hears of them as slow: move the breaker outside',
  ),
  pair(
    'timeout',
    ['bulkhead'],
    'the slot is inside of the timeout; it is held to the end of the work all the same, but who waits for it is timed out as slow: move the timeout inside',
  ),
  pair(
    'queue',
    ['rateLimit', 'keyedRateLimit'],
    'what is over the rate waits first and is refused then: move the rate limit outside',
  ),
  pair(
    'pace',
    ['retry', 'hedge'],
    'the first attempt waits for its turn and the later ones do not, so that what arrives is no steady stream: move the pace inside',
  ),
  pair('pace', ['deadline'], 'what waits for its turn is under no deadline: move the deadline outside'),
  pair(
    'pace',
    ['rateLimit', 'keyedRateLimit'],
    'what is over the rate waits first and is refused then: move the rate limit outside',
  ),
  pair('bulkhead', ['pace'], 'a slot is held by who waits for his turn: move the pace outside'),
  pair(
    'adaptiveLimit',
    ['pace'],
    'who waits for his turn holds a slot, and his wait is taken for slowness: move the pace outside',
  ),
  pair(
    'overload',
    ['pace'],
    'who waits for his turn is inside, and his wait is taken for slowness: take the pace out, since overload lets go as many as can be done',
  ),
  pair('breaker', ['pace'], 'a probe may be lent to who then waits for his turn: move the pace outside'),
  (outer, inner) => {
    if (outer.kind !== 'timeout' || inner.kind !== 'pace') return undefined
    const after = numberOf(outer, 'after')
    const atMost = numberOf(inner, 'atMost')
    return after <= atMost
      ? `who waits for his turn for up to ${showMs(atMost)} is timed out after ${showMs(after)}: make the pace's atMost shorter, or move the timeout inside`
      : undefined
  },
  pair(
    'retry',
    ['retry'],
    'what the inner one has given up the outer one does not try again: keep the one next to what fails',
  ),
  (outer, inner) => {
    if (outer.kind !== 'hedge' || inner.kind !== 'timeout') return undefined
    const delay = numberOf(outer, 'after')
    const after = numberOf(inner, 'after')
    return delay >= after
      ? `no attempt is late after ${showMs(delay)}, since each is timed out after ${showMs(after)}: make the hedge's time shorter`
      : undefined
  },
  (outer, inner) => {
    if (outer.kind !== 'deadline' || inner.kind !== 'timeout') return undefined
    const within = numberOf(outer, 'within')
    const after = numberOf(inner, 'after')
    return after >= within
      ? `the timeout of ${showMs(after)} never fires: the deadline of ${showMs(within)} is over first`
      : undefined
  },
  (outer, inner) => {
    if (outer.kind !== 'breaker' || inner.kind !== 'timeout') return undefined
    const slow = outer.options['slowAfter']
    const after = numberOf(inner, 'after')
    return typeof slow === 'number' && slow > after
      ? `no call lasts ${showMs(slow)} (slowAfter), since each is timed out after ${showMs(after)}, and its timeouts count for nothing: make slowAfter shorter`
      : undefined
  },
  (outer, inner) =>
    outer.kind === 'balance' && inner.kind !== 'timeout'
      ? `what stands inside of balance (${inner.kind}) is one for all endpoints: put it into "each"`
      : undefined,
]

function pair(outerKind: string, innerKinds: readonly string[], why: string): Rule {
  return (outer, inner) => (outer.kind === outerKind && innerKinds.includes(inner.kind) ? why : undefined)
}

function numberOf({ options }: Place, name: string): number {
  const value = options[name]
  return typeof value === 'number' ? value : Number.NaN
}

/** What about `layers`, outermost first, will surprise; nothing for an order that means what it seems to. */
export function orderWarnings(layers: readonly Layer[]): OrderWarning[] {
  const places = layers.map((layer, at): Place => {
    const { kind, options } = innermost(layer)
    return { at, kind, options: options as Record<string, unknown> }
  })
  const warnings: OrderWarning[] = []
  for (const outer of places) {
    for (const inner of places.slice(outer.at + 1)) {
      for (const rule of rules) {
        const why = rule(outer, inner)
        if (why !== undefined)
          warnings.push({ outer: outer.at, inner: inner.at, why: `${outer.kind} > ${inner.kind}: ${why}` })
      }
    }
  }
  return [...warnings, ...attemptsInTime(places)]
}

/** All attempts together take longer than the deadline: the last ones are for show. */
function attemptsInTime(places: readonly Place[]): OrderWarning[] {
  const deadline = places.find(({ kind }) => kind === 'deadline')
  const retry = places.find(({ kind }) => kind === 'retry')
  const timeout = places.find(({ kind }) => kind === 'timeout')
  if (deadline === undefined || retry === undefined || timeout === undefined || deadline.at > retry.at) return []
  const whole = numberOf(retry, 'attempts') * numberOf(timeout, 'after')
  const within = numberOf(deadline, 'within')
  if (!(whole > within)) return []
  const why = `deadline > retry: ${numberOf(retry, 'attempts')} attempts of ${showMs(numberOf(timeout, 'after'))} take ${showMs(whole)}, and the deadline is over after ${showMs(within)}`
  return [{ outer: deadline.at, inner: retry.at, why }]
}

/** Gates around another one, of which they make many, or which they divide or silence. */
const AROUND: readonly string[] = ['keyed', 'shadow', 'partitions']

/** What stands inside of such gates: they stand where their inner one would. */
function innermost(layer: Layer): Layer {
  const { of } = layer.options as { of?: Layer }
  return AROUND.includes(layer.kind) && of !== undefined ? innermost(of) : layer
}
