// The command line: one suite, a handful of options, and errors that name what was wrong.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export class UsageError extends Error {}

const options = {
  help: { type: 'boolean', short: 'h', about: 'this text' },
  json: { type: 'string', value: 'FILE', about: 'write the rows as JSON too' },
  markdown: { type: 'boolean', about: 'print the rows for RESULTS.md: ratios, no nanoseconds' },
  check: { type: 'boolean', about: 'end with status 1 if a row is over its budget' },
  only: { type: 'string', value: 'TEXT', about: 'only rows whose name contains TEXT' },
  rounds: { type: 'string', value: 'N', about: 'paired rounds per process (hot: 25, gateway: 6)' },
  processes: { type: 'string', value: 'N', about: 'fresh processes per row (hot, idle: 5)' },
  quick: { type: 'boolean', about: 'overload: fewer handlers and loads, shorter' },
  seconds: { type: 'string', value: 'N', about: 'length of a gateway round (3)' },
  node: { type: 'string', value: 'PATH', about: 'run the children with another node binary' },
  floodwall: { type: 'string', value: 'FILE', about: 'measure another build: the path of its dist/index.js' },
}

export function help(suites) {
  const lines = ['Usage: npm run bench -- SUITE [options]', '', 'Suites:']
  for (const suite of suites) lines.push(`  ${suite.name.padEnd(20)} ${suite.about}`)
  lines.push('', 'Options:')
  for (const [name, { value, about }] of Object.entries(options)) {
    lines.push(`  --${`${name} ${value ?? ''}`.padEnd(18)} ${about}`)
  }
  return `${lines.join('\n')}\n`
}

export function parse(argv, suites) {
  let parsed
  try {
    parsed = parseArgs({ args: argv, options: bare(options), allowPositionals: true })
  } catch (error) {
    throw new UsageError(error.message)
  }
  const { values, positionals } = parsed
  if (positionals.length > 1) throw new UsageError(`one suite at a time: got ${positionals.join(', ')}`)
  const suite = suites.find(({ name }) => name === positionals[0])
  if (positionals.length === 1 && suite === undefined) {
    throw new UsageError(`no suite '${positionals[0]}': there are ${suites.map(({ name }) => name).join(', ')}`)
  }
  return {
    ...values,
    suite,
    rounds: count(values, 'rounds'),
    processes: count(values, 'processes'),
    seconds: count(values, 'seconds'),
    node: file(values, 'node') ?? process.execPath,
    floodwall: file(values, 'floodwall'),
  }
}

function bare(described) {
  return Object.fromEntries(
    Object.entries(described).map(([name, { type, short }]) => [name, short ? { type, short } : { type }]),
  )
}

function count(values, name) {
  const text = values[name]
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new UsageError(`--${name} takes a whole number from 1 to 9999: got '${text}'`)
  return Number(text)
}

function file(values, name) {
  if (values[name] === undefined) return undefined
  const path = resolve(values[name])
  if (!existsSync(path)) throw new UsageError(`--${name}: no file at ${path}`)
  return path
}
