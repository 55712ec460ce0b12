import { ConfigError, type ConfigIssue, isConfigError } from '../core/errors.ts'
import type { Layer } from '../core/layer.ts'
import { show } from '../core/schema.ts'
import { builtIn, type Kinds } from './kinds.ts'

/** A document of a million layers is a mistake or an attack. */
const MOST_LAYERS = 100
/** `keyed` in `shadow` in `keyed` ...: nobody means more than this. */
const DEEPEST = 4

/**
 * Layers from a document: `[{ kind: 'timeout', after: '250ms' }, ...]`, outermost first. Throws one {@link ConfigError} that lists every
 * fault with its path, value and expectation; then nothing has been made.
 */
export function parseLayers(document: unknown, path = 'layers', kinds: Kinds = builtIn): Layer[] {
  if (!Array.isArray(document)) throw new ConfigError([{ path, value: show(document), expected: 'a list of layers' }])
  if (document.length > MOST_LAYERS) {
    throw new ConfigError([{ path, value: `${document.length} layers`, expected: `at most ${MOST_LAYERS}` }])
  }
  const issues: ConfigIssue[] = []
  const layers: Layer[] = []
  document.forEach((entry: unknown, i) => {
    const layer = parseLayer(entry, `${path}[${i}]`, kinds, issues, 0)
    if (layer !== undefined) layers.push(layer)
  })
  if (issues.length > 0) throw new ConfigError(issues)
  return layers
}

function parseLayer(
  entry: unknown,
  path: string,
  kinds: Kinds,
  issues: ConfigIssue[],
  depth: number,
): Layer | undefined {
  const known = `an object with a kind: ${[...kinds.keys()].join(', ')}`
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    issues.push({ path, value: show(entry), expected: known })
    return undefined
  }
  const { kind: name, ...options } = entry as { kind?: unknown } & Record<string, unknown>
  const kind = typeof name === 'string' ? kinds.get(name) : undefined
  if (kind === undefined) {
    issues.push({ path: `${path}.kind`, value: show(name), expected: `one of ${[...kinds.keys()].join(', ')}` })
    return undefined
  }
  if (depth >= DEEPEST) {
    issues.push({ path, value: show(entry), expected: `at most ${DEEPEST} layers within each other` })
    return undefined
  }
  if ('of' in options) {
    const inner = parseLayer(options['of'], `${path}.of`, kinds, issues, depth + 1)
    if (inner === undefined) return undefined
    options['of'] = inner
  }
  try {
    return kind(options)
  } catch (error) {
    if (!isConfigError(error)) throw error
    // The kind speaks of itself ("breaker.openFor"); the reader of a document wants the place in it.
    for (const issue of error.issues) issues.push({ ...issue, path: path + issue.path.slice(kind.kind.length) })
    return undefined
  }
}
