import { roomOf } from './rooms.ts'
import { isMemberName, type Module, type Node } from './source.ts'

/** What an algorithm cannot have: it would wait, look at a clock, throw dice, or reach the world in which it runs. */
const NOT_PURE = new Set([
  ...['Promise', 'PromiseLike', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'],
  ...['Date', 'performance', 'process', 'crypto', 'globalThis'],
])

/** Where time and chance come from. Everybody else asks the runtime, or no virtual clock would move them. */
const CLOCKS = new Set(['performance', 'setTimeout', 'setInterval', 'setImmediate'])
const CLOCK_CALLS = new Set(['Date.now', 'Math.random', 'AbortSignal.timeout', 'process.hrtime'])
const CLOCK_MODULES = new Set(['node:timers', 'node:timers/promises', 'node:perf_hooks'])

const SYSTEM = 'packages/floodwall/src/core/system.ts'

/** Ring 1 is synchronous and pure, and computes to the last bit the same on every Node. */
export function* purity(module: Module): Generator<string> {
  if (roomOf(module.path) !== 'algorithms') return
  yield* found(module, 'has no place in an algorithm', (node, parent, field) => {
    if (node.async === true || (node.type === 'ForOfStatement' && node.await === true)) return 'async'
    if (node.type === 'AwaitExpression') return 'await'
    if (node.operator === '**' || node.operator === '**=') return node.operator
    if (node.type === 'Identifier' && NOT_PURE.has(String(node.name)) && !isMemberName(parent, field))
      return String(node.name)
    const member = memberOf(node)
    if (member === 'Math.random' || member === 'Math.pow') return member
    // `const { pow } = Math` and the like.
    if (node.type === 'Identifier' && node.name === 'Math' && parent.type !== 'MemberExpression')
      return 'Math as a value'
    return undefined
  })
}

/** Real time and real chance enter at one place. */
export function* clocks(module: Module): Generator<string> {
  if (roomOf(module.path) === undefined || module.path === SYSTEM) return
  for (const { from, line } of module.imports) {
    if (CLOCK_MODULES.has(from)) yield `${module.path}:${line} ${from} belongs into core/system.ts`
  }
  yield* found(module, 'belongs into core/system.ts', (node, parent, field) => {
    if (node.type === 'Identifier' && CLOCKS.has(String(node.name)) && !isMemberName(parent, field))
      return String(node.name)
    const argument = Array.isArray(node.arguments) && node.arguments.length > 0
    const callee = node.callee as Node | undefined
    if (callee?.type === 'Identifier' && callee.name === 'Date' && !argument) return 'the date of today'
    const member = memberOf(node)
    if (member === undefined) return undefined
    const [object = '', property = ''] = member.split('.')
    return CLOCK_CALLS.has(member) || (object === 'globalThis' && CLOCKS.has(property)) ? member : undefined
  })
}

function* found(
  module: Module,
  verdict: string,
  name: (node: Node, parent: Node, field: string) => string | undefined,
): Generator<string> {
  const lines: string[] = []
  module.walk((node, parent, field) => {
    const what = name(node, parent, field)
    if (what !== undefined) lines.push(`${module.path}:${module.lineOf(node)} ${what} ${verdict}`)
  })
  yield* new Set(lines)
}

/** 'Math.pow' for Math.pow and Math['pow']. */
function memberOf(node: Node): string | undefined {
  if (node.type !== 'MemberExpression') return undefined
  const { object, property } = node as unknown as { object: Node; property: Node }
  if (object.type !== 'Identifier') return undefined
  return `${String(object.name)}.${String(node.computed === true ? property.value : property.name)}`
}
