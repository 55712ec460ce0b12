export { builtIn, type Kinds, kindsOf } from './kinds.ts'
export { parseLayers } from './layers.ts'
