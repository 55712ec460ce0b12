// What happens in the demo, and when. Everything else reads it from here: the servers, the views and the summary.

/** How a server can behave. Add one here and the compiler asks for its answer in upstream.ts. */
export type Behaviour = 'well' | 'slow' | 'failing'

export interface Phase {
  readonly name: string
  /** One line for the viewer. */
  readonly says: string
  /** The beginning of a sentence about what was measured. */
  readonly when: string
  /** Who misbehaves and how, by name; who is not named is well. */
  readonly faults: Readonly<Partial<Record<string, Behaviour>>>
}

export const servers: readonly string[] = ['A', 'B', 'C']

export const story: readonly Phase[] = [
  { name: 'all well', says: 'All servers answer in about 5 ms.', when: 'While all was well', faults: {} },
  {
    name: 'one slow',
    says: 'Server B takes 1.5 s longer to answer.',
    when: 'While server B was slow',
    faults: { B: 'slow' },
  },
  {
    name: 'one failing',
    says: 'Server B answers with status 500 or resets the connection, at random.',
    when: 'While server B was failing',
    faults: { B: 'failing' },
  },
  { name: 'well again', says: 'Server B is back.', when: 'When all was well again', faults: {} },
]

export function behaviourOf(server: string, { faults }: Phase): Behaviour {
  return faults[server] ?? 'well'
}
