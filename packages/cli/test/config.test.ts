import { describe, expect, test } from 'vitest'
import { type Config, configOf, gatewayOptions } from '../src/gateway/config/config.ts'
import { ConfigDocument, Misconfigured } from '../src/gateway/config/document.ts'
import { run } from './support/child.ts'
import { configFile } from './support/gateway.ts'

const good = 'upstreams: [http://127.0.0.1:3000]\n'

/** The faults of a file, as printed, with FILE for its name. */
function faultsOf(text: string | Buffer): string[] {
  const file = configFile(text)
  try {
    configOf({ config: file })
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error
    return error.message.split('\n').map((line) => line.replaceAll(file, 'FILE'))
  }
  return []
}

function targetsOf({ clusters }: Config): string[] {
  return clusters.flatMap(({ targets }) => targets.map(({ id }) => id))
}

describe('a file', () => {
  test('has defaults for everything but the upstreams', () => {
    const config = configOf({ config: configFile(good) })
    expect(config).toMatchObject({
      listen: { host: '127.0.0.1', port: 8080 },
      admin: { place: { host: '127.0.0.1', port: 9090 }, token: undefined },
      tls: undefined,
      clusters: [
        { name: 'default', targets: [{ origin: 'http://127.0.0.1:3000', id: '127.0.0.1:3000' }], balance: {} },
      ],
      routes: [{ id: 'default', cluster: 'default' }],
      drainMs: 10_000,
      drainDelayMs: 1000,
    })
    expect(config.routes[0]?.layers.map(({ kind }) => kind)).toEqual(['deadline', 'retry'])
    expect(config.clusters[0]?.each.map(({ kind }) => kind)).toEqual(['breaker'])
    expect(config.limits).toMatchObject({ headerBytes: 16_384, headerCount: 100, idleMs: 60_000, stallMs: 30_000 })
  })

  test('may say it all, in YAML or JSON, with nested layers', () => {
    const text = `
listen: "[::1]:0"
admin: localhost:0
upstreams:
  - http://[::1]:3000
  - http://x.test
layers:
  - { kind: keyed, of: { kind: rateLimit, rate: 10 } }
  - kind: shadow
    of: { kind: bulkhead, slots: 4 }
endpoint: []
balance: { picker: roundRobin }
limits: { idle: 5s, connections: 8 }
drain: 1.5s
`
    const config = configOf({ config: configFile(text) })
    expect(targetsOf(config)).toEqual(['[::1]:3000', 'x.test:80'])
    expect(config.routes[0]?.layers.map(({ kind }) => kind)).toEqual(['keyed', 'shadow'])
    expect(config).toMatchObject({ clusters: [{ each: [] }], drainMs: 1500, limits: { idleMs: 5000, connections: 8 } })
    const json = JSON.stringify({ upstreams: ['http://x.test'] })
    expect(targetsOf(configOf({ config: configFile(json) }))).toHaveLength(1)
    // A byte order mark is no fault.
    expect(targetsOf(configOf({ config: configFile(`\uFEFF${good}`) }))).toHaveLength(1)
  })

  test('is overridden by the command line', () => {
    const flags = { listen: '127.0.0.1:1', upstream: ['http://b.test', 'http://c.test'], drain: '3s' }
    const config = configOf({ config: configFile(`${good}listen: 127.0.0.1:2\n`), ...flags })
    expect(config).toMatchObject({ listen: { port: 1 }, drainMs: 3000 })
    expect(targetsOf(config)).toEqual(['b.test:80', 'c.test:80'])
  })
})

