import type { IncomingMessage, RequestListener } from 'node:http'
import {
  balance,
  Cluster,
  type ClusterOptions,
  deadline,
  envOf,
  type Layer,
  retry,
  systemRuntime,
  timeout,
} from 'floodwall'
import { onTestFinished } from 'vitest'
import { type Client, type ClientOptions, client } from '../../../src/client/index.ts'
import { http, type Running } from './servers.ts'

export interface Shop {
  readonly cluster: Cluster
  readonly shop: Client
  readonly servers: readonly Running[]
  /** Calls inside each endpoint: slots that are taken. */
  inFlight(): number[]
}

/** Generous, since real time is about: a retry at once, and a second for everything. */
const layers = (cluster: Cluster): Layer[] => [
  deadline({ within: '20s' }),
  retry({ backoff: { first: 1 }, budget: { minimum: 100 } }),
  balance({ cluster }),
  timeout({ after: '10s' }),
]

/** A client of servers with these handlers, tried one after the other. */
export async function open(
  handlers: readonly RequestListener[],
  options: ClientOptions = {},
  clusterOptions: ClusterOptions = {},
): Promise<Shop> {
  const servers = await Promise.all(handlers.map(http))
  const cluster = new Cluster({ picker: 'roundRobin', slowStart: 0, ...clusterOptions }, envOf(systemRuntime, 'shop'))
  cluster.update(servers.map(({ id }) => ({ id })))
  const shop = client('shop', cluster, layers(cluster), { drain: 1, ...options })
  onTestFinished(() => shop.close())
  return { cluster, shop, servers, inFlight: () => cluster.members.map((m) => m.inFlight) }
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
