export type { Ramp, SignalView } from './signal.ts'
export { Signal } from './signal.ts'
export { type Onlooker, Signals, signalsOf } from './signals.ts'
export { processSources, type Sources } from './sources.ts'
