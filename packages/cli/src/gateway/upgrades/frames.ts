// Where does a WebSocket frame begin?
//
// A gateway that stops has something to say of its own: a Close frame, which may stand only between two frames (RFC 6455, 5.5.1). So the
// heads of frames are counted as the bytes pass; payloads are not looked at, and what they mean is nobody's business here.
//
//   1 byte FIN and opcode · 1 byte mask bit and length (126: 2 more bytes, 127: 8 more) · 4 bytes of mask if there is one · payload

const CLOSE = 8
const MASKED = 0x80
const LONGEST_HEAD = 14

/** One direction of a connection. */
export class Frames {
  /** A Close frame has passed, or its head has. */
  closed = false
  private readonly head = Buffer.alloc(LONGEST_HEAD)
  private have = 0
  private payload = 0

  /** True between two frames. */
  get between(): boolean {
    return this.have === 0 && this.payload === 0
  }

  /** Counts what passes. Answers with the place in `piece` where the first frame ends, beyond which `one` counts nothing; -1 when none does. */
  count(piece: Buffer, one = false): number {
    let end = -1
    let at = 0
    while (at < piece.length && !(one && end >= 0)) {
      if (this.payload > 0) {
        const step = Math.min(this.payload, piece.length - at)
        this.payload -= step
        at += step
      } else at += this.readHead(piece, at)
      if (end < 0 && this.between) end = at
    }
    return end
  }

  /** How many bytes belonged to the head. */
  private readHead(piece: Buffer, from: number): number {
    const { head } = this
    let at = from
    while (at < piece.length && this.have < this.need) head[this.have++] = piece[at++] as number
    if (this.have < 2 || this.have < this.need) return at - from
    if (((head[0] as number) & 15) === CLOSE) this.closed = true
    const size = (head[1] as number) & 127
    if (size === 126) this.payload = head.readUInt16BE(2)
    else this.payload = size === 127 ? head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6) : size
    this.have = 0
    return at - from
  }

  /** The length of the head, as far as is known. */
  private get need(): number {
    if (this.have < 2) return 2
    const second = this.head[1] as number
    const size = second & 127
    return 2 + (size === 126 ? 2 : size === 127 ? 8 : 0) + (second >= MASKED ? 4 : 0)
  }
}

/** "I am going away": 1001, in a Close frame. From a client it must be masked, with bytes that nobody can foresee. */
export function goodbye(mask: Buffer | null): Buffer {
  const code = [0x03, 0xe9]
  if (mask === null) return Buffer.from([0x88, 2, ...code])
  return Buffer.from([0x88, 0x82, ...mask, ...code.map((byte, i) => byte ^ (mask[i] as number))])
}
