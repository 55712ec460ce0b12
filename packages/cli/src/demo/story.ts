// What happens in the demo, and when. Everything else reads it from here: the servers, the views and the summary.

/** How a server can behave. Add one here and the compiler asks for its answer in upstream.ts. */
export type Behaviour = 'well' | 'slow' | 'wrong' | 'dead'

/** Of all clients. */
export const REQUESTS_PER_SECOND = 200
/** So long a client waits for an answer. */
export const PATIENCE_MS = 1_000
/** So much later a slow server answers: late, but not too late for its clients. */
export const SLOWER_MS = 700

export interface Phase {
  readonly name: string
  /** The guide: what is about to happen, and what to look at. Said before anything is measured, so it promises nothing. */
  readonly says: string
  /** The beginning of a sentence about what was measured. */
  readonly when: string
  /** Who misbehaves and how, by name; who is not named is well. */
  readonly faults: Readonly<Partial<Record<string, Behaviour>>>
  /** Who of them is well again before the phase is over, one after the other. */
  readonly returns?: readonly string[]
}

export const servers: readonly string[] = ['A', 'B', 'C', 'D']

export const story: readonly Phase[] = [
  {
    name: 'all well',
    says: 'All servers are well. Look at the shares: who gets how much of the traffic.',
    when: 'While all was well',
    faults: {},
  },
  {
    name: 'one slow',
    says: `Server B answers ${SLOWER_MS / 1000} s later from now on. Look at its state and share, and at the p99 of the clients.`,
    when: 'While server B was slow',
    faults: { B: 'slow' },
  },
  {
    name: 'one wrong',
    says: 'B is well again, but C answers all with status 500, at once. Look at what fails, and how B returns.',
    when: 'While server C was wrong',
    faults: { C: 'wrong' },
  },
  {
    name: 'one dead',
    says: 'C is well again, but D dies: connections are cut, new ones refused. Look at what fails, how C returns.',
    when: 'While server D was dead',
    faults: { D: 'dead' },
  },
  {
    name: 'all dead',
    says: 'All servers die: every request must fail. Look at how soon the clients know (p99), and what is let through.',
    when: 'While all servers were dead',
    faults: { A: 'dead', B: 'dead', C: 'dead', D: 'dead' },
  },
  {
    name: 'all back',
    says: 'A is back, then B, C and D, one by one; each can carry half of the load. Look at what the first ones get.',
    when: 'After the first server was back',
    faults: { B: 'dead', C: 'dead', D: 'dead' },
    returns: ['B', 'C', 'D'],
  },
]

export function behaviourOf(server: string, { faults }: Phase): Behaviour {
  return faults[server] ?? 'well'
}

/** Nobody is there to answer. */
export function isOutage(phase: Phase): boolean {
  return servers.every((server) => behaviourOf(server, phase) === 'dead')
}

/** Between two returns: machines do not start in the same moment. */
export function returnEveryMs(phaseMs: number): number {
  return Math.min(2_000, phaseMs / 6)
}
