// Interim answers (1xx, RFC 9110, 15.2) on their way from a server, taken out before anybody sees them.
//
// A server may send them unasked, and they say nothing about the outcome; the gateway passes none on. undici takes a 100 that it did not ask
// for as the end of all things and breaks the connection off. So they are taken out between the socket and undici's parser, where an answer
// is due and nowhere else: a body may look like anything. 101 is left in: it is no interim answer, it ends HTTP.

const ONE = 0x31
const ZERO = 0x30
const DIGIT_MOST = 0x39
/** `HTTP/1.1 100 `: so much tells what it is. */
const ENOUGH = 13

export class InterimAnswers {
  /** The next byte is the first of an answer. */
  private due = true
  /** Something came since the request was sent, if only the first byte of a head: the server has it. */
  seen = false
  private readonly most: number
  private held: Buffer | null = null

  /** `most`: so many bytes of a head are waited for. */
  constructor(most: number) {
    this.most = most
  }

  /** A request is sent. */
  expect(): void {
    this.due = true
    this.seen = false
  }

  /** What is left of `piece`; null for nothing yet. */
  strain(piece: Buffer): Buffer | null {
    if (!this.due) return piece
    this.seen = true
    const bytes = this.held === null ? piece : Buffer.concat([this.held, piece])
    this.held = null
    let at = 0
    while (isInterim(bytes, at)) {
      const end = bytes.indexOf('\r\n\r\n', at)
      if (end < 0) return this.hold(bytes, at)
      at = end + 4
      if (at === bytes.length) return null
    }
    if (bytes.length - at < ENOUGH) return this.hold(bytes, at)
    this.due = false
    return at === 0 ? bytes : bytes.subarray(at)
  }

  /** Too little to tell; too much is for undici's own limits to judge. */
  private hold(bytes: Buffer, at: number): Buffer | null {
    const rest = bytes.subarray(at)
    if (rest.length > this.most) {
      this.due = false
      return rest
    }
    this.held = rest
    return null
  }
}

/** Of a status line at `at`, 100 to 199 but not 101. The digit first: for nearly every answer that is the only look. */
function isInterim(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 9] === ONE &&
    bytes.length - at >= ENOUGH &&
    !(bytes[at + 10] === ZERO && bytes[at + 11] === ONE) &&
    // A status of four digits is none.
    !((bytes[at + 12] as number) >= ZERO && (bytes[at + 12] as number) <= DIGIT_MOST) &&
    bytes.toString('latin1', at, at + 7) === 'HTTP/1.'
  )
}
