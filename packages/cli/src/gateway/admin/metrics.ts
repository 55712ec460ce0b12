import type { Snapshot } from 'floodwall'
import type { Gateway } from '../gateway.ts'
import { bandwidthFigures } from '../routes/bandwidth-figures.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { Exposition } from './exposition.ts'

// `/metrics`. Labels come from the configuration and from closed lists, never from what a client sent: a label that strangers choose is a
// series for each of their ideas.

export function metrics(gateway: Gateway): string {
  const text = new Exposition()
  traffic(text, gateway)
  latency(text, gateway)
  bandwidthFigures(text, gateway.site.routes)
  doors(text, gateway)
  tunnels(text, gateway)
  upstreams(text, gateway)
  layers(text, gateway)
  machine(text, gateway)
  return text.end()
}

function traffic(text: Exposition, { telemetry, peers, stage, site, accessLog }: Gateway): void {
  text.metric('floodwall_requests_total', 'counter', 'Requests by route, method and class of the answer.')
  for (const { id, telemetry: counted } of site.routes) {
    for (const { method, status, count } of counted.requests) text.sample(count, { route: id, method, status })
  }
  text.metric('floodwall_turned_away_total', 'counter', 'Requests without a route: malformed, or for nobody here.')
  for (const { method, status, count } of telemetry.turnedAway) text.sample(count, { method, status })
  text.metric('floodwall_sent_bytes_total', 'counter', 'Of the bodies of answers, by route.')
  for (const { id, telemetry: counted } of site.routes) text.sample(counted.sentBytes, { route: id })
  text
    .metric('floodwall_access_lines_dropped_total', 'counter', 'Lines of the access log that found no room.')
    .sample(accessLog?.dropped ?? 0)
  text.metric('floodwall_requests_in_flight', 'gauge', 'Requests without a complete answer.').sample(telemetry.inFlight)
  text.metric('floodwall_connections', 'gauge', 'Open connections of clients.').sample(peers.size)
  text
    .metric('floodwall_clients_gone_total', 'counter', 'Clients that left before their answer was complete.')
    .sample(telemetry.clientsGone)
  text.metric('floodwall_answers_broken_total', 'counter', 'Answers cut in the middle because the upstream broke off.')
  for (const [cause, count] of telemetry.brokenOff) if (count > 0) text.sample(count, { cause })
  text.metric('floodwall_kept_bytes', 'gauge', 'Of the bodies of requests, in memory.').sample(telemetry.kept.inMemory)
  text.metric('floodwall_ready', 'gauge', '1 while new requests are taken.').sample(stage === 'ready' ? 1 : 0)
}

function doors(text: Exposition, { telemetry, front, reloads, admin }: Gateway): void {
  text.metric('floodwall_connections_refused_total', 'counter', 'Connections beyond the limit, closed at once.')
  text.sample(telemetry.connectionsRefused)
  const intakes = Object.entries(front.intakes)
  text.metric(
    'floodwall_overload_shedding',
    'gauge',
    '1 while new connections are turned away: refusals take too much.',
  )
  for (const [listener, { shedding }] of intakes) text.sample(shedding ? 1 : 0, { listener })
  text.metric('floodwall_overload_connections_dropped_total', 'counter', 'Connections that were turned away so.')
  for (const [listener, { dropped }] of intakes) text.sample(dropped, { listener })
  text.metric('floodwall_overload_refusal_share', 'gauge', 'Of the time, what refusals on new connections take.')
  for (const [listener, { refusalShare }] of intakes) text.sample(refusalShare, { listener })
  text.metric('floodwall_tls_handshakes_failed_total', 'counter', 'Broken off, too slow, or with a wrong certificate.')
  text.sample(telemetry.handshakesFailed)
  text.metric('floodwall_tls_certificate_expires_seconds', 'gauge', 'The first certificate to expire, as Unix time.')
  if (front.certificates !== undefined) text.sample(front.certificates.expiresAt / 1000)
  text.metric('floodwall_reloads_total', 'counter', 'Reloads by result; a failed one changed nothing.')
  text.sample(reloads.done, { result: 'ok' }).sample(reloads.failed, { result: 'failed' })
  text.metric('floodwall_reload_ok', 'gauge', '0 while the files say something that is not in effect.')
  text.sample(reloads.ok ? 1 : 0)
  text.metric('floodwall_admin_wrong_tokens_total', 'counter', 'Requests to this page with a wrong token.')
  text.sample(admin.token.failures)
}

