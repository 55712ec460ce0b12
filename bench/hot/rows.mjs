// All rows of the suite `hot`, in the order of the table. A row is { name, shape, make }: `make` gets a function that
// imports floodwall and returns the operation. It imports lazily: listing the rows must not need a build.
import { ambient } from './rows/ambient.mjs'
import { breakers } from './rows/breakers.mjs'
import { deadlines } from './rows/deadlines.mjs'
import { floors } from './rows/floors.mjs'
import { gates } from './rows/gates.mjs'
import { headers } from './rows/headers.mjs'
import { pipelines } from './rows/pipelines.mjs'
import { refusals } from './rows/refusals.mjs'

export const rows = [...breakers, ...pipelines, ...deadlines, ...ambient, ...refusals, ...gates, ...headers, ...floors]
