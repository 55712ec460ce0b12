import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normalPath, Target } from '../src/gateway/heads/target.ts'

/** What a path is taken for. */
function formOf(text: string): string | undefined {
  return Target.of(text)?.path
}

/** What else it may be taken for; `refused` where nobody honest asks so. */
function readingsOf(text: string): readonly string[] | 'refused' {
  const readings = Target.of(text)?.readings()
  return readings === undefined ? 'refused' : [...readings]
}

describe('C31: one form for every path', () => {
  test.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['//10.10.10.10/', '//10.10.10.10/'],
    ['/a//b', '/a//b'],
    ['/@evil.test', '/@evil.test'],
    ['/\\evil.test', '/\\evil.test'],
    ['/_next/[...slug].js', '/_next/[...slug].js'],
    ['/_next/%5b...slug%5d.js', '/_next/%5B...slug%5D.js'],
    ['/duck?redirect_uri=//q.test', '/duck?redirect_uri=//q.test'],
    ['/a/./b', '/a/b'],
    ['/a/../admin', '/admin'],
    ['/a/%2e%2E/admin', '/admin'],
    ['/a/.%2e/admin', '/admin'],
    ['/a/.', '/a/'],
    ['/a/..', '/'],
    ['/a//../b', '/a/b'],
    ['/.well-known/x', '/.well-known/x'],
    ['/...', '/...'],
    ['/%61dmin', '/admin'],
    ['/%7Euser%2fx', '/~user%2Fx'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    ['/a?/../%2e%2E%zz//\\', '/a?/../%2e%2E%zz//\\'],
    ['http://a.test', '/'],
    ['http://a.test/x/../y?q', '/y?q'],
    ['HTTP://a.test?q=//x', '/?q=//x'],
  ])('%s is %s', (text, form) => {
    expect(formOf(text)).toBe(form)
  })

  test.each([
    ['above the root', '/../admin'],
    ['above the root, encoded', '/%2e%2e/admin'],
    ['above the root, later', '/a/../../b'],
    ['NUL', '/a%00b'],
    ['half an encoding', '/%zz'],
    ['no encoding', '/%'],
    ['the start of one', '/a%4'],
    ['a fragment', '/a#b'],
    ['a fragment behind the query', '/a?b#c'],
    ['a control character', '/a\x01b'],
    ['a blank', '/a b'],
    ['DEL in the query', '/a?\x7f'],
    ['raw beyond ASCII', '/\xe9'],
    ['raw beyond ASCII in the query', '/?\xe9'],
    ['an asterisk', '*'],
    ['an authority', 'evil.test:443'],
    ['another scheme', 'ftp://a.test/'],
    ['nothing', ''],
  ])('%s is none: %j', (_name, text) => {
    expect(formOf(text)).toBeUndefined()
  })

  test.each([
    ['http://evil.test/x', 'evil.test', false],
    ['HTTPS://Evil.test:81?x', 'Evil.test:81', true],
    ['http://u:p@evil.test/', 'u:p@evil.test', false],
    ['http:///x', '', false],
    ['/x', undefined, false],
  ])('of %s the authority is %s', (text, authority, secure) => {
    expect(Target.of(text)).toMatchObject({ authority, secure })
  })

  test.each(['/', '/a/b.c/d?e=//f', '/a-b_c~d!$&()*+,=:@', '/[x]/"<>^`{|}'])('%s costs no second look', (text) => {
    const target = Target.of(text) as Target
    expect(target.plain).toBe(true)
    expect(target.path).toBe(text)
  })
})

