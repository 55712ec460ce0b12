// One row and one contender in a process of its own, over all seeds.
// node child.mjs '{"study": NAME, "row": NAME, "contender": NAME, "floodwall": FILE}'
import { library } from '../cluster/library.mjs'
import { studies } from './studies.mjs'

const { study: which, row: name, contender, floodwall } = JSON.parse(process.argv[2])
const study = studies.find((one) => one.name === which)
const row = study.rows.find((one) => one.name === name)
const loaded = await library(floodwall)
const found = []
const way = study.contenders[contender]
for (let seed = 1; seed <= study.seeds(way); seed++) found.push(await study.measure(row, way, seed, loaded))
process.stdout.write(JSON.stringify(found))
