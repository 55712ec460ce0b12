import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { configOf } from '../src/gateway/config/config.ts'
import { Misconfigured } from '../src/gateway/config/document.ts'
import { Reading } from '../src/gateway/config/reading.ts'
import { certificate } from './support/certificates.ts'
import { run } from './support/child.ts'
import { configFile } from './support/gateway.ts'

const site = certificate('site')
const other = certificate('other')
const upstreams = 'upstreams: [http://127.0.0.1:1]\n'

/** A folder with a file of settings, and files that they may name. */
function folder(text: string): string {
  const file = configFile(text)
  const put = (name: string, content: string): void => writeFileSync(`${dirname(file)}/${name}`, content)
  put('site.pem', site.cert)
  put('site.key', site.key)
  put('other.key', other.key)
  put('words.txt', 'these are no certificates\n')
  return file
}

function faultsOf(text: string): string[] {
  const file = folder(text)
  try {
    configOf({ config: file })
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error
    return error.message.split('\n').map((line) => line.replaceAll(file, 'FILE'))
  }
  return []
}

describe('faults of certificates are faults of the settings: line, column, and what was expected', () => {
  test.each<[string, string, string[]]>([
    ['none', 'tls: { cert: site.pem, key: site.key }', []],
    [
      'no such file',
      'tls: { cert: gone.pem, key: site.key }',
      [
        'FILE:2:14 tls.cert: expected a file that can be read (it cannot be read: there is no such file), got "gone.pem"',
      ],
    ],
    [
      'a folder',
      'tls: { cert: ., key: site.key }',
      ['FILE:2:14 tls.cert: expected a file that can be read (it cannot be read: it is a directory), got "."'],
    ],
    [
      'no certificate',
      'tls: { cert: words.txt, key: site.key }',
      ['FILE:2:14 tls.cert: expected certificates in PEM, got "words.txt"'],
    ],
    [
      'no key',
      'tls: { cert: site.pem, key: words.txt }',
      ['FILE:2:29 tls.key: expected a private key in PEM, without a passphrase, got "words.txt"'],
    ],
    [
      'the key of another',
      'tls: { cert: site.pem, key: other.key }',
      ['FILE:2:29 tls.key: expected the key of the certificate in site.pem, got "other.key"'],
    ],
    [
      'a fault in one of several',
      'tls: { cert: site.pem, key: site.key, sni: [{ host: a.test, cert: site.pem, key: other.key }] }',
      ['FILE:2:82 tls.sni[0].key: expected the key of the certificate in site.pem, got "other.key"'],
    ],
    [
      'clients must show one, of anybody',
      'tls: { cert: site.pem, key: site.key, clientCert: require }',
      ['FILE:2:6 tls.ca: expected who signs the certificates of clients, got nothing'],
    ],
    [
      'somebody signs what nobody asks for',
      'tls: { cert: site.pem, key: site.key, ca: site.pem }',
      ['FILE:2:6 tls.clientCert: expected "request" or "require", since there is a "ca", got none'],
    ],
    [
      'an old version',
      'tls: { cert: site.pem, key: site.key, minVersion: TLSv1 }',
      ['FILE:2:51 tls.minVersion: expected one of "TLSv1.2", "TLSv1.3", got "TLSv1"'],
    ],
    [
      'a server without TLS',
      'clusters: { a: { endpoints: ["http://a.test"], tls: {} } }\nroutes: [{ cluster: a }]',
      ['FILE:2:53 clusters.a.tls: expected a server with "https", or no "tls", got settings'],
    ],
    [
      'a certificate without its key',
      'clusters: { a: { endpoints: ["https://a.test"], tls: { cert: site.pem } } }\nroutes: [{ cluster: a }]',
      ['FILE:2:54 clusters.a.tls.key: expected the key of "cert", got nothing'],
    ],
    [
      'trust in some, and in all',
      'upstreamTls: { ca: site.pem, insecure: true }',
      ['FILE:2:40 upstreamTls.insecure: expected this or "ca", not both, got true'],
    ],
    [
      'the address of another',
      'listen: 127.0.0.1:1\ntls: { listen: 127.0.0.1:1, cert: site.pem, key: site.key }',
      ['FILE:3:16 tls.listen: expected another address than listen, got "127.0.0.1:1"'],
    ],
  ])('%s', (_name, text, expected) => {
    expect(faultsOf(`${upstreams}${text}\n`)).toEqual(expected)
  })

  test('nothing of a key is ever shown', () => {
    const file = folder(`${upstreams}tls: { cert: site.key, key: site.pem }\n`)
    expect(() => configOf({ config: file })).toThrow(/tls.cert/)
    try {
      configOf({ config: file })
    } catch (error) {
      expect(String(error)).not.toContain(site.key.split('\n')[1])
    }
  })
})

test('the files that settings are made of are known, those that are missing too', () => {
  const reading = new Reading()
  const file = folder(`${upstreams}tls: { cert: site.pem, key: gone.key }\n`)
  expect(() => configOf({ config: file }, reading)).toThrow(Misconfigured)
  expect([...reading.digests].map(([path, digest]) => [path.replace(dirname(file), ''), digest.length])).toEqual([
    ['/gateway.yaml', 44],
    ['/site.pem', 44],
    ['/gone.key', 0],
  ])
})

describe('what is no fault and should be known', () => {
  test('a certificate that is over, one that is not yet, and one for somebody else', () => {
    const file = folder('')
    const put = (name: string, from: Date, to: Date): void => {
      const { cert, key } = certificate(name, { names: ['a.test'], from, to })
      writeFileSync(`${dirname(file)}/${name}.pem`, cert)
      writeFileSync(`${dirname(file)}/${name}.key`, key)
    }
    put('past', new Date('2020-01-01'), new Date('2021-01-01'))
    put('future', new Date('2100-01-01'), new Date('2101-01-01'))
    const sni = '[{ host: [a.test, "*.b.test"], cert: future.pem, key: future.key }]'
    writeFileSync(file, `${upstreams}tls: { cert: past.pem, key: past.key, sni: ${sni} }\n`)
    expect(configOf({ config: file }).concerns).toEqual([
      'tls.cert: the certificate has expired (Jan  1 00:00:00 2021 GMT)',
      'tls.sni[0].cert: the certificate is not for *.b.test',
      'tls.sni[0].cert: the certificate is not valid yet (Jan  1 00:00:00 2100 GMT)',
    ])
  })
})

describe('--check', () => {
  test('looks at everything and starts nothing', async () => {
    const tls = 'tls: { cert: site.pem, key: site.key }\nlimits: { clients: 100 }\n'
    const file = folder(`listen: 127.0.0.1:1\n${upstreams}${tls}`)
    expect(await run('gateway', '--config', file, '--check')).toEqual({
      code: 0,
      stdout: `The settings are fine: routes 1, clusters 1.
route "default": 100ms to the first byte of an answer: the default, "timeout" of the route or of the top level says another
`,
      stderr: '',
    })
  })

  test('prints the faults, one a line, and says so with its exit code', async () => {
    const file = folder(`${upstreams}tls: { cert: site.pem, key: other.key }\ndrain: soon\n`)
    const { code, stdout, stderr } = await run('gateway', '--config', file, '--check')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(/:3:8 drain: expected a span/)
  })
})
