// One row and one contender in a process of its own, over all seeds.
// node child.mjs '{"study": NAME, "row": NAME, "contender": NAME, "seeds": N, "floodwall": FILE}'
import { library } from './library.mjs'
import { studies } from './studies.mjs'

const { study: which, row: name, contender, seeds, floodwall } = JSON.parse(process.argv[2])
const study = studies.find((one) => one.name === which)
const row = study.rows.find((one) => one.name === name)
const loaded = await library(floodwall)
const found = []
for (let seed = 1; seed <= seeds; seed++) found.push(await study.measure(row, contender, seed, loaded))
process.stdout.write(JSON.stringify(found))
process.exit(0) // opossum keeps timers of worlds that have ended
