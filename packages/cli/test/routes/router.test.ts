import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Match } from '../../src/gateway/config/route-options.ts'
import { Target } from '../../src/gateway/heads/target.ts'
import { HostPattern } from '../../src/gateway/routes/host-pattern.ts'
import { PathPattern } from '../../src/gateway/routes/path-pattern.ts'
import type { Route } from '../../src/gateway/routes/route.ts'
import { type Asked, Router } from '../../src/gateway/routes/router.ts'

interface Told {
  readonly host?: readonly string[]
  readonly path?: string
  readonly methods?: readonly string[]
  readonly headers?: Match['headers']
}

/** A route as far as a router looks at it. */
function route(id: string, { host = [], path, methods, headers = [] }: Told = {}): Route {
  const match: Match = {
    hosts: host.map((text) => HostPattern.of(text) as HostPattern),
    path: path === undefined ? undefined : PathPattern.of(path),
    methods: methods === undefined ? undefined : new Set(methods),
    headers,
  }
  return { id, config: { match } } as unknown as Route
}

function asked(pathname: string, more: Partial<Asked> = {}): Asked {
  return { method: 'GET', host: 'a.test', lines: [], pathname, ...more }
}

describe('which route', () => {
  const router = new Router([
    route('tiered', { path: '/api/**', headers: [['x-tier', 'gold']] }),
    route('debugged', { headers: [['x-debug', undefined]] }),
    route('read', { path: '/api/**', methods: ['GET', 'HEAD'] }),
    route('write', { path: '/api/{thing}', methods: ['POST'] }),
    route('other', { host: ['b.test', '*.b.test'] }),
  ])

  test.each<[string, Asked, string | undefined]>([
    ['the first that fits', asked('/api/x', { lines: ['X-Tier', 'gold'] }), 'tiered'],
    ['not with another value', asked('/api/x', { lines: ['X-Tier', 'Gold'] }), 'read'],
    ['any value', asked('/', { lines: ['a', 'b', 'X-DEBUG', ''] }), 'debugged'],
    ['a value is no name', asked('/', { lines: ['a', 'x-debug'] }), undefined],
    ['by method', asked('/api/x', { method: 'POST' }), 'write'],
    ['by path', asked('/api/x/y', { method: 'POST' }), undefined],
    ['by host', asked('/', { host: 'c.b.test' }), 'other'],
    ['by no host', asked('/', { host: '' }), undefined],
    ['no route', asked('/', { host: 'evil.test' }), undefined],
  ])('%s', (_name, request, id) => {
    expect(router.route(request)?.id).toBe(id)
  })

  test('which methods there would be', () => {
    expect(router.methods(asked('/api/x', { method: 'DELETE' }))).toEqual(['GET', 'HEAD', 'POST'])
    expect(router.methods(asked('/api/x/y', { method: 'DELETE' }))).toEqual(['GET', 'HEAD'])
    expect(router.methods(asked('/nowhere', { method: 'DELETE' }))).toEqual([])
  })
})

const routes = [
  route('admin', { path: '/admin/**' }),
  route('secret', { path: '/public/secret' }),
  route('exact', { path: '/a/{x}' }),
  route('public', { path: '/public/**' }),
  route('rest'),
]
const router = new Router(routes)

/** Where a request for `path` goes; `400` when readers would not agree. */
function wayOf(path: string): string {
  const target = Target.of(path)
  const found = target === undefined ? undefined : router.route(asked(target.pathname))
  const readings = target?.readings()
  if (found === undefined || readings === undefined) return '400'
  return router.agree(asked(path), readings, found) ? found.id : '400'
}

describe('C31: a path that two readers would route differently is refused', () => {
  test.each([
    ['/admin', 'admin'],
    ['/%61dmin', 'admin'],
    ['/public/../admin', 'admin'],
    ['/public/%2e%2e/admin', 'admin'],
    ['/admin//x', 'admin'],
    ['/admin/x;y', 'admin'],
    ['/public//x', 'public'],
    ['/public/a%2fb', 'public'],
    ['/public/x;v=1', 'public'],
    ['/x//y', 'rest'],
    ['/%5B...slug%5D', 'rest'],
    ['//admin', '400'],
    ['/admin;x', '400'],
    ['/admin%2fx', '400'],
    ['/admin%3fx', '400'],
    ['/admin%23x', '400'],
    ['/\\admin', '400'],
    ['/%5cadmin', '400'],
    ['/public/..;/admin', '400'],
    ['/public/..%2fadmin', '400'],
    ['/public/..%5cadmin', '400'],
    ['/public/%252e%252e/admin', '400'],
    ['/x;/../admin', 'admin'],
    ['/public%2fsecret', '400'],
    ['/public//secret', '400'],
    ['/public/secret;x', '400'],
    ['/public/%2573ecret', '400'],
    ['/a/b%2fc', '400'],
    // Who undoes everything ends where it began; who undoes one thing does not.
    ['/public/..%2fadmin/..;/public/x', '400'],
    ['//admin/..;/..;/x', '400'],
  ])('%s: %s', (path, way) => {
    expect(wayOf(path)).toBe(way)
  })

  /** What some reader does with a path before it looks. */
  const undo: Readonly<Record<string, (path: string) => string>> = {
    decode: (path) =>
      path.replace(/%([0-9a-f]{2})/gi, (all, digits: string) =>
        Number.parseInt(digits, 16) < 128 ? String.fromCharCode(Number.parseInt(digits, 16)) : all,
      ),
    merge: (path) => path.split(/\/+/).join('/'),
    turn: (path) => path.split('\\').join('/'),
    strip: (path) =>
      path
        .split('/')
        .map((segment) => segment.split(';', 1)[0])
        .join('/'),
    cut: (path) => path.split('?', 1)[0]?.split('#', 1)[0] as string,
  }
  /** Resolves dots, and nothing else. */
  function resolved(path: string): string {
    const kept: string[] = []
    for (const segment of path.split('/').slice(1)) {
      if (segment === '..') kept.pop()
      else if (segment !== '.') kept.push(segment)
    }
    return `/${kept.join('/')}`
  }
  const readers = fc.array(fc.constantFrom('decode', 'merge', 'turn', 'strip', 'cut', 'dots'), { maxLength: 6 })
  const pieces = [
    'admin',
    'public',
    'secret',
    'a',
    '/',
    '/',
    '//',
    '..',
    '.',
    ';',
    '\\',
    '%2f',
    '%5c',
    '%2e',
    '%3b',
    '%3f',
  ]
  const paths = fc
    .array(fc.constantFrom(...pieces, '%252f', '%252e', '%61dmin', '%2561dmin', '%253f'), { maxLength: 9 })
    .map((parts) => `/${parts.join('')}`)

  test('whatever a server undoes, and in which order, it sees what the route was chosen for', () => {
    let passed = 0
    let twisted = 0
    fc.assert(
      fc.property(paths, readers, (path, steps) => {
        const way = wayOf(path)
        if (way === '400') return
        passed++
        let seen = (Target.of(path) as Target).pathname
        for (const step of steps) seen = step === 'dots' ? resolved(seen) : (undo[step]?.(seen) as string)
        if (seen !== path) twisted++
        expect(router.route(asked(seen))?.id, `${path} seen as ${seen} by ${steps.join(', ')}`).toBe(way)
      }),
      { seed: 31, numRuns: 20_000 },
    )
    expect(passed).toBeGreaterThan(2000)
    expect(twisted).toBeGreaterThan(500)
  })
})
