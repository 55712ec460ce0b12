export { callOf } from '../../server/index.ts'
export { type HttpOptions, type Listener, type Protected, protect } from './protect.ts'
