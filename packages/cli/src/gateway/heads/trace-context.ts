// Which trace does a request belong to? (W3C Trace Context, level 1)
//
// The gateway is no span of its own: it passes on what it got, byte for byte, and writes the trace's id into its log. What is not a
// `traceparent` by the letter is not passed on, and its `tracestate` with it: a server should not have to guess.
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01   version, trace, parent, flags

const LENGTH = 55
/** Lower case only, as the specification says; neither id is all zeros, and `ff` is no version. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

/** The trace's id, 32 hexadecimal digits; '' when `value` is no traceparent. */
export function traceOf(value: string): string {
  if (!TRACEPARENT.test(value)) return ''
  return value.length === LENGTH || mayBeLonger(value) ? value.slice(3, 35) : ''
}

/** A later version may add fields; 00 has none. */
function mayBeLonger(value: string): boolean {
  return !value.startsWith('00') && value.length <= 512
}