function tunnels(text: Exposition, { upgrades }: Gateway): void {
  const { toServers, toClients } = upgrades.bytes
  text.metric('floodwall_upgrades_open', 'gauge', 'Connections that are upgraded (WebSocket).').sample(upgrades.open)
  text.metric('floodwall_upgrades_total', 'counter', 'The same, ever.').sample(upgrades.opened)
  text.metric('floodwall_upgrade_bytes_total', 'counter', 'Bytes that have passed on them.')
  text.sample(toServers, { to: 'servers' }).sample(toClients, { to: 'clients' })
}

/** Upper bounds in milliseconds, from what a cache takes to the default deadline. */
const latencyBounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

function latency(text: Exposition, { site }: Gateway): void {
  text.metric(
    'floodwall_request_duration_seconds',
    'histogram',
    'From the head of the request to the end of the answer.',
  )
  for (const { id: route, telemetry } of site.routes) {
    const { count, mean = 0 } = telemetry.latency
    for (const bound of latencyBounds) {
      text.sample(telemetry.latency.countAtOrBelow(bound), { route, le: String(bound / 1000) }, '_bucket')
    }
    text.sample(count, { route, le: '+Inf' }, '_bucket')
    text.sample((mean * count) / 1000, { route }, '_sum')
    text.sample(count, { route }, '_count')
  }
}

function upstreams(text: Exposition, { site }: Gateway): void {
  // A server may stand in two clusters: the two have nothing in common but its address.
  const all = site.clusters.flatMap(({ name: cluster, upstreams: members }) =>
    members.map((upstream) => ({ upstream, labels: { cluster, endpoint: upstream.id } })),
  )
  const each = (value: (upstream: Upstream) => number): void => {
    for (const { upstream, labels } of all) text.sample(value(upstream), labels)
  }
  text.metric('floodwall_upstream_attempts_total', 'counter', 'Attempts sent to each upstream, retries included.')
  each(({ attempts }) => attempts)
  text.metric('floodwall_upstream_redone_total', 'counter', 'Sent once more: a kept connection was closed under them.')
  each(({ redone }) => redone)
  text.metric('floodwall_upstream_in_flight', 'gauge', 'Attempts that run.')
  each(({ active }) => active)
  text.metric('floodwall_upstream_connections', 'gauge', 'Open connections to each upstream.')
  each(({ connections }) => connections.open)
  text.metric('floodwall_upstream_waiting', 'gauge', 'Attempts in line for a connection.')
  each(({ connections }) => connections.waiting)
  text.metric('floodwall_upstream_errors_total', 'counter', 'Attempts without a complete answer, by cause.')
  for (const { upstream, labels } of all) {
    for (const [cause, count] of upstream.failures) if (count > 0) text.sample(count, { ...labels, cause })
  }
}

const breakerStates = ['closed', 'open', 'halfOpen', 'forcedOpen', 'disabled', 'metricsOnly']

