import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HostPattern, hostOf } from '../../src/gateway/routes/host-pattern.ts'
import { PathPattern } from '../../src/gateway/routes/path-pattern.ts'
import { Rewrite } from '../../src/gateway/routes/rewrite.ts'

const seeded = { seed: 4, numRuns: 3000 }

function pattern(text: string): PathPattern {
  const made = PathPattern.of(text)
  if (made === undefined) throw new Error(`${text} is no pattern`)
  return made
}

describe('patterns of paths', () => {
  test.each([
    ['/health', ['/health'], ['/', '/health/', '/healthy', '/HEALTH', '/a/health', '/health/x']],
    ['/', ['/'], ['/a', '//']],
    ['/a/', ['/a/'], ['/a', '/a//', '/a/b']],
    ['/items/{id}', ['/items/7', '/items/a%2Fb'], ['/items/', '/items', '/items/7/', '/items/7/x']],
    ['/{a}/x/{b}', ['/1/x/2'], ['//x/2', '/1/y/2', '/1/x/']],
    [
      '/files/*.css',
      ['/files/a.css', '/files/.css'],
      ['/files/a.js', '/files/a.css/b', '/files/css', '/files/x/a.css'],
    ],
    ['/v*', ['/v', '/v2', '/v2beta'], ['/w', '/v2/x', '/']],
    ['/a*a', ['/aa', '/aba', '/aaaa'], ['/a', '/ab']],
    ['/shop/**', ['/shop', '/shop/', '/shop/a', '/shop/a/b/', '/shop//x'], ['/shopping', '/', '/sho', '/x/shop']],
    ['/**', ['/', '/a', '/a/b', '//x'], []],
    ['/u/{id}/**', ['/u/7', '/u/7/', '/u/7/x/y'], ['/u', '/u/', '/u//x']],
    ['/%7euser/caf%c3%a9', ['/~user/caf%C3%A9'], ['/%7Euser/caf%C3%A9', '/~user/cafe']],
  ])('%s', (text, fitting, others) => {
    const made = pattern(text)
    expect(fitting.filter((path) => !made.matches(path))).toEqual([])
    expect(others.filter((path) => made.matches(path))).toEqual([])
  })

  test.each([
    ...[
      '',
      'a',
      'a/b',
      '/a b',
      '/é',
      '/a/**/b',
      '/**/',
      '/a**',
      '/*/*x*',
      '/{id}/{id}',
      '/{1}',
      '/{}',
      '/{id}x',
      '/x{id}',
    ],
    ...['/a//b', '//a', '/a;b', '/a\\b', '/a%2Fb', '/a%3ab', '/a%00', '/%zz', '/./a', '/a/..', '/..', '/a?b', '/a#b'],
    `/${'a/'.repeat(40)}`,
  ])('%j is none', (text) => {
    expect(PathPattern.of(text)).toBeUndefined()
  })

  test('names stand for what was there', () => {
    expect([...pattern('/u/{id}/x/**').valuesIn('/u/7%2F8/x/y/z')]).toEqual([
      ['id', '7%2F8'],
      ['rest', 'y/z'],
    ])
    expect([...pattern('/s/**').valuesIn('/s')]).toEqual([['rest', '']])
    expect([...pattern('/s/**').valuesIn('/s/')]).toEqual([['rest', '']])
    expect(pattern('/u/{id}/x/**').names).toEqual(['id', 'rest'])
  })

  const segment = fc.constantFrom('a', 'ab', 'b', '{x}', '{y}', '*', 'a*', '*b', 'a*b', '')
  const patterns = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([parts, open]) => `/${[...parts, ...(open ? ['**'] : [])].join('/')}`)
  const paths = fc
    .array(fc.constantFrom('', 'a', 'b', 'ab', 'aab', 'abb', 'x', '%2F'), { maxLength: 6 })
    .map((parts) => `/${parts.join('/')}`)

  /** What a pattern means, written down in another way. */
  function meaning(text: string): RegExp {
    const open = text.endsWith('/**')
    const source = (open ? text.slice(0, -3) : text).replaceAll('*', '[^/]*').replaceAll(/\{\w+\}/g, '[^/]+')
    return new RegExp(`^${source}${open ? '(?:/.*)?' : ''}$`)
  }

  test('mean what they say', () => {
    let matched = 0
    fc.assert(
      fc.property(patterns, paths, (text, path) => {
        const made = PathPattern.of(text)
        if (made === undefined) return
        expect(made.matches(path), `${text} on ${path}`).toBe(meaning(text).test(path))
        if (made.matches(path)) matched++
      }),
      seeded,
    )
    expect(matched).toBeGreaterThan(200)
  })

  test('the values, put back, are the path', () => {
    fc.assert(
      fc.property(patterns, paths, (text, path) => {
        const made = PathPattern.of(text)
        if (made?.matches(path) !== true || text.replace('/**', '').includes('*')) return
        let again = text.replace(/\/\*\*$/, path.includes('/') && text.endsWith('/**') ? '/{rest}' : '')
        for (const [name, value] of made.valuesIn(path)) again = again.replace(`{${name}}`, value)
        expect([again, again.replace(/\/$/, '')]).toContain(path)
      }),
      seeded,
    )
  })

  test('a path is looked at once, however the two are made', () => {
    const long = `/${'a'.repeat(65_536)}`
    const worst: readonly (readonly [text: string, path: string])[] = [
      ['/a*ab', long],
      ['/{x}/**', long],
      [`/${Array.from({ length: 31 }, (_, i) => `{n${i}}`).join('/')}/**`, `/${'a/'.repeat(32_768)}`],
      [`/${'a*a/'.repeat(31)}b`, `/${'aa/'.repeat(21_845)}`],
      [`/${'*/'.repeat(31)}b`, '/'.repeat(65_536)],
      ['/a*a/**', `${long}/b`],
    ]
    for (const [text, path] of worst) {
      const made = pattern(text)
      const steps = lookedAt(() => void made.matches(path))
      expect(steps, text).toBeGreaterThan(0)
      expect(steps, text).toBeLessThanOrEqual(3 * path.length + 3 * text.length)
    }
  })
})

