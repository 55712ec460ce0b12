import { names, timeoutAliases } from './names.ts'

// How long will the caller still wait?
//
// Source: the gRPC wire format (`grpc-timeout`), the Connect protocol, Envoy's router. A span, not a point in time, so that clocks need not
// agree; each hop takes off what it has used. Strict, since the lenient readings are how `99999999H` became a timer of 1 ms, `Infinitym` no
// deadline at all and `1e3m` whatever parseInt made of it.
//
// Invariant: the result is a finite number from 0 to `mostMs`, or undefined for "not by the grammar"; a caller makes the default deadline of
// undefined, never none.

/** What `grpc-timeout` counts in, as milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 }
const GRPC = /^(\d{1,8})([HMSmun])$/
const MILLISECONDS = /^\d{1,10}$/

/** Spans on the wire are capped by this where the reader says nothing else: a day. */
const MOST_MS = 86_400_000

/** Reads a `grpc-timeout`; undefined when it is not one. Longer ones read as `mostMs`. */
export function readGrpcTimeout(text: string, mostMs: number = MOST_MS): number | undefined {
  const parts = GRPC.exec(text)
  if (parts === null) return undefined
  return Math.min(Number(parts[1]) * (UNIT_MS[parts[2] as string] as number), mostMs)
}

/** Reads whole milliseconds; undefined when it is not. Longer ones read as `mostMs`. */
export function readTimeoutMs(text: string, mostMs: number = MOST_MS): number | undefined {
  return MILLISECONDS.test(text) ? Math.min(Number(text), mostMs) : undefined
}

/** Whole milliseconds, rounded down; undefined for what must not be sent: expired, or no deadline. */
export function writeTimeoutMs(remainingMs: number): string | undefined {
  const whole = Math.floor(remainingMs)
  return whole >= 1 && Number.isFinite(whole) ? String(Math.min(whole, 9_999_999_999)) : undefined
}

/** Units from fine to coarse: the first in which the span has at most eight digits is the one that loses least. */
const COARSER = ['n', 'u', 'm', 'S', 'M', 'H'] as const
const MOST_GRPC = 99_999_999

/** A `grpc-timeout`: at most eight digits, rounded down, never 0; undefined for what must not be sent. */
export function writeGrpcTimeout(remainingMs: number): string | undefined {
  if (!(remainingMs > 0) || remainingMs === Number.POSITIVE_INFINITY) return undefined
  for (const unit of COARSER) {
    const whole = Math.floor(remainingMs / (UNIT_MS[unit] as number))
    if (whole <= MOST_GRPC) return whole >= 1 ? `${whole}${unit}` : undefined
  }
  return `${MOST_GRPC}H`
}

/** How a name is read. */
const readers: readonly (readonly [name: string, read: (text: string, mostMs: number) => number | undefined])[] = [
  [names.timeout, readTimeoutMs],
  [timeoutAliases.grpc, readGrpcTimeout],
  [timeoutAliases.connect, readTimeoutMs],
  [timeoutAliases.envoy, readTimeoutMs],
]

/** Where the values of a header are: `undefined` for none, an array for several lines. */
export type HeaderReader = (name: string) => string | readonly string[] | undefined

/** What a message says about its deadline. */
export interface SaidTimeout {
  /** Milliseconds; undefined when nothing that can be read was said. */
  readonly ms: number | undefined
  /** Names whose value was not by the grammar, or that stood there twice. */
  readonly malformed: readonly string[]
}

const NOTHING: SaidTimeout = { ms: undefined, malformed: [] }

/** Of several names the shortest span counts: whoever wrote it will not wait longer. */
export function readTimeout(header: HeaderReader, mostMs: number = MOST_MS): SaidTimeout {
  let ms: number | undefined
  let malformed: string[] | undefined
  for (const [name, read] of readers) {
    const value = header(name)
    if (value === undefined) continue
    const found = typeof value === 'string' ? read(value, mostMs) : undefined
    if (found === undefined) (malformed ??= []).push(name)
    else if (ms === undefined || found < ms) ms = found
  }
  return ms === undefined && malformed === undefined ? NOTHING : { ms, malformed: malformed ?? [] }
}