function layers(text: Exposition, { site }: Gateway): void {
  const routes = site.routes.map(({ id, pipeline }) => ({ id, snapshot: pipeline.inspect() }))
  const clusters = site.clusters.map(({ pipeline }) => pipeline.inspect())
  const found = [...snapshotsIn([routes.map(({ snapshot }) => snapshot), clusters])]
  const ofKind = (kind: string) => found.filter((part) => part.kind === kind)
  text.metric('floodwall_calls_total', 'counter', 'Operations by verdict; refused: by a layer, nothing ran.')
  for (const { id, snapshot } of routes) {
    for (const [verdict, count] of Object.entries(snapshot['calls'] as object)) {
      text.sample(count as number, { route: id, verdict })
    }
  }
  text.metric('floodwall_refusals_total', 'counter', 'Operations that a layer refused, by layer and reason.')
  for (const { id, snapshot } of routes) {
    for (const { path, reason, count } of snapshot['refusals'] as { path: string; reason: string; count: number }[]) {
      text.sample(count, { route: id, layer: path, reason })
    }
  }
  text.metric('floodwall_retries_total', 'counter', 'Attempts after the first.')
  for (const { path, retries } of ofKind('retry')) text.sample(retries as number, { layer: path as string })
  text.metric('floodwall_retries_denied_total', 'counter', 'Retries that the budget did not allow.')
  for (const { path, overBudget } of ofKind('retry')) text.sample(overBudget as number, { layer: path as string })
  overload(text, ofKind('overload'))
  text.metric('floodwall_breaker_state', 'gauge', '1 for the state that each breaker is in, 0 for the others.')
  for (const { path, state } of ofKind('breaker')) {
    for (const each of breakerStates) text.sample(each === state ? 1 : 0, { layer: path as string, state: each })
  }
}

const classes = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const
type ByClass = Readonly<Record<(typeof classes)[number], number>>

/** What is refused counts as wanted: who only looks at what is done would take servers away from who sheds. */
function overload(text: Exposition, guards: readonly Snapshot[]): void {
  const gauge = (name: string, field: string, help: string): void => {
    text.metric(name, 'gauge', help)
    for (const { path, [field]: value } of guards) text.sample(Number(value), { layer: path as string })
  }
  for (const [name, field, help] of [
    ['floodwall_overload_admitted_total', 'admitted', 'Calls that were let in, by class.'],
    ['floodwall_overload_refused_total', 'refused', 'Calls that were refused, by class.'],
  ] as const) {
    text.metric(name, 'counter', help)
    for (const { path, [field]: counts } of guards) {
      for (const each of classes) text.sample((counts as ByClass)[each], { layer: path as string, class: each })
    }
  }
  text.metric('floodwall_overload_inversions_total', 'counter', 'A class let in while a higher one was refused.')
  for (const { path, inversions } of guards) text.sample(inversions as number, { layer: path as string })
  gauge('floodwall_overload_level', 'level', 'Calls below it on the line of priorities are let in; 512: all.')
  gauge('floodwall_overload_limit', 'limit', 'Calls that may run at once.')
  gauge('floodwall_overload_in_flight', 'inFlight', 'Calls that run.')
  gauge('floodwall_overload_waiting', 'waiting', 'Calls that wait.')
  gauge(
    'floodwall_overload_offered_per_second',
    'offeredPerS',
    'Calls that come, let in or not, in the last half minute.',
  )
  gauge(
    'floodwall_overload_wanted',
    'wanted',
    'Calls at once that it would take to do all of that; above the limit: more servers.',
  )
}

/** Every snapshot in a snapshot. */
function* snapshotsIn(value: unknown): Generator<Snapshot> {
  if (typeof value !== 'object' || value === null) return
  if ('kind' in value) yield value as Snapshot
  for (const inner of Object.values(value)) yield* snapshotsIn(inner)
}

function machine(text: Exposition, { uptimeMs }: Gateway): void {
  const { user, system } = process.cpuUsage()
  text.metric('process_cpu_seconds_total', 'counter', 'CPU time, user and system.').sample((user + system) / 1e6)
  text.metric('process_resident_memory_bytes', 'gauge', 'Resident memory.').sample(process.memoryUsage.rss())
  text
    .metric('process_start_time_seconds', 'gauge', 'When it started, as Unix time.')
    .sample(Math.round(Date.now() - uptimeMs) / 1000)
}
