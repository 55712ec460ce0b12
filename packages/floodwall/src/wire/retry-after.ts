// When does the server want to be asked again? (`Retry-After`, RFC 9110, 10.2.3)
//
// Whole seconds, or one of the three forms of an HTTP date. By the letter: Date.parse takes "-3" and "1.5" for days in 2001, and a number
// read from "1e3" or a date read as a number is a retry at once. What is neither is as if it were not there.
//
//   120 -> 120 s · Wed, 21 Oct 2015 07:28:00 GMT -> what is left until then, by the server's own clock where it sent one

/** Nobody may ask for more than a day: who says "in a year" is broken. */
const LONGEST_MS = 86_400_000
const SECONDS = /^\d{1,10}$/

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const DAYS = 'Sun|Mon|Tue|Wed|Thu|Fri|Sat'
const LONG_DAYS = 'Sunday|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday'
const CLOCK = '(\\d{2}):(\\d{2}):(\\d{2})'
/** Sun, 06 Nov 1994 08:49:37 GMT */
const IMF = new RegExp(`^(?:${DAYS}), (\\d{2}) (\\w{3}) (\\d{4}) ${CLOCK} GMT$`)
/** Sunday, 06-Nov-94 08:49:37 GMT */
const RFC_850 = new RegExp(`^(?:${LONG_DAYS}), (\\d{2})-(\\w{3})-(\\d{2}) ${CLOCK} GMT$`)
/** Sun Nov  6 08:49:37 1994 */
const ASCTIME = new RegExp(`^(?:${DAYS}) (\\w{3}) ([ \\d]\\d) ${CLOCK} (\\d{4})$`)

/** Unix time in milliseconds of an HTTP date; undefined when it is none. `nowMs`: two-digit years are the ones nearest to it. */
export function readHttpDate(text: string, nowMs: number): number | undefined {
  const imf = IMF.exec(text)
  if (imf !== null) return instant(imf[3], imf[2], imf[1], imf[4], imf[5], imf[6])
  const old = RFC_850.exec(text)
  if (old !== null) return instant(String(yearOf(Number(old[3]), nowMs)), old[2], old[1], old[4], old[5], old[6])
  const c = ASCTIME.exec(text)
  return c === null ? undefined : instant(c[6], c[1], c[2], c[3], c[4], c[5])
}

/** More than fifty years ahead means the century before (RFC 9110, 5.6.7). */
function yearOf(digits: number, nowMs: number): number {
  const year = new Date(nowMs).getUTCFullYear()
  const guess = year - (year % 100) + digits
  return guess > year + 50 ? guess - 100 : guess
}

function instant(...parts: readonly (string | undefined)[]): number | undefined {
  const [year, month = '', day, hour, minute, second] = parts
  const at = MONTHS.indexOf(month)
  const numbers = [Number(year), at, Number(day), Number(hour), Number(minute), Number(second)] as const
  const [y, mo, d, h, mi, s] = numbers
  if (mo < 0 || h > 23 || mi > 59) return undefined
  // A leap second is the last of its day, and Unix time has none: it is the first of the next one.
  if (s > 59 && !(s === 60 && h === 23 && mi === 59)) return undefined
  // 32 October would be 1 November.
  if (new Date(Date.UTC(y, mo, d)).getUTCDate() !== d) return undefined
  return Date.UTC(y, mo, d, h, mi, s)
}

/**
 * What `Retry-After` asks for, in milliseconds; 0: nothing, or nothing that can be read, or a time that is past. `nowMs`: Unix time here;
 * `date`: the answer's `Date` header, whose clock the server reads the other date from.
 */
export function readRetryAfter(value: string | null | undefined, nowMs: number, date?: string | null): number {
  if (value == null) return 0
  const text = value.trim()
  if (SECONDS.test(text)) return Math.min(Number(text) * 1000, LONGEST_MS)
  const at = readHttpDate(text, nowMs)
  if (at === undefined) return 0
  const theirs = date == null ? undefined : readHttpDate(date.trim(), nowMs)
  return Math.min(Math.max(0, at - (theirs ?? nowMs)), LONGEST_MS)
}

/** Whole seconds, at least one; undefined where asking again is in vain. */
export function writeRetryAfter(ms: number): string | undefined {
  return ms > 0 && Number.isFinite(ms) ? String(Math.max(1, Math.ceil(ms / 1000))) : undefined
}
