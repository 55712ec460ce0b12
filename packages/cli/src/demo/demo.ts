import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitCodes } from '../exit-codes.ts'
import { Board } from './board.ts'
import { Crew } from './crew.ts'
import { Run } from './run.ts'
import { canDraw, Show } from './show.ts'
import { REQUESTS_PER_SECOND, story } from './story.ts'

// `floodwall demo`: two sets of real servers meet the same requests and the same faults, one set bare, one behind the gateway.

const SECONDS_PER_PHASE = 10
/** What is measured is kept, and drawn again four times a second. */
const MOST_SECONDS = 60

export interface DemoOptions {
  /** Of each phase. Default 10. */
  readonly seconds?: number
  /** Lines instead of a picture. Default: only where no picture can be drawn. */
  readonly plain?: boolean
}

/** Signals and the exit codes that shells expect of them. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
/** Nobody reads on (`| head`): what a shell makes of SIGPIPE. */
const READER_GONE = 141

/** Somebody wants it to end. */
class Stopped extends Error {
  readonly code: number

  constructor(code: number) {
    super('stopped')
    this.code = code
  }
}

/** Runs the demo and leaves nothing behind. Answers with the exit code: as always, or 128 + n for a signal. */
export async function runDemo(options: DemoOptions = {}): Promise<number> {
  const { seconds = SECONDS_PER_PHASE, plain = false } = options
  if (!(seconds >= 1 && seconds <= MOST_SECONDS)) {
    console.error(`--seconds: expected a number from 1 to ${MOST_SECONDS}`)
    return exitCodes.misused
  }
  const end = new AbortController()
  // Only a name so far: it is made when there are children who would remove it.
  const folder = join(tmpdir(), `floodwall-demo-${randomUUID()}`)
  const crew = new Crew(folder, (loss) => end.abort(loss))
  const board = new Board(story, seconds * 1000, REQUESTS_PER_SECOND)
  const show = new Show(board, plain || !canDraw())
  const release = watch(end, crew, folder, show)
  try {
    show.intro()
    await new Run(board, crew, end.signal).play(folder, show)
    show.summary()
    return exitCodes.fine
  } catch (error) {
    const reason: unknown = end.signal.aborted ? end.signal.reason : error
    if (!(reason instanceof Stopped)) {
      console.error(`floodwall demo: ${reason instanceof Error ? reason.message : String(reason)}`)
      return exitCodes.failed
    }
    if (reason.code !== READER_GONE) console.error('Stopped.')
    return reason.code
  } finally {
    await crew.dismiss()
    rmSync(folder, { recursive: true, force: true })
    release()
  }
}

/** Whatever ends this process, nothing is left behind. */
function watch(end: AbortController, crew: Crew, folder: string, show: Show): () => void {
  const stops = Object.entries(SIGNALS).map(([signal, code]) => {
    const stop = (): void => {
      // Asked twice, it does not wait for anybody.
      if (end.signal.aborted) crew.kill()
      end.abort(new Stopped(code))
    }
    process.on(signal, stop)
    return () => process.off(signal, stop)
  })
  const readerGone = (): void => end.abort(new Stopped(READER_GONE))
  const last = (): void => {
    show.stop()
    crew.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  process.stdout.on('error', readerGone)
  process.on('exit', last)
  return () => {
    for (const stop of stops) stop()
    process.off('exit', last)
  }
}