// C35: numbers that are not numbers, keys that are not keys.
describe('C35: faults', () => {
  const address = 'HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080 (port 0: any free one)'
  const known = Object.keys(gatewayOptions.entries).join(', ')
  const span = 'a span such as 250 (ms), "250ms" or "1.5s", above 0 and at most a day'

  test.each<[string, string, string[]]>([
    ['an unknown key', `${good}listne: x\n`, [`FILE:2:1 listne: expected no such field; known: ${known}, got "x"`]],
    [
      'an address without port',
      `${good}listen: localhost\n`,
      [`FILE:2:9 listen: expected ${address}, got "localhost"`],
    ],
    ['a port too high', `${good}listen: "x:70000"\n`, [`FILE:2:9 listen: expected ${address}, got "x:70000"`]],
    ['a number for an address', `${good}listen: 8080\n`, [`FILE:2:9 listen: expected ${address}, got 8080`]],
    [
      'an admin page for everybody',
      `${good}admin: 0.0.0.0:9090\n`,
      [
        'FILE:2:8 admin: expected a loopback address or a Unix socket, since there is no "adminToken", got "0.0.0.0:9090"',
      ],
    ],
    ['no upstream', 'upstreams: []\n', ['FILE:1:12 upstreams: expected at least one server, got []']],
    [
      'an upstream that is no address',
      'upstreams: [x]\n',
      ['FILE:1:13 upstreams[0]: expected an address such as http://127.0.0.1:3000, got "x"'],
    ],
    ['ftp', 'upstreams: ["ftp://x"]\n', ['FILE:1:13 upstreams[0]: expected an http or https address, got "ftp://x"']],
    [
      'a query',
      'upstreams: ["http://x/api?x"]\n',
      ['FILE:1:13 upstreams[0]: expected an address without query and fragment, got "http://x/api?x"'],
    ],
    [
      'the same twice',
      'upstreams: ["http://x", "http://x:80/"]\n',
      ['FILE:1:25 upstreams[1]: expected another server than those before, got x:80'],
    ],
    [
      'credentials, which are not printed',
      'upstreams: ["http://user:secret@x:80/"]\n',
      ['FILE:1:13 upstreams[0]: expected an address without user and password, got "http://***@x:80/"'],
    ],
    [
      'a layer of no kind',
      `${good}layers:\n  - { kind: braeker }\n`,
      [expect.stringMatching(/^FILE:3:13 layers\[0\]\.kind: expected one of rateLimit, .*, got "braeker"$/) as string],
    ],
    [
      'a misspelt option',
      `${good}endpoint:\n  - kind: timeout\n    afetr: 2s\n    after: 1s\n`,
      ['FILE:4:5 endpoint[0].afetr: expected no such field; known: after, got "2s"'],
    ],
    [
      'a text for a number',
      `${good}layers:\n  - { kind: retry, attempts: "3" }\n`,
      ['FILE:3:30 layers[0].attempts: expected a whole number from 1, got "3"'],
    ],
    [
      'NaN',
      `${good}layers:\n  - { kind: retry, attempts: .nan }\n`,
      ['FILE:3:30 layers[0].attempts: expected a whole number from 1, got NaN'],
    ],
    [
      'a fault deep inside',
      `${good}layers:\n  - kind: keyed\n    of: { kind: bulkhead, slots: -1 }\n`,
      [expect.stringMatching(/^FILE:4:34 layers\[0\]\.of\.slots: expected .*, got -1$/) as string],
    ],
    ['a limit of 0', `${good}limits:\n  idle: 0\n`, [`FILE:3:9 limits.idle: expected ${span}, got 0`]],
    [
      'a limit beyond all',
      `${good}limits: { connections: 1000000 }\n`,
      ['FILE:2:24 limits.connections: expected a whole number from 1 to 65535, got 1000000'],
    ],
    [
      'the gateway’s own part of balance',
      `${good}balance: { each: [] }\n`,
      ['FILE:2:12 balance.each: expected no such field, got a setting'],
    ],
    [
      'an unknown picker',
      `${good}balance: { picker: best }\n`,
      [expect.stringMatching(/^FILE:2:20 balance\.picker: expected one of .*, got "best"$/) as string],
    ],
    [
      'a list for the whole',
      '- 1\n',
      ['FILE:1:1 (document): expected settings, such as "upstreams: [http://127.0.0.1:3000]", got a list'],
    ],
    [
      'nothing',
      '',
      ['FILE:1:1 (document): expected settings, such as "upstreams: [http://127.0.0.1:3000]", got nothing'],
    ],
    ['a key twice', `${good}drain: 1s\ndrain: 2s\n`, ['FILE:3:1 Map keys must be unique']],
    ['broken YAML', 'upstreams: [http://x\n', [expect.stringMatching(/^FILE:\d+:\d+ .+/) as string]],
    ['two documents', `${good}---\n${good}`, [expect.stringMatching(/^FILE:\d+:\d+ .*multiple documents/) as string]],
    ['an unknown tag', `${good}drain: !js 1s\n`, [expect.stringMatching(/^FILE:2:8 .*tag/) as string]],
    ['__proto__', `${good}__proto__: { admin: true }\n`, ['FILE:2:1 expected the name of a setting as key']],
    [
      'constructor, deep inside',
      `${good}limits: { constructor: { prototype: { admin: true } } }\n`,
      ['FILE:2:11 expected the name of a setting as key'],
    ],
    ['a list as key', `${good}[a, b]: 1\n`, ['FILE:2:1 expected the name of a setting as key']],
    [
      'depth',
      `${good}layers: ${'['.repeat(50)}${']'.repeat(50)}\n`,
      ['FILE:2:41 expected at most 32 levels of nesting'],
    ],
    ['depth without end', `layers: ${'['.repeat(100_000)}`, [expect.stringMatching(/^FILE:\d+:\d+ /) as string]],
    ['depth without end, in blocks', `${'- '.repeat(100_000)}x`, [expect.stringMatching(/^FILE:\d+:\d+ /) as string]],
    [
      'a million laughs',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
        .split('')
        .map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
        .join('\n')}\n`,
      ['FILE:1:1 Excessive alias count indicates a resource exhaustion attack'],
    ],
    ['more than a mebibyte', `# ${'x'.repeat(1_048_576)}\n${good}`, ['FILE: expected at most 1 MiB']],
    ['no text', Buffer.from([0xff, 0xfe, 0x00]) as never, ['FILE: expected text in UTF-8']],
  ])('%s', (_name, text, expected) => {
    const before = process.cpuUsage()
    const faults = faultsOf(text)
    expect(faults[0]).toEqual(expected[0])
    expect(faults.join('\n')).not.toContain('secret')
    // Of this process: what else the machine has to do does not count.
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })

  test('every fault is listed, each in its place', () => {
    expect(
      faultsOf(`listen: x
upstreams:
  - http://x.test
  - ftp://y.test
layers:
  - { kind: retry, attempts: 0 }
  - { kind: timeout }
limits:
  headerCount: 1.5
`),
    ).toEqual([
      `FILE:1:9 listen: expected ${address}, got "x"`,
      'FILE:4:5 upstreams[1]: expected an http or https address, got "ftp://y.test"',
      'FILE:9:16 limits.headerCount: expected a whole number from 1 to 10000, got 1.5',
      expect.stringMatching(/^FILE:6:30 layers\[0\]\.attempts: expected a whole number from 1/),
      'FILE:7:5 layers[1].after: expected this field (it is required), got undefined',
    ])
  })

  test('on the command line there is no file to point at', () => {
    const faults = (flags: object): string => {
      try {
        configOf(flags)
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(faults({ upstream: ['x'] })).toBe('--upstream: expected an address such as http://127.0.0.1:3000, got "x"')
    expect(faults({ upstream: ['http://x'], drain: 'soon' })).toBe(`--drain: expected ${span}, got "soon"`)
    expect(faults({})).toBe('--upstream: expected at least one upstream, here or as --upstream, got []')
    expect(faults({ upstream: ['http://x'], listen: '127.0.0.1:9090' })).toBe(
      'admin: expected another address than listen, got "127.0.0.1:9090"',
    )
  })

  test('a document knows where its values are', () => {
    const document = ConfigDocument.parse('f', 'a:\n  - b: 1\n    c: {}\n')
    const at = (path: string) => document.faults([{ path, expected: 'x', value: 'y' }])[0]?.place
    expect([at('a'), at('a[0].b'), at('a[0].c.d'), at('a[7]'), at('')]).toEqual([
      'f:2:3',
      'f:2:8',
      'f:3:8',
      'f:2:3',
      'f:1:1',
    ])
  })
})

describe('the command', () => {
  test('does not start with a bad file: every fault in a line, exit code 2', async () => {
    const file = configFile('listen: x\nupstreams: [ftp://x]\n')
    const { code, stdout, stderr } = await run('gateway', '--config', file)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining(`${file}:1:9 listen: expected HOST:PORT`),
      expect.stringContaining(`${file}:2:13 upstreams[0]: expected an http or https address`),
    ])
  })

  test('says which file it cannot read', async () => {
    const { code, stderr } = await run('gateway', '--config', '/nowhere/gateway.yaml')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: '/nowhere/gateway.yaml: cannot be read: there is no such file\n',
    })
  })
})
