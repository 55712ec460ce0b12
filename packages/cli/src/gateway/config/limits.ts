import { type Duration, toMs } from 'floodwall'
import * as v from 'valibot'

// What strangers, and servers that went mad, can take of the gateway: each has an end.

/** A span above 0, in milliseconds. */
export const span: v.GenericSchema<Duration, number> = v.pipe(
  v.custom<Duration>(
    (given) => toMs(given) > 0 && toMs(given) <= 86_400_000,
    'a span such as 250 (ms), "250ms" or "1.5s", above 0 and at most a day',
  ),
  v.transform((given: Duration) => toMs(given)),
)

function whole(least: number, most: number): v.GenericSchema<number, number> {
  return v.custom<number>(
    (given) => typeof given === 'number' && Number.isInteger(given) && given >= least && given <= most,
    `a whole number from ${least} to ${most}`,
  )
}

export const limitOptions = v.pipe(
  v.strictObject({
    /** Of a request's head, and of an answer's. Default 16 KiB. */
    headerBytes: v.optional(whole(1024, 1_048_576), 16_384),
    /** Lines in a request's head. Default 100. */
    headerCount: v.optional(whole(1, 10_000), 100),
    /** To receive a request's head. Default 15 s. */
    head: v.optional(span, '15s'),
    /** To receive a whole request, body included. Default 5 min. */
    request: v.optional(span, '5m'),
    /** No byte of a body, in either direction, for so long. Default 60 s. */
    idle: v.optional(span, '60s'),
    /** The client takes no byte of an answer for so long. Default 30 s. */
    stall: v.optional(span, '30s'),
    /** A connection without a request is kept for so long. Default 65 s. */
    keepAlive: v.optional(span, '65s'),
    /** To make a connection to an upstream. Default 1 s. */
    connect: v.optional(span, '1s'),
    /** Connections to each upstream; more requests wait for one. Default 256. */
    connections: v.optional(whole(1, 65_535), 256),
  }),
  v.transform(({ head, request, idle, stall, keepAlive, connect, ...counts }) => ({
    ...counts,
    headMs: head,
    requestMs: request,
    idleMs: idle,
    stallMs: stall,
    keepAliveMs: keepAlive,
    connectMs: connect,
  })),
)

export type Limits = v.InferOutput<typeof limitOptions>
