import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapMB(): number {
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** What stays in the memory of what `make` makes, in MB. */
export function keptMB(make: () => object): number {
  const before = heapMB()
  const made = make()
  const after = heapMB()
  // It must live until here.
  return Object.keys(made).length < 0 ? 0 : after - before
}
