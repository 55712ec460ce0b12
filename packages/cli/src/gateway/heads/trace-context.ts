// Which trace does a request belong to? (W3C Trace Context, level 1)
//
// The gateway is no span of its own: it passes on what it got, byte for byte, and writes the trace's id into its log. What is not a
// `traceparent` by the letter is not passed on, and its `tracestate` with it: a server should not have to guess.
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01   version, trace, parent, flags

const LENGTH = 55
const DASHES = [2, 35, 52]

/** The trace's id, 32 hexadecimal digits; '' when `value` is no traceparent. */
export function traceOf(value: string): string {
  if (value.length < LENGTH || (value.length > LENGTH && !mayBeLonger(value))) return ''
  for (let i = 0; i < LENGTH; i++) {
    const code = value.charCodeAt(i)
    if (DASHES.includes(i) ? code !== 45 : !isHex(code)) return ''
  }
  if (value.startsWith('ff')) return ''
  const trace = value.slice(3, 35)
  return isZero(trace) || isZero(value.slice(36, 52)) ? '' : trace
}

/** A later version may add fields; 00 has none. */
function mayBeLonger(value: string): boolean {
  return !value.startsWith('00') && value.charCodeAt(LENGTH) === 45 && value.length <= 512
}

/** Lower case only, as the specification says. */
function isHex(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102)
}

function isZero(digits: string): boolean {
  for (let i = 0; i < digits.length; i++) if (digits.charCodeAt(i) !== 48) return false
  return true
}
