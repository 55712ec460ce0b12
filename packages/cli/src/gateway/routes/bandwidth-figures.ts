import type { Snapshot } from 'floodwall'
import type { Exposition } from '../admin/exposition.ts'
import type { RouteBandwidth } from './bandwidth.ts'

/** Who has a limit of bytes. */
interface Limited {
  readonly id: string
  readonly bandwidth: RouteBandwidth | undefined
}

const figures = [
  ['floodwall_bandwidth_bytes_total', 'counter', 'passed', 'Of bodies on routes with a bandwidth, by direction.'],
  ['floodwall_bandwidth_held_back_bytes_total', 'counter', 'heldBack', 'Of those, what had to wait.'],
  ['floodwall_bandwidth_waiting', 'gauge', 'waiting', 'Bodies that are held back now.'],
  ['floodwall_bandwidth_waiting_bytes', 'gauge', 'waitingBytes', 'The bytes that they ask for next.'],
] as const

/** What each route's bandwidth has passed and holds back, for `/metrics`. */
export function bandwidthFigures(text: Exposition, routes: readonly Limited[]): void {
  const all = routes.flatMap(({ id, bandwidth }) => {
    const seen = bandwidth?.inspect()
    return ['up', 'down'].flatMap((direction) =>
      seen?.[direction] == null ? [] : [{ labels: { route: id, direction }, numbers: seen[direction] as Snapshot }],
    )
  })
  for (const [name, kind, field, help] of figures) {
    text.metric(name, kind, help)
    for (const { labels, numbers } of all) text.sample(Number(numbers[field]), labels)
  }
}
