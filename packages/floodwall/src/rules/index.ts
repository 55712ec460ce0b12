export {
  amountOrZero,
  count,
  countOrZero,
  factor,
  oneOf,
  parse,
  positiveSpan,
  type Schema,
  share,
  shareOrZero,
  show,
  spanOrZero,
} from '../core/schema.ts'
export { type ByteLimit, byteRate } from '../policies/bandwidth-options.ts'
export { builtIn, type Kinds, kindsOf } from './kinds.ts'
export { type LayerLimits, parseLayers } from './layers.ts'
export { type OrderWarning, orderWarnings } from './order.ts'
