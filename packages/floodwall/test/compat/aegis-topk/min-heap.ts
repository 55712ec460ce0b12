import type { AegisItem } from './heavy-keeper.ts'

// Go's container/heap with the order of aegis' internal/minheap: who of several equal ones is expelled hangs on each swap.

interface Node {
  readonly key: string
  count: number
}

export class MinHeap {
  private readonly most: number
  private readonly nodes: Node[] = []

  constructor(most: number) {
    this.most = most
  }

  get full(): boolean {
    return this.nodes.length === this.most
  }

  get least(): number {
    return this.nodes[0]?.count ?? 0
  }

  find(key: string): number {
    return this.nodes.findIndex((node) => node.key === key)
  }

  /** The node that had to go, if one had. */
  add(node: Node): Node | undefined {
    if (!this.full) {
      this.push(node)
      return undefined
    }
    if (node.count <= this.least) return undefined
    const expelled = this.pop()
    this.push(node)
    return expelled
  }

  fix(at: number, count: number): void {
    ;(this.nodes[at] as Node).count = count
    if (!this.down(at, this.nodes.length)) this.up(at)
  }

  halve(): void {
    for (const node of this.nodes) node.count = Math.floor(node.count / 2)
  }

  sorted(): AegisItem[] {
    return [...this.nodes].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
  }

  private push(node: Node): void {
    this.nodes.push(node)
    this.up(this.nodes.length - 1)
  }

  private pop(): Node {
    const last = this.nodes.length - 1
    this.swap(0, last)
    this.down(0, last)
    return this.nodes.pop() as Node
  }

  private less(i: number, j: number): boolean {
    const [a, b] = [this.nodes[i] as Node, this.nodes[j] as Node]
    return a.count < b.count || (a.count === b.count && a.key > b.key)
  }

  private swap(i: number, j: number): void {
    const { nodes } = this
    const node = nodes[i] as Node
    nodes[i] = nodes[j] as Node
    nodes[j] = node
  }

  private up(from: number): void {
    for (let j = from; j > 0; ) {
      const parent = Math.trunc((j - 1) / 2)
      if (!this.less(j, parent)) break
      this.swap(parent, j)
      j = parent
    }
  }

  private down(from: number, size: number): boolean {
    let i = from
    for (let child = 2 * i + 1; child < size; child = 2 * i + 1) {
      const smaller = child + 1 < size && this.less(child + 1, child) ? child + 1 : child
      if (!this.less(smaller, i)) break
      this.swap(i, smaller)
      i = smaller
    }
    return i > from
  }
}
