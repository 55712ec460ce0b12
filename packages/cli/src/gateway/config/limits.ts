import { type Duration, toMs } from 'floodwall'
import * as v from 'valibot'
import { bytes, whole } from './words.ts'

// What strangers, and servers that went mad, can take of the gateway: each has an end.

/** A span above 0, in milliseconds. */
export const span: v.GenericSchema<Duration, number> = v.pipe(
  v.custom<Duration>(
    (given) => toMs(given) > 0 && toMs(given) <= 86_400_000,
    'a span such as 250 (ms), "250ms" or "1.5s", above 0 and at most a day',
  ),
  v.transform((given: Duration) => toMs(given)),
)

/** A span of 0 or more, in milliseconds. */
export const spanOrNone: v.GenericSchema<Duration, number> = v.pipe(
  v.custom<Duration>(
    (given) => toMs(given) >= 0 && toMs(given) <= 86_400_000,
    'a span such as 0, 250 (ms), "250ms" or "1.5s", at most a day',
  ),
  v.transform((given: Duration) => toMs(given)),
)

export const limitOptions = v.pipe(
  v.strictObject({
    /** Of a request's body. Default: no limit. */
    body: v.optional(bytes),
    /** Of a request's head, and of an answer's. Default 16 KiB. */
    headerBytes: v.optional(whole(1024, 1_048_576), 16_384),
    /** Lines in a request's head. Default 100. */
    headerCount: v.optional(whole(1, 10_000), 100),
    /** Open connections of clients, at each address; more are closed at once. Default 20000. */
    clients: v.optional(whole(1, 1_000_000), 20_000),
    /** From a connection to the end of its TLS handshake. Default 10 s. */
    handshake: v.optional(span, '10s'),
    /** To receive a request's head. Default 15 s. */
    head: v.optional(span, '15s'),
    /** To receive a whole request, body included. Default 5 min. */
    request: v.optional(span, '5m'),
    /** No byte of a body, in either direction, for so long. Default 60 s. */
    idle: v.optional(span, '60s'),
    /** Bytes a second that a client sends of a body that is waited for, after 20 s; 0: as slowly as it likes. Default 1 KiB. */
    upload: v.optional(bytes, '1KiB'),
    /** From `100 Continue` to the first byte of the body; what follows keeps to `upload`. Default 5 s. */
    continue: v.optional(span, '5s'),
    /** The client takes no byte of an answer for so long. Default 30 s. */
    stall: v.optional(span, '30s'),
    /** A connection without a request is kept for so long. Default 65 s. */
    keepAlive: v.optional(span, '65s'),
    /** To make a connection to an upstream. Default 1 s. */
    connect: v.optional(span, '1s'),
    /** Connections to each upstream; more requests wait for one. Default 256. */
    connections: v.optional(whole(1, 65_535), 256),
    /** Requests in flight on all static routes together. Default 128. */
    static: v.optional(whole(1, 65_535), 128),
    /** Of the bodies of all requests together, so much is kept in memory. Default 16 MiB. */
    replay: v.optional(bytes, '16MiB'),
    /** Connections that are upgraded (WebSocket) at the same time. Default 4096. */
    upgrades: v.optional(whole(0, 1_000_000), 4096),
    /** No byte on an upgraded connection, in either direction, for so long. Default 5 min. */
    upgradeIdle: v.optional(span, '5m'),
  }),
  v.transform(
    ({
      body,
      handshake,
      head,
      request,
      idle,
      upload,
      continue: goOn,
      stall,
      keepAlive,
      connect,
      replay,
      upgradeIdle,
      ...counts
    }) => ({
      ...counts,
      bodyBytes: body ?? Number.POSITIVE_INFINITY,
      handshakeMs: handshake,
      headMs: head,
      requestMs: request,
      idleMs: idle,
      uploadBytes: upload,
      continueMs: goOn,
      stallMs: stall,
      keepAliveMs: keepAlive,
      connectMs: connect,
      replayBytes: replay,
      upgradeIdleMs: upgradeIdle,
    }),
  ),
)

export type Limits = v.InferOutput<typeof limitOptions>

/** What a route may say about itself. */
export const routeLimitOptions = v.pipe(
  v.strictObject({
    /** Of a request's body. */
    body: v.optional(bytes),
    /** To receive a whole request, body included. */
    request: v.optional(span),
    /** No byte of a body, in either direction, for so long. */
    idle: v.optional(span),
    /** Bytes a second of a body that is waited for. */
    upload: v.optional(bytes),
  }),
  v.transform(
    ({ body, request, idle, upload }): RouteLimits => ({
      ...(body === undefined ? {} : { bodyBytes: body }),
      ...(request === undefined ? {} : { requestMs: request }),
      ...(idle === undefined ? {} : { idleMs: idle }),
      ...(upload === undefined ? {} : { uploadBytes: upload }),
    }),
  ),
)

/** Those of the limits that a route has of its own. */
export type RouteLimits = Partial<Pick<Limits, 'bodyBytes' | 'requestMs' | 'idleMs' | 'uploadBytes'>>
