import { setTimeout as sleep } from 'node:timers/promises'
import type { Board, LaneBoard } from './board.ts'
import { type Crew, heard, type Member } from './crew.ts'
import { type Gateway, startGateway } from './gateway.ts'
import type { LoadNews, LoadOrder, LoadPlan, Order, ServerNews } from './messages.ts'
import type { Show } from './show.ts'
import { behaviourOf, type Phase } from './story.ts'

// The story, played: the processes are started, then the servers are told how to behave and the clients which phase it is.

const WARM_UP_MS = 1_500
/** As long as a patient client would wait; what the servers do to it below that is what the demo shows. */
const CLIENT_TIMEOUT_MS = 3_000
/** More than all requests of `CLIENT_TIMEOUT_MS`, so that this bound is never met unless something is badly wrong. */
const IN_FLIGHT_AT_MOST = 700
/** Long enough for a request to get to its server. */
const CHANGE_MS = 50
const LOOK_EVERY_MS = 200

interface Server {
  readonly name: string
  readonly member: Member
  readonly url: string
}

export class Run {
  private readonly board: Board
  private readonly crew: Crew
  private readonly signal: AbortSignal

  /** Ends early, with its reason, when `signal` aborts. */
  constructor(board: Board, crew: Crew, signal: AbortSignal) {
    this.board = board
    this.crew = crew
    this.signal = signal
  }

  async play(folder: string, show: Show): Promise<void> {
    const { board } = this
    const [bare = [], guarded = []] = await Promise.all(board.lanes.map((lane) => this.startServers(lane)))
    const gateway = await startGateway(this.crew, folder, guarded, this.signal)
    await this.look(gateway)
    const load = await this.startLoad([bare.map(({ url }) => url), [gateway.url]])
    // A look that fails once is of no account: if the gateway is gone, that is told elsewhere.
    const looking = setInterval(() => void this.look(gateway).catch(() => {}), LOOK_EVERY_MS)
    try {
      show.start()
      await this.sleep(WARM_UP_MS)
      for (const [index, phase] of board.phases.entries()) {
        await this.enter(index, phase, [...bare, ...guarded], load)
        await this.sleep(board.phaseMs)
      }
      await this.finish(load)
      board.enter(board.phases.length)
      show.update()
    } finally {
      clearInterval(looking)
      show.stop()
    }
  }

  private startServers({ title, servers }: LaneBoard): Promise<Server[]> {
    return Promise.all(
      servers.map(async (board) => {
        const member = this.crew.hire(
          `server ${board.name} (${title.toLowerCase()})`,
          new URL('./upstream.js', import.meta.url),
        )
        member.process.on('message', (news: ServerNews) => {
          if (news.kind === 'report') board.take(news, this.board.phase)
        })
        const { port } = await heard<ServerNews, 'listening'>(member, 'listening', this.signal)
        return { name: board.name, member, url: `http://127.0.0.1:${port}` }
      }),
    )
  }

  private async startLoad(lanes: readonly (readonly string[])[]): Promise<Member> {
    const member = this.crew.hire('the load generator', new URL('./load.js', import.meta.url))
    member.process.on('message', (news: LoadNews) => {
      if (news.kind === 'report') this.board.take(news)
    })
    await heard<LoadNews, 'ready'>(member, 'ready', this.signal)
    const { perSecond, lengthMs } = this.board
    const plan: LoadPlan = {
      perSecond,
      // A few seconds more, for the moments between phases.
      arrivalsAtMost: Math.ceil(((WARM_UP_MS + lengthMs) / 1000 + 5) * perSecond),
      inFlightAtMost: IN_FLIGHT_AT_MOST,
      timeoutMs: CLIENT_TIMEOUT_MS,
      lanes,
    }
    member.send({ kind: 'start', plan } satisfies LoadOrder)
    return member
  }

  /** Requests of the moment in which the servers change belong to neither phase, and are not counted. */
  private async enter(index: number, phase: Phase, servers: readonly Server[], load: Member): Promise<void> {
    load.send({ kind: 'phase', phase: -1 } satisfies LoadOrder)
    await this.sleep(CHANGE_MS)
    await Promise.all(
      servers.map(({ name, member }) => {
        const done = heard<ServerNews, 'behaving'>(member, 'behaving', this.signal)
        member.send({ kind: 'behave', as: behaviourOf(name, phase) } satisfies Order)
        return done
      }),
    )
    load.send({ kind: 'phase', phase: index } satisfies LoadOrder)
    this.board.enter(index)
  }

  private async finish(load: Member): Promise<void> {
    const finished = heard<LoadNews, 'finished'>(load, 'finished', this.signal)
    load.send({ kind: 'finish' } satisfies LoadOrder)
    this.board.latestMs = (await finished).latestMs
  }

  private async look(gateway: Gateway): Promise<void> {
    this.board.see(await gateway.inspect(this.signal))
  }

  private sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.signal })
  }
}
