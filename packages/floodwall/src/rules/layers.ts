import { ConfigError, type ConfigIssue, isConfigError } from '../core/errors.ts'
import type { Kind, Layer } from '../core/layer.ts'
import { parse, show } from '../core/schema.ts'
import { excessOf, type TimeLimitSettings, type TimeLimits, timeLimits } from '../policies/time-limits.ts'
import { builtIn, type Kinds } from './kinds.ts'

/** A document of a million layers is a mistake or an attack. */
const MOST_LAYERS = 100
/** `keyed` in `shadow` in `keyed` ...: nobody means more than this. */
const DEEPEST = 4

/** The longest timeouts that a document may ask for, and who hears of those that were cut. */
export interface LayerLimits extends TimeLimits {
  /** Called for each span that was cut to `mostTimeout`. */
  readonly warn?: (issue: ConfigIssue) => void
}

/** What the layers of one document have in common. */
interface Reading {
  readonly kinds: Kinds
  readonly limits: TimeLimitSettings
  readonly warnings: ConfigIssue[]
  readonly issues: ConfigIssue[]
}

/**
 * Layers from a document: `[{ kind: 'timeout', after: '250ms' }, ...]`, outermost first. Throws one {@link ConfigError} that lists every
 * fault with its path, value and expectation; then nothing has been made. Timeouts and deadlines above 60 s are a fault, unless `limits`
 * says otherwise.
 */
export function parseLayers(
  document: unknown,
  path = 'layers',
  kinds: Kinds = builtIn,
  { warn, ...limits }: LayerLimits = {},
): Layer[] {
  if (!Array.isArray(document)) throw new ConfigError([{ path, value: show(document), expected: 'a list of layers' }])
  if (document.length > MOST_LAYERS) {
    throw new ConfigError([{ path, value: `${document.length} layers`, expected: `at most ${MOST_LAYERS}` }])
  }
  const reading: Reading = { kinds, limits: parse(timeLimits, limits, 'limits'), warnings: [], issues: [] }
  const layers: Layer[] = []
  document.forEach((entry: unknown, i) => {
    const layer = parseLayer(entry, `${path}[${i}]`, reading, 0)
    if (layer !== undefined) layers.push(layer)
  })
  if (reading.issues.length > 0) throw new ConfigError(reading.issues)
  // Not before all is well: of a document that is refused nothing was cut.
  if (warn !== undefined) for (const warning of reading.warnings) warn(warning)
  return layers
}

function parseLayer(entry: unknown, path: string, reading: Reading, depth: number): Layer | undefined {
  const { kinds, issues } = reading
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
    const inner = parseLayer(options['of'], `${path}.of`, reading, depth + 1)
    if (inner === undefined) return undefined
    options['of'] = inner
  }
  try {
    return limited(kind, kind(options), path, reading)
  } catch (error) {
    if (!isConfigError(error)) throw error
    // The kind speaks of itself ("breaker.openFor"); the reader of a document wants the place in it.
    for (const issue of error.issues) issues.push({ ...issue, path: path + issue.path.slice(kind.kind.length) })
    return undefined
  }
}

/** The layer, cut where it is too long and may be cut. */
function limited(kind: Kind, layer: Layer, path: string, { limits, issues, warnings }: Reading): Layer {
  const excess = excessOf(layer, path, limits)
  if (excess === undefined) return layer
  const told = limits.onExcess === 'refuse' ? issues : warnings
  told.push(excess.issue)
  return kind(excess.cut)
}
