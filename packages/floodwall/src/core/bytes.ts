// What is "64KiB" in bytes, and "10MB/s" in bytes per second? Both families of units, each with its own letters: k is 1000 and Ki is 1024.
//
// Letters count as the standards write them (SI, IEC 80000-13). "Mb" are bits everywhere else, "KB" is 1000 for some and 1024 for others: neither is taken.

type ByteUnit = 'B' | 'kB' | 'KiB' | 'MB' | 'MiB' | 'GB' | 'GiB'

/** A number of bytes: a bare number, or one with its unit: `65536`, `'64KiB'`, `'10MB'`. */
export type Bytes = number | `${number}${ByteUnit}`

/** Bytes in a second, a minute (`m` or `min`), an hour or a day: `'10MB/s'`, `'512KiB/s'`, `'1.5MiB/min'`. */
export type ByteRate = `${number}${ByteUnit}/${string}`

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  KiB: 1024,
  MB: 1e6,
  MiB: 1024 * 1024,
  GB: 1e9,
  GiB: 1024 * 1024 * 1024,
}
const SPANS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

// Digits only, as in spans: "1e6B" and "-5MB" are more often typing errors than wishes.
const SIZE = /^(\d{1,15}(?:\.\d{1,6})?) ?(B|kB|KiB|MB|MiB|GB|GiB)$/

/** The bytes of {@link Bytes}, or NaN when it is none; never throws, so that a schema can say what was expected. */
export function toBytes(given: unknown): number {
  if (typeof given === 'number') return Number.isInteger(given) && given >= 0 ? given : Number.NaN
  const parts = typeof given === 'string' ? SIZE.exec(given) : null
  return parts === null ? Number.NaN : Math.round(Number(parts[1]) * (UNITS[parts[2] as string] as number))
}

/** A {@link ByteRate} as so much per so many milliseconds; undefined when it is none. */
export function toByteRate(given: unknown): { readonly rate: number; readonly per: number } | undefined {
  if (typeof given !== 'string') return undefined
  const slash = given.indexOf('/')
  const rate = slash < 0 ? Number.NaN : toBytes(given.slice(0, slash))
  const per = Object.hasOwn(SPANS_MS, given.slice(slash + 1)) ? SPANS_MS[given.slice(slash + 1)] : undefined
  return Number.isNaN(rate) || per === undefined ? undefined : { rate, per }
}
