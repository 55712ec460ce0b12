export { callOf } from '../../server/index.ts'
export { type NextFunction, type Protected, protect } from './protect.ts'