describe('C31: what other readers would read', () => {
  test.each([
    ['/a//b', ['/a/b']],
    ['/a%2fb', ['/a/b']],
    ['/a%252fb', ['/a%2fb', '/a/b']],
    ['/a;v=1/b', ['/a/b']],
    ['/a\\b', ['/a/b']],
    ['/a%5cb', ['/a\\b', '/a/b']],
    ['/admin%3fx', ['/admin?x', '/admin']],
    ['/a%3bb/c', ['/a;b/c', '/a/c']],
    ['/caf%c3%a9', []],
    ['/.x', []],
    ['/a/../b', []],
  ])('%s: %j', (text, readings) => {
    expect(readingsOf(text)).toEqual(readings)
  })

  test.each([
    '/a/..%2f..%2fadmin',
    '/..;/admin',
    '/a/..;x=1/admin',
    '/a/%2e%2e%2fadmin',
    '/a/..%5cadmin',
    '/a/..\\admin',
    '/a/%252e%252e/admin',
    '/a/.%252e/admin',
    '/a/%25252e%25252e/admin',
    '/a/..%3f/admin',
    '/a%2f.%2fb',
    '/a%2500b',
    `/a%${'25'.repeat(40)}2fb`,
  ])('%s: nobody honest asks so', (text) => {
    expect(readingsOf(text)).toBe('refused')
  })

  test('the work has an end, whatever the path', () => {
    const path = `/${'%252f;a\\//%3f'.repeat(5000)}`
    expect(readingsOf(path)).toBe('refused')
    // A long path of the usual kind is none.
    expect(readingsOf(`/${'a%2fb/'.repeat(2000)}`)).toHaveLength(1)
  })
})

const pieces = [
  'a',
  'admin',
  '/',
  '//',
  '.',
  '..',
  ';',
  '\\',
  '?',
  '%',
  '%2e',
  '%2E',
  '%2f',
  '%5C',
  '%3b',
  '%3f',
  '%61',
]
const odd = [...pieces, '%25', '%252e', '%252f', '%00', '%c3%a9', '...', '=1', '[', '%7e', '%0d%0a']
const paths = fc.array(fc.constantFrom(...odd), { maxLength: 12 }).map((parts) => `/${parts.join('')}`)
const seeded = { seed: 31, numRuns: 3000 }

/** Decodes what needs no encoding, character by character. */
function plainly(path: string): string | undefined {
  let text = ''
  for (let i = 0; i < path.length; i++) {
    if (path[i] !== '%') text += path[i]
    else {
      const code = Number(`0x${path.slice(i + 1, i + 3)}`)
      if (!/^[0-9a-f]{2}$/i.test(path.slice(i + 1, i + 3)) || code === 0) return undefined
      const character = String.fromCharCode(code)
      text += /[A-Za-z0-9._~-]/.test(character) ? character : `%${path.slice(i + 1, i + 3).toUpperCase()}`
      i += 2
    }
  }
  return text
}

/** Whether the dots lead above the root. */
function rises(path: string): boolean {
  let depth = 0
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') depth--
    else if (segment !== '.') depth++
    if (depth < 0) return true
  }
  return false
}

describe('properties', () => {
  test('the form is that of RFC 3986, as another implementation has it', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const raw = path.replace(/[?\\].*$/s, '')
        const decoded = plainly(raw)
        const wanted = decoded === undefined || rises(decoded) ? undefined : new URL(`http://x${decoded}`).pathname
        expect(normalPath(raw)).toBe(wanted)
      }),
      seeded,
    )
  })

  test('a normal form is its own, has no dot segment, and leaves the query alone', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const target = Target.of(path)
        if (target === undefined) return
        expect(target.pathname.split('/')).not.toContain('.')
        expect(target.pathname.split('/')).not.toContain('..')
        expect(target.path).toBe(target.pathname + target.query)
        const mark = path.indexOf('?')
        expect(target.query).toBe(mark < 0 ? '' : path.slice(mark))
        expect(Target.of(target.path)).toMatchObject({ pathname: target.pathname, query: target.query })
      }),
      seeded,
    )
  })

  test('what is plain is read in one way', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const target = Target.of(path)
        if (target?.plain !== true) return
        expect(target.pathname).not.toMatch(/[%;\\]|\/\/|\/\.\.?(\/|$)/)
      }),
      seeded,
    )
  })
})
