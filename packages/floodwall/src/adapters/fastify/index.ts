export { callOf } from '../../server/index.ts'
export { type Protected, protect } from './protect.ts'
