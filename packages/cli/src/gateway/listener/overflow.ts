// Which line of a head was the one too many bytes: that of the request, or one behind it? (414 or 431, RFC 9110, 15.5.15.)
//
// The parser does not say; it says how far it came in the last packet. Where the line began in an earlier one, its bytes are gone: then it is
// taken for the first line if no other line can look like that, which is so for most fields but not for all.

const LF = 0x0a
/** What targets are made of: no blank, no control character. */
const inTarget = /^[\x21-\x7e\x80-\xff]*$/
const startsRequest = /^[A-Z-]{1,20} [\x21-\x7e\x80-\xff]+$/

/** What node:http adds to an error of its parser. */
interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** True when a head that is too long is so since its target is. `mostBytes`: of a head. */
export function isTargetTooLong({ rawPacket, bytesParsed }: ParseError, mostBytes: number): boolean {
  if (rawPacket === undefined) return false
  // The parser counts to the begin of the piece that it was reading: the rest of it is the same line.
  const from = Math.min(bytesParsed ?? 0, rawPacket.length)
  const next = rawPacket.indexOf(LF, from)
  const end = next < 0 ? rawPacket.length : next
  const begin = from === 0 ? 0 : rawPacket.lastIndexOf(LF, from - 1) + 1
  const line = rawPacket
    .toString('latin1', begin, Math.min(end, begin + 2 * mostBytes))
    .replace(/ HTTP\/[\d.]*\r?$/, '')
  if (begin > 0) return startsRequest.test(line)
  return startsRequest.test(line) || inTarget.test(line)
}
