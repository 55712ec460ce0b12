import type { ConfigIssue, Layer } from 'floodwall'

// What of a request can be limited here: what it says itself. It has no arguments, and our own data of it is nobody's parameter: a limit for each value of
// those would never bite, and nobody would know.

const EXPECTED = '"header:" or "query:" with a name, or "path:" with a number'

/** The parameters in these layers that no request has. */
export function strangersIn(layers: readonly Layer[], path: string): ConfigIssue[] {
  return layers.flatMap((layer, i) => strangerIn(layer, `${path}[${i}]`))
}

function strangerIn({ kind, options }: Layer, path: string): ConfigIssue[] {
  const { of, parameter } = options as { readonly of?: Layer; readonly parameter?: unknown }
  if (kind !== 'hotParameter') return of === undefined ? [] : strangerIn(of, `${path}.of`)
  if (typeof parameter === 'string' && parameter.includes(':')) return []
  return [{ path: `${path}.parameter`, value: JSON.stringify(parameter), expected: EXPECTED }]
}
