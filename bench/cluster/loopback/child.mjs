// node child.mjs '{"contender": NAME, "floodwall": FILE}': all out and back again, in real time: bounded, 14 s.
import { setTimeout as pause } from 'node:timers/promises'
import { contenders } from '../contenders.mjs'
import { library } from '../library.mjs'
import { Remote } from './client.mjs'
import { Host } from './host.mjs'

const HOSTS = 4
/** Three of the four carry the 180 calls a second, and a tenth more. */
const NEEDED = 3
const CAPACITY = 66
const PER_SECOND = 180
const DOWN_S = 2
const UP_S = 6
const END_S = 14

const { contender, floodwall } = JSON.parse(process.argv[2])
const loaded = await library(floodwall)
const hosts = Array.from({ length: HOSTS }, () => new Host(CAPACITY))
for (const host of hosts) await host.rise()
const remotes = hosts.map(({ port }) => new Remote(port))
const fleet = await contenders[contender](
  loaded,
  {
    world: { ...loaded.systemRuntime, env: (path) => loaded.envOf(loaded.systemRuntime, path) },
    begins: remotes.map((remote) => (answer) => remote.begin(answer)),
    isolated() {},
    returned() {},
  },
  NEEDED,
)
const seconds = Array.from({ length: END_S }, () => ({ good: 0, all: 0 }))
const start = performance.now()
const passed = () => performance.now() - start

for (let second = 0, sent = 0; second < END_S; second++) {
  if (second === DOWN_S) for (const host of hosts) host.crash()
  await hosts[second - UP_S]?.rise()
  while (passed() < (second + 1) * 1000) {
    for (; sent < (passed() * PER_SECOND) / 1000; sent++) send(seconds[second])
    await pause(4)
  }
}
await pause(500) // the last ones end
process.stdout.write(JSON.stringify(seconds.map(({ good, all }) => good / all)))
process.exit(0)

function send(second) {
  second.all++
  fleet.send(({ ok }) => {
    if (ok) second.good++
  })
}
