import type { WriteStream } from 'node:tty'

// Lines that are redrawn in place.

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const TO_END_OF_LINE = '\u001b[K'
const TO_END_OF_SCREEN = '\u001b[J'
const WHOLE_SCREEN = '\u001b[2J\u001b[H'

export class Screen {
  private readonly out: WriteStream
  private lines = 0
  private width = 0
  private height = 0

  constructor(out: WriteStream) {
    this.out = out
  }

  /** As it is now. A process that is not in the terminal's foreground group (npm start) is not told when it changes. */
  get size(): [width: number, height: number] {
    // The stream remembers the size, and looks again only at this.
    process.emit('SIGWINCH', 'SIGWINCH')
    return this.out.getWindowSize()
  }

  /** `paint` is given the width and the height. */
  draw(paint: (width: number, height: number) => readonly string[]): void {
    const [width, height] = this.size
    const resized = this.lines > 0 && (width !== this.width || height !== this.height)
    this.width = width
    this.height = height
    const lines = paint(width, height)
    // After a change of size nobody knows where the lines went.
    const home = resized ? WHOLE_SCREEN : this.lines === 0 ? HIDE_CURSOR : `\u001b[${this.lines}F`
    this.out.write(home + lines.map((line) => `${line}${TO_END_OF_LINE}\n`).join('') + TO_END_OF_SCREEN)
    this.lines = lines.length
  }

  /** The lines stay; what is written next comes below them. */
  close(): void {
    if (this.lines > 0) this.out.write(SHOW_CURSOR)
    this.lines = 0
  }
}
