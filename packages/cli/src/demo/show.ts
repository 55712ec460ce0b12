import pc from 'picocolors'
import type { Board } from './board.ts'
import { intro } from './intro.ts'
import { picture } from './picture.ts'
import { plainGuide, plainHead, plainLine } from './plain.ts'
import { Screen } from './screen.ts'
import { summary } from './summary.ts'
import type { Paint } from './words.ts'

// Who is told what: a picture in a terminal, lines elsewhere.

const WIDEST_TEXT = 100
const REDRAW_EVERY_MS = 250
const LINE_EVERY_MS = 1_000

export class Show {
  private readonly board: Board
  private readonly screen: Screen | undefined
  private readonly paint: Paint
  private timer: NodeJS.Timeout | undefined

  constructor(board: Board, plain: boolean) {
    this.board = board
    this.screen = plain ? undefined : new Screen(process.stdout)
    this.paint = plain ? pc.createColors(false) : pc
  }

  intro(): void {
    this.say(...intro(this.board, this.paint, this.width))
  }

  private get width(): number {
    return Math.min(WIDEST_TEXT, this.screen?.size[0] ?? WIDEST_TEXT)
  }

  private say(...lines: readonly string[]): void {
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  }

  /** A phase begins. After the first one something is shown all the time, until `stop`. */
  phase(): void {
    const isPlain = this.screen === undefined
    if (isPlain && this.timer === undefined) this.say(plainHead)
    this.timer ??= setInterval(() => this.update(), isPlain ? LINE_EVERY_MS : REDRAW_EVERY_MS)
    // In the picture the guide speaks by itself.
    if (isPlain) this.say(...plainGuide(this.board))
    else this.update()
  }

  update(): void {
    if (this.screen === undefined) this.say(plainLine(this.board))
    else this.screen.draw((width, height) => picture(this.board, this.paint, width, height))
  }

  /** What was drawn last stays. */
  stop(): void {
    clearInterval(this.timer)
    this.screen?.close()
  }

  summary(): void {
    this.say(...summary(this.board, this.paint, this.width))
  }
}

/** True where a picture can be drawn. */
export function canDraw(): boolean {
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb'
}
