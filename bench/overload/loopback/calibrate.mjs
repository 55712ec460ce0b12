// node calibrate.mjs: prints how many units of work are a millisecond of CPU.
import { unitsPerMs } from './work.mjs'

process.stdout.write(JSON.stringify({ perMs: unitsPerMs() }))