/** How many characters the searches of `run` may have looked at. */
function lookedAt(run: () => void): number {
  const { indexOf, startsWith } = String.prototype
  let steps = 0
  String.prototype.indexOf = function (this: string, what: string, at = 0): number {
    const found = indexOf.call(this, what, at)
    steps += (found < 0 ? this.length : found) - at + 1
    return found
  }
  String.prototype.startsWith = function (this: string, what: string, at = 0): boolean {
    steps += what.length
    return startsWith.call(this, what, at)
  }
  try {
    run()
  } finally {
    Object.assign(String.prototype, { indexOf, startsWith })
  }
  return steps
}

describe('patterns of hosts', () => {
  const authorities = ['a.test', 'A.TEST', 'a.test.', 'a.test:80', 'A.test.:8080', 'a.test:']

  test.each(authorities)('C31: %s is a.test', (authority) => {
    expect(hostOf(authority)).toBe('a.test')
    expect(HostPattern.of('a.test')?.matches(hostOf(authority))).toBe(true)
  })

  test.each([
    ['127.0.0.1:8080', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[::1]:80', '[::1]'],
    ['', ''],
  ])('%s is %s', (authority, host) => {
    expect(hostOf(authority)).toBe(host)
  })

  test.each([
    ['*.a.test', ['b.a.test', 'c.b.a.test'], ['a.test', 'ba.test', '.a.test', 'a.test.evil', '']],
    ['A.Test.', ['a.test'], ['b.a.test', 'xa.test']],
    ['[::1]', ['[::1]'], ['::1', '[::2]']],
    ['127.0.0.1', ['127.0.0.1'], ['127.0.0.11']],
  ])('%s', (text, fitting, others) => {
    const made = HostPattern.of(text) as HostPattern
    expect(fitting.filter((host) => !made.matches(host))).toEqual([])
    expect(others.filter((host) => made.matches(host))).toEqual([])
  })

  test.each([
    '',
    '*',
    '*.',
    'a.*',
    '*a.test',
    'a b',
    'a/b',
    'a:80',
    'é',
    '.a',
    'a..b',
    '-a',
    'a-',
    '[',
    `${'a'.repeat(254)}`,
  ])('%j is none', (text) => {
    expect(HostPattern.of(text)).toBeUndefined()
  })

  test('compare without case, port and final dot', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,5}$/)
    fc.assert(
      fc.property(
        fc.array(label, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 65_535 }),
        (labels, port) => {
          const name = labels.join('.')
          for (const written of [name, name.toUpperCase(), `${name}.`, `${name}:${port}`, `${name}.:${port}`]) {
            expect(HostPattern.of(name)?.matches(hostOf(written))).toBe(true)
          }
          expect(HostPattern.of(`*.${name}`)?.matches(hostOf(`x.${name}:${port}`))).toBe(true)
          expect(HostPattern.of(`*.${name}`)?.matches(hostOf(name))).toBe(false)
        },
      ),
      seeded,
    )
  })
})

describe('rewrites', () => {
  test.each([
    ['/v2/{id}', { id: '7' }, '/v2/7'],
    ['/{rest}', { rest: 'a/b' }, '/a/b'],
    ['/{rest}', { rest: '' }, '/'],
    ['/{rest}', { rest: '/evil.test' }, '//evil.test'],
    ['/x', {}, '/x'],
    ['/{a}-{b}', { a: '1', b: '%2F' }, '/1-%2F'],
  ])('%s', (text, values, path) => {
    expect(Rewrite.of(text)?.path(new Map(Object.entries(values)))).toBe(path)
  })

  test.each([
    '',
    'x',
    '{id}',
    '/a b',
    '/{',
    '/{}',
    '/}',
    '/é',
    '/a?b',
    '/a#b',
    '/\\',
    '//{',
    '/../x',
    '/a/./{b}',
    '/..{rest}',
    '/%zz',
  ])('%j is none', (text) => {
    expect(Rewrite.of(text)).toBeUndefined()
  })
})
