import { showMs } from '../core/duration.ts'
import type { Refuser, Rejection } from '../core/gate.ts'

/** Why somebody was refused who waited, or would have had to. */
export function explainWait({ reason, value, limit }: Rejection): string {
  if (reason === 'queue-full') return `${value} wait already, in ${limit} places`
  if (reason === 'deadline') return `${showMs(value)} remain, and it would take ${showMs(limit)}`
  if (reason === 'closed') return 'it was closed'
  return `waited ${showMs(value)}${value > limit ? `, ${showMs(limit)} at most` : ''}`
}

/** What a change of the state is told as. */
export function turned(overloaded: boolean, waiting: number, level: number): { from: string; to: string; why: string } {
  if (overloaded) return { from: 'calm', to: 'overloaded', why: `more is offered than can be done, ${waiting} wait` }
  return { from: 'overloaded', to: 'calm', why: `the level was ${level.toFixed(0)}` }
}

/** Refuses by level: the numbers are places, not milliseconds. */
export function levelRefuser(kind: string, path: string): Refuser {
  return {
    ...{ kind, path },
    explain: ({ value, limit }) =>
      `more is offered than can be done: the level is ${limit.toFixed(0)} of 512, and the call stands at ${value.toFixed(0)}`,
  }
}
