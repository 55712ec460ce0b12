import type { Quota } from '../core/gate.ts'
import { readList, writeString } from './structured-list.ts'

// How much may a caller ask, and how much of it is left? (`RateLimit-Policy` and `RateLimit`)
//
// Source: draft-ietf-httpapi-ratelimit-headers-11 (May 2026), lists of structured fields (RFC 9651). It is a draft, and may rename its parameters: they
// stand in one table here. What it forbids is to invite more than the limit: who reads r and t as a rate must not come faster than q and w say.
//
// A bucket of 10 that earns 5 a second, 3.4 tokens left: `"api/rateLimit";q=10;w=2` and `"api/rateLimit";r=3;t=1`; empty: `r=0;t=1`, since 200 ms are
// a whole second.
//
// Invariant: q/w and r/t are never above the limit's own rate; r is at most q; all are whole.

/** The fields, in lower case. */
export const rateLimitNames = { policy: 'ratelimit-policy', limit: 'ratelimit' } as const

/** Their parameters. */
const P = { quota: 'q', window: 'w', left: 'r', reset: 't' } as const

/** A limit as callers are told of it: whole numbers. */
export interface RateLimitPolicy {
  readonly name: string
  readonly quota: number
  /** Seconds; undefined: what is used up never comes back. */
  readonly windowS: number | undefined
}

/** What is left of it. */
export interface RateLimitLeft {
  readonly name: string
  readonly left: number
  /** For so many seconds no more than {@link left} should be asked for; undefined: nobody knows. */
  readonly resetS: number | undefined
}

/** Structured fields have integers of 15 digits. */
const MOST_INTEGER = 999_999_999_999_999
/** A name is read by people, and sent with every answer. */
const MOST_NAME = 64
/** So many seconds are tried for a window in which the quota is whole: ten minutes, in which any rate per second or minute with a whole number is. */
const WINDOWS_TRIED = 600
/** Rounding of one division. */
const GRAIN = 1e-9

/**
 * A limit in whole calls and seconds. The window is the smallest from the limit's own on in which its rate is a whole number: 0.2 a second is one in 5 s,
 * and a bucket of 10 at 3 a second, which fills in 3.3 s, is 12 in 4 s.
 */
export function policyOf(name: string, { limit, windowMs }: Quota): RateLimitPolicy {
  if (!Number.isFinite(windowMs)) return { name, quota: whole(limit), windowS: undefined }
  const perS = (limit / windowMs) * 1000
  const first = Math.max(1, Math.ceil(windowMs / 1000 - GRAIN))
  for (let windowS = first; windowS < first + WINDOWS_TRIED; windowS++) {
    const quota = Math.round(perS * windowS)
    if (quota >= 1 && Math.abs(perS * windowS - quota) <= GRAIN * quota) return { name, quota: whole(quota), windowS }
  }
  // Rather a little less than the limit than a little more.
  const windowS = Math.max(first, Math.ceil(1 / perS))
  return { name, quota: whole(perS * windowS), windowS: whole(windowS) }
}

/**
 * What is left of it. With something left the time is that in which it is earned, so that r and t are no rate above the limit; with nothing left it is the
 * time until there is something.
 */
export function leftOf({ name, quota, windowS }: RateLimitPolicy, { left, resetMs }: Quota): RateLimitLeft {
  const units = Math.min(whole(left), quota)
  if (windowS === undefined) return { name, left: units, resetS: undefined }
  const seconds = units > 0 ? (units * windowS) / quota : resetMs / 1000
  return {
    name,
    left: units,
    resetS: Number.isFinite(seconds) ? whole(Math.max(1, Math.ceil(seconds - GRAIN))) : undefined,
  }
}

/**
 * The same for who was refused, and was told to come again in `afterS` seconds: no time beyond that one, and no more than is earned until then.
 */
export function leftUntil(policy: RateLimitPolicy, { left }: Quota, afterS: number): RateLimitLeft {
  const { name, quota, windowS } = policy
  const earned = windowS === undefined ? 0 : Math.floor((afterS * quota) / windowS)
  return { name, left: Math.min(whole(left), earned, quota), resetS: whole(afterS) }
}

function whole(number: number): number {
  return Math.max(0, Math.min(MOST_INTEGER, Math.floor(number + GRAIN)))
}

/** `RateLimit-Policy` of `policies`; the unit is requests, as nobody says. */
export function writeRateLimitPolicy(policies: readonly RateLimitPolicy[]): string {
  return policies.map(({ name, quota, windowS }) => member(name, P.quota, quota, P.window, windowS)).join(', ')
}

/** `RateLimit` of `limits`. */
export function writeRateLimit(limits: readonly RateLimitLeft[]): string {
  return limits.map(({ name, left, resetS }) => member(name, P.left, left, P.reset, resetS)).join(', ')
}

function member(name: string, first: string, value: number, second: string, seconds: number | undefined): string {
  const said = `${writeString(name, MOST_NAME)};${first}=${value}`
  return seconds === undefined ? said : `${said};${second}=${seconds}`
}

/** What `RateLimit-Policy` says; members without a quota, and a line that is malformed, say nothing. */
export function readRateLimitPolicy(line: string): RateLimitPolicy[] {
  return readList(line).flatMap(({ text, parameters }) => {
    const quota = count(parameters.get(P.quota))
    const windowS = count(parameters.get(P.window))
    return quota === undefined ? [] : [{ name: text, quota, windowS: windowS === 0 ? undefined : windowS }]
  })
}

/** What `RateLimit` says, likewise. */
export function readRateLimit(line: string): RateLimitLeft[] {
  return readList(line).flatMap(({ text, parameters }) => {
    const left = count(parameters.get(P.left))
    return left === undefined ? [] : [{ name: text, left, resetS: count(parameters.get(P.reset)) }]
  })
}

function count(value: number | string | undefined): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

/** Milliseconds for which `RateLimit` says that nothing is left, by any of its limits; 0: something is, or it does not say. */
export function pauseOfRateLimit(line: string): number {
  let seconds = 0
  for (const { left, resetS = 0 } of readRateLimit(line)) if (left === 0) seconds = Math.max(seconds, resetS)
  return seconds * 1000
}
