// One row and one contender in a process of its own, over all seeds.
// node child.mjs '{"study": NAME, "row": NAME, "contender": NAME, "seeds": N, "floodwall": FILE}'
import { library } from './library.mjs'
import { studies } from './studies.mjs'

const { study, row, contender, seeds, floodwall } = JSON.parse(process.argv[2])
const { rows, measure } = studies.find(({ name }) => name === study)
const what = rows.find(({ name }) => name === row)
const loaded = await library(floodwall)
const found = []
for (let seed = 1; seed <= seeds; seed++) found.push(await measure(what, contender, seed, loaded))
process.stdout.write(JSON.stringify(found))
process.exit(0) // opossum keeps timers of worlds that have ended
