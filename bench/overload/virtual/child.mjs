// One row and one contender in a process of its own, over all seeds.
// node child.mjs '{"study": NAME, "row": NAME, "contender": NAME, "floodwall": FILE, "seeds": N, "first": 1}'
import { library } from '../../cluster/library.mjs'
import { contenders } from './contenders.mjs'
import { studies } from './studies.mjs'

const { study: which, row: name, contender, floodwall, seeds, first = 1 } = JSON.parse(process.argv[2])
const study = studies.find((one) => one.name === which)
const row = study.rows.find((one) => one.name === name)
const loaded = await library(floodwall)
const found = []
for (let seed = first; seed < first + (seeds ?? study.seeds); seed++)
  found.push(await study.measure(row, contenders[contender](loaded), seed, loaded))
process.stdout.write(JSON.stringify(found))
