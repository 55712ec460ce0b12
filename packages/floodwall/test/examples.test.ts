import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './docs/pages.ts'

// The examples run as a user runs them: on the build, each in a process of its own, to its own end.

/** What each must print, besides anything else. */
const TELLING: Readonly<Record<string, readonly RegExp[]>> = {
  'call-a-cluster.mjs': [
    /: closed -> open, 3 c(?:all|heck)s failed/,
    /^\{ '200 hello from the steady one': 40 \}$/m,
    /: halfOpen -> closed, /,
  ],
  'callbacks-without-promises.mjs': [/^\d+ at the first try, \d+ at a later one, \d+ failed$/m, /refused: 0/],
  'hot-cache.mjs': [/^with: 50\d, 500 of them/m, /^hot: phone, 75 % of all$/m, /^there, after: 6 left$/m],
  'limit-callers.mjs': [
    /^a key: 429, RateLimit "api\/keyed";r=0;t=60, again in 60 s\nanother key: 200, RateLimit "api\/keyed";r=1;t=60$/m,
    /^a site of IPv6: 429, .*\nits neighbour: 200, /m,
    /^who invents addresses: 429, /m,
  ],
  'own-gate.mjs': [/^ok {2}10,000 random steps/m, /of 400 ms are left$/m],
  'per-user-limit.mjs': [/^ann: 4 of 4 passed$/m, /^bot: 1\d of 100 passed$/m, /^ben: 4 of 4 passed$/m],
  'protect-a-dependency.mjs': [
    /^ {2}inventory\/breaker: closed -> open, \d+ of \d+ calls failed/m,
    /^the breaker is closed$/m,
  ],
  'serve-express.mjs': [
    /^\/health: 200 well$/m,
    /^\/stock: 500 mine: the inventory is down$/m,
    /^\/stock: 503 code open, again in \d+ s$/m,
    /^\/slow: 504 code timeout$/m,
    /^failed 2, too slow 1, refused further in 1$/m,
  ],
  'serve-fastify.mjs': [
    /^ann: 200 \{"method":"GET \/items\/:id","criticality":"sheddable","hurry":true\}$/m,
    /^bot: 429 RESOURCE_EXHAUSTED$/m,
    /^answered 5, refused 1$/m,
  ],
  'serve-http.mjs': [
    /^request 5: 503 queue-full$/m,
    /^waits 500 ms: 200 with little time$/m,
    /^waits 30 ms: 504 deadline$/m,
    /^too late: 503 closed$/m,
    /^the last one: 200 with plenty of time$/m,
  ],
  'shadow-a-limit.mjs': [/^in the shadow 0 of 100 were refused$/m, /^for real [78]\d of 100 were refused$/m],
  'share-a-bulkhead.mjs': [
    /^reports: 1 of 4 were answered$/m,
    /^web: 8 of 8 were answered$/m,
    /^never more than 3 queries at once$/m,
  ],
  'simulate-an-outage.mjs': [
    /^nothing, 3 retries each +\S+ {10,}3\d %/m,
    /^floodwall retries within a budget .* 7\d % /m,
    /^nothing, 3 retries each .*█{8}/m,
  ],
  'survive-a-flood.mjs': [
    /offered .* good .* p99 .* CRITICAL .* SHEDDABLE_PLUS .* SHEDDABLE /,
    /^│ nothing +│ 10\d\d +│ \d+ +│ '\d+ ms' +│ 0 +│ 0 +│ 0 +│$/m,
    /^│ overload\(\) │ 10\d\d +│ [1-9]\d+ +│ '\d+ ms' +│ \d+ +│ [1-9]\d+ +│ [1-9]\d+ +│$/m,
  ],
  'three-hops.mjs': [
    /^A: (?:1000|[5-9]\d\d) ms left, sheddable\nB: [1-6]?\d\d ms left, sheddable\nC: [1-5]?\d\d ms left, sheddable$/m,
    /^answered by A B C/m,
    /^A stops$/m,
    /^B stops$/m,
    /^C stops$/m,
  ],
  'wait-for-a-slot.mjs': [/g: \[queue-full\]/, /f: \[queue-timeout\]/, /c: AbortError/],
}

const LINES = 60

function run(name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: root, timeout: 60_000, env: { ...process.env, NODE_ENV: '', VITEST: '' } }
    execFile(process.execPath, [join(root, 'examples', name)], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${name} ended badly:\n${stdout}${stderr}`, { cause: error }))
    })
  })
}

test('each example is run, and each is here', () => {
  expect(readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.mjs'))).toEqual(Object.keys(TELLING))
})

async function shows(name: string, telling: readonly RegExp[]): Promise<void> {
  const lines = readFileSync(join(root, 'examples', name), 'utf8').split('\n')
  expect(lines.length, 'an example is read at one sight').toBeLessThan(LINES)
  expect(lines[0], 'its first line says what it shows').toMatch(/^\/\/ \S/)
  const printed = await run(name)
  for (const line of telling) expect(printed).toMatch(line)
}

/** Beside a flood the others would be late. */
const isFlood = ([name]: readonly [string, ...unknown[]]): boolean => name.endsWith('-a-flood.mjs')
const all = Object.entries(TELLING)

describe('example', () => {
  test.concurrent.each(all.filter((one) => !isFlood(one)))('%s', shows)
})

describe('example by itself', () => {
  test.each(all.filter(isFlood))('%s', shows)
})
