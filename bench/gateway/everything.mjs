// The gateway with everything on that an operator can turn on without TLS: routes by host, path, method and header, of
// which the one that is asked for comes last but one; a rewrite and a header with a name of the path, header edits both
// ways; callers who are trusted, so that what they say of the way is read and continued; a limit for each thing that has
// one; nine layers; request ids, `Forwarded`, and an access log in JSON.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const around = [
  { kind: 'deadline', within: '10s' },
  { kind: 'retry', attempts: 3 },
  { kind: 'rateLimit', rate: 1_000_000 },
  { kind: 'keyed', of: { kind: 'rateLimit', rate: 1_000_000 } },
  { kind: 'bulkhead', slots: 20_000 },
]
const each = [{ kind: 'breaker' }, { kind: 'rateLimit', rate: 1_000_000 }, { kind: 'bulkhead', slots: 512 }]
const perTry = { kind: 'timeout', after: '2s' }

const routes = [
  { id: 'operators', host: 'operators.example.com', cluster: 'files', layers: [] },
  { id: 'tenants', host: ['*.example.com', '*.example.net'], path: '/t/{tenant}/**', rewrite: '/{tenant}' },
  {
    id: 'uploads',
    path: '/uploads/{name}',
    methods: ['POST', 'PUT'],
    limits: { request: '10m' },
    replay: '1MiB',
    idempotent: 'keys',
    upgrade: false,
  },
  { id: 'files', path: '/files/**', class: 'static', cluster: 'files' },
  { id: 'style', path: '/assets/*.css', class: 'static', cluster: 'files' },
  { id: 'tomorrow', path: '/stock/{sku}', headers: { 'x-release': 'next' } },
  {
    id: 'stock',
    path: '/stock/{sku}',
    methods: ['GET', 'HEAD'],
    rewrite: '/v2/items/{sku}',
    request: { set: { 'x-shop': 'north', 'x-item': '{sku}' }, remove: ['x-debug'] },
    response: { set: { 'cache-control': 'no-store', 'x-frame-options': 'DENY' }, remove: ['server', 'x-powered-by'] },
    limits: { body: '64KiB', request: '30s', idle: '20s' },
  },
  { id: 'rest' },
]

/** Writes the settings into `folder`, where the access log will be, too. Answers with their file. */
export function everything({ port, spare, upstream, folder }) {
  const file = join(folder, 'gateway.json')
  const cluster = { endpoints: [upstream], endpoint: [...each, perTry] }
  const settings = {
    listen: `127.0.0.1:${port}`,
    admin: `127.0.0.1:${spare}`,
    clusters: { default: cluster, files: cluster },
    layers: around,
    routes,
    trust: ['127.0.0.0/8', '10.0.0.0/8', '192.0.2.44', 'fd00::/8'],
    forwarded: true,
    limits: {
      body: '1GiB',
      headerBytes: 32_768,
      headerCount: 64,
      clients: 20_000,
      head: '10s',
      request: '10m',
      idle: '30s',
      stall: '20s',
      keepAlive: '120s',
      connect: '1s',
      connections: 128,
      static: 64,
      replay: '8MiB',
      upgrades: 1000,
      upgradeIdle: '2m',
    },
    accessLog: { to: join(folder, 'access.log'), format: 'json', query: true },
  }
  writeFileSync(file, JSON.stringify(settings))
  return file
}
