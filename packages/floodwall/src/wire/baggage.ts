// What travels along with a request in one header that proxies and tracers pass on? (W3C Baggage)
//
//   baggage: userId=alice,floodwall.criticality=SHEDDABLE;ttl=1
//
// Read for one key, within the specification's own bounds; the rest is nobody's business and stays as it is.

const MOST_BYTES = 8192
const MOST_MEMBERS = 180

/** The value of `key` in a `baggage` header, decoded; undefined when it is not there or not readable. */
export function readBaggage(header: string, key: string): string | undefined {
  if (header.length > MOST_BYTES) return undefined
  const members = header.split(',', MOST_MEMBERS)
  for (const member of members) {
    const [pair = ''] = member.split(';', 1)
    const at = pair.indexOf('=')
    if (at < 0 || pair.slice(0, at).trim() !== key) continue
    try {
      return decodeURIComponent(pair.slice(at + 1).trim())
    } catch {
      return undefined
    }
  }
  return undefined
}

/** `header` with `key` set to `value`; undefined where that would be longer than a baggage may be. */
export function writeBaggage(header: string | undefined, key: string, value: string): string | undefined {
  const others = (header ?? '')
    .split(',')
    .filter((member) => member.trim() !== '' && member.split('=', 1)[0]?.trim() !== key)
  if (others.length >= MOST_MEMBERS) return undefined
  const whole = [...others, `${key}=${encodeURIComponent(value)}`].join(',')
  return whole.length > MOST_BYTES ? undefined : whole
}
