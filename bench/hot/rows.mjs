// All rows of the suite `hot`, in the order of the table. A row is { name, shape, make }: `make` gets a function that
// imports floodwall and returns the operation. It imports lazily: listing the rows must not need a build.
import { breakers } from './rows/breakers.mjs'
import { floors } from './rows/floors.mjs'
import { gates } from './rows/gates.mjs'
import { pipelines } from './rows/pipelines.mjs'
import { refusals } from './rows/refusals.mjs'

export const rows = [...breakers, ...pipelines, ...refusals, ...gates, ...floors]
