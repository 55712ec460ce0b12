import * as v from 'valibot'
import { ConfigError, type ConfigIssue } from '../../core/errors.ts'
import { show } from '../../core/schema.ts'

/** What an import made of a field, where it is not what stands there. */
export interface SentinelNote {
  /** Where: `'[3].limitApp'`. */
  readonly path: string
  /** What stood there, printed safely. */
  readonly value: string
  /** `default`: nothing was said. `changed`: it means something else here. `ignored`: it has no meaning here. */
  readonly kind: 'default' | 'changed' | 'ignored'
  readonly why: string
}

/** What was found in a document of rules: faults, which refuse it as a whole, and notes. */
export class Findings {
  readonly notes: SentinelNote[] = []
  private readonly issues: ConfigIssue[] = []

  note(kind: SentinelNote['kind'], path: string, value: unknown, why: string): void {
    this.notes.push({ path, value: show(value), kind, why })
  }

  fault(path: string, value: unknown, expected: string): void {
    this.issues.push({ path, value: show(value), expected })
  }

  /** @throws ConfigError with every fault, when there is one */
  check(): void {
    if (this.issues.length > 0) throw new ConfigError(this.issues)
  }
}

/** One rule as it was written, read field by field: what nobody has read when all is done means nothing here. */
export class Fields {
  readonly path: string
  readonly findings: Findings
  private readonly raw: Readonly<Record<string, unknown>>
  private readonly unread: Set<string>

  constructor(raw: Readonly<Record<string, unknown>>, path: string, findings: Findings) {
    this.raw = raw
    this.path = path
    this.findings = findings
    // Java writes null for what is not said.
    this.unread = new Set(Object.keys(raw).filter((name) => raw[name] != null))
  }

  says(name: string): boolean {
    return this.unread.has(name)
  }

  /** What stands there; undefined when nothing does, or when it is a fault. */
  read<I, O>(name: string, schema: v.GenericSchema<I, O>): O | undefined {
    if (!this.unread.delete(name)) return undefined
    const result = v.safeParse(schema, this.raw[name])
    if (result.success) return result.output
    this.findings.fault(this.pathOf(name), this.raw[name], result.issues[0].message)
    return undefined
  }

  /** What stands there can be read, and cannot be. */
  fault(name: string, expected: string): void {
    this.findings.fault(this.pathOf(name), this.raw[name], expected)
  }

  note(kind: SentinelNote['kind'], name: string, why: string): void {
    this.findings.note(kind, this.pathOf(name), this.raw[name], why)
  }

  /** A stranger's name may be of any length, and hold anything. */
  private pathOf(name: string): string {
    return /^\w{1,80}$/.test(name) ? `${this.path}.${name}` : `${this.path}[${show(name)}]`
  }

  /** Notes what was not read. */
  end(known: readonly string[]): void {
    for (const name of this.unread) this.note('ignored', name, `no such field here; known: ${known.join(', ')}`)
  }
}
