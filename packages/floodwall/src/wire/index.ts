export { knownStanding } from '../algorithms/admission/standing.ts'
export { readAttempt, readAttempts, writeAttempts } from './attempts.ts'
export { readBaggage, writeBaggage } from './baggage.ts'
export { type Code, codeOf, type GrpcStatus, grpcCodes, saidOf, verdictOfStatus } from './codes.ts'
export { COHORT_KEY, readCohort, writeCohort } from './cohort.ts'
export { readCriticality, writeCriticality } from './criticalities.ts'
export { type ErrorAnswer, type ErrorFacts, type ErrorFormat, errorFormats, writeError } from './error-body.ts'
export { CRITICALITY_KEY, type Inbound, type InboundOptions, readInbound } from './inbound.ts'
export { controlHeaders, names, timeoutAliases } from './names.ts'
export { type OutboundOptions, writeOutbound } from './outbound.ts'
export { both, noWish, type Pushback, pushbackOfBody, pushbackOfBoth, pushbackOfHeaders } from './pushback.ts'
export {
  leftOf,
  leftUntil,
  pauseOfRateLimit,
  policyOf,
  type RateLimitLeft,
  type RateLimitPolicy,
  rateLimitNames,
  readRateLimit,
  readRateLimitPolicy,
  writeRateLimit,
  writeRateLimitPolicy,
} from './rate-limit.ts'
export { readHttpDate, readRetryAfter, writeRetryAfter } from './retry-after.ts'
export {
  type HeaderReader,
  readGrpcTimeout,
  readTimeout,
  readTimeoutMs,
  type SaidTimeout,
  writeGrpcTimeout,
  writeTimeoutMs,
} from './timeouts.ts'
