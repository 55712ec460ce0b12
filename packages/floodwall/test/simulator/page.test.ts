import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { clientsOptions } from '../../src/simulator/clients.ts'
import { fault } from '../../src/simulator/condition.ts'
import { eventLoopServerOptions } from '../../src/simulator/event-loop-server.ts'
import { serverOptions } from '../../src/simulator/server.ts'
import { worldOptions } from '../../src/simulator/world.ts'
import { codeIn, page, rows, section } from '../docs/pages.ts'

// The tables of docs/simulator.md are the schemas: the same fields, the same defaults.

interface Inner {
  readonly type: string
  readonly entries?: Readonly<Record<string, Inner>>
  readonly wrapped?: Inner
  readonly default?: unknown
}

type Line = readonly [name: string, fallback: string]

function linesOf(schema: unknown, prefix = ''): Line[] {
  return Object.entries((schema as Inner).entries ?? {}).flatMap(([name, entry]): Line[] => {
    const inner = entry.wrapped ?? entry
    if (inner.entries !== undefined) return linesOf(inner, `${prefix}${name}.`)
    return [[prefix + name, fallbackOf(entry)]]
  })
}

function fallbackOf({ type, default: value }: Inner): string {
  if (type !== 'optional') return 'required'
  if (value === undefined) return 'none'
  return typeof value === 'string' ? value : inspect(value)
}

const lineIn = ([name, fallback]: readonly string[]): Line => [codeIn(name) ?? '', codeIn(fallback) ?? fallback ?? '']

const table = (headline: string): Line[] => rows(section(page('docs/simulator.md'), headline)).map(lineIn)

describe('docs/simulator.md', () => {
  test.each([
    ['## World', [worldOptions]],
    ['## Server and EventLoopServer', [serverOptions, eventLoopServerOptions]],
    ['## Faults', [fault]],
    ['## Clients', [clientsOptions]],
  ] as const)('%s', (headline, schemas) => {
    const wanted = new Map(schemas.flatMap((schema) => linesOf(schema)))
    expect(table(headline)).toEqual([...wanted])
  })
})
