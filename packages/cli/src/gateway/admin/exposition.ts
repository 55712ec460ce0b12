// The text format of Prometheus, version 0.0.4.

type Kind = 'counter' | 'gauge' | 'histogram'

export class Exposition {
  private readonly lines: string[] = []
  private name = ''

  /** Begins a metric; its samples follow. */
  metric(name: string, kind: Kind, help: string): this {
    this.name = name
    this.lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`)
    return this
  }

  sample(value: number, labels: Readonly<Record<string, string>> = {}, suffix = ''): this {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`)
    this.lines.push(`${this.name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`)
    return this
  }

  end(): string {
    return `${this.lines.join('\n')}\n`
  }
}

function escape(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
