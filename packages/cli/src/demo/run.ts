import { setTimeout as sleep } from 'node:timers/promises'
import type { Board } from './board.ts'
import { type Crew, heard, type Member } from './crew.ts'
import { type Gateway, startGateway } from './gateway.ts'
import type { LaneBoard } from './lane-board.ts'
import type { LoadNews, LoadOrder, LoadPlan, Order, ServerNews } from './messages.ts'
import type { Show } from './show.ts'
import { type Behaviour, behaviourOf, PATIENCE_MS, type Phase, returnEveryMs } from './story.ts'

// The story, played: the processes are started, then the servers are told how to behave and the clients which phase it is.

/** Also for the viewer, who reads the introduction meanwhile. */
const WARM_UP_MS = 3_000
/** More than all requests of `PATIENCE_MS`, so that this bound is never met unless something is badly wrong. */
const IN_FLIGHT_AT_MOST = 500
/** Long enough for a request to be answered by a server that is well. */
const CHANGE_MS = 250
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
      await this.sleep(Math.min(WARM_UP_MS, board.phaseMs))
      for (const [index, phase] of board.phases.entries()) {
        const servers = [...bare, ...guarded]
        await this.enter(index, phase, servers, load)
        show.phase()
        await this.bringBack(phase, servers)
        await this.sleep(board.leftMs)
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
    const { perSecond, phaseMs, lengthMs } = this.board
    const plan: LoadPlan = {
      perSecond,
      phaseMs,
      // A few seconds more, for the moments between phases.
      arrivalsAtMost: Math.ceil(((WARM_UP_MS + lengthMs) / 1000 + 5) * perSecond),
      inFlightAtMost: IN_FLIGHT_AT_MOST,
      timeoutMs: PATIENCE_MS,
      lanes,
    }
    member.send({ kind: 'start', plan } satisfies LoadOrder)
    return member
  }

  /** Requests of the moment in which the servers change belong to neither phase, and are not counted. */
  private async enter(index: number, phase: Phase, servers: readonly Server[], load: Member): Promise<void> {
    load.send({ kind: 'phase', phase: -1 } satisfies LoadOrder)
    await this.sleep(CHANGE_MS)
    await Promise.all(servers.map((server) => this.behave(server, behaviourOf(server.name, phase))))
    load.send({ kind: 'phase', phase: index } satisfies LoadOrder)
    this.board.enter(index)
  }

  /** One after the other, each for both ways in the same moment. */
  private async bringBack({ returns = [] }: Phase, servers: readonly Server[]): Promise<void> {
    for (const name of returns) {
      await this.sleep(returnEveryMs(this.board.phaseMs))
      await Promise.all(servers.filter((server) => server.name === name).map((server) => this.behave(server, 'well')))
      this.board.behaves(name, 'well')
    }
  }

  private async behave({ member }: Server, as: Behaviour): Promise<void> {
    const done = heard<ServerNews, 'behaving'>(member, 'behaving', this.signal)
    member.send({ kind: 'behave', as } satisfies Order)
    await done
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
