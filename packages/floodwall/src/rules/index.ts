export {
  amountOrZero,
  count,
  countOrZero,
  factor,
  oneOf,
  positiveSpan,
  type Schema,
  share,
  shareOrZero,
  spanOrZero,
} from '../core/schema.ts'
export { builtIn, type Kinds, kindsOf } from './kinds.ts'
export { parseLayers } from './layers.ts'
