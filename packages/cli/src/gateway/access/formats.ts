import type { Entry } from './entry.ts'

// An entry as a line.
//
// What a client wrote is in it, so that a line must stay a line and a field a field whatever that was. The query is left out unless the
// operator wants it: people put secrets there.

export const formats = ['json', 'combined'] as const
export type Format = (typeof formats)[number]

/** Longer fields are cut: a line is for reading. */
const LONGEST = 2048

export type Writer = (entry: Entry, withQuery: boolean) => string

export const writers: Readonly<Record<Format, Writer>> = { json, combined }

function json(entry: Entry, withQuery: boolean): string {
  const { at, id, trace, client, method, version, host, referrer, agent, route, upstream, attempts } = entry
  const { status, sentBytes, code, cut, tookMs } = entry
  return JSON.stringify({
    time: new Date(at).toISOString(),
    id,
    ...(trace === '' ? {} : { trace }),
    client,
    method,
    target: short(targetOf(entry, withQuery)),
    version,
    host: short(host),
    ...(referrer === '' ? {} : { referrer: short(referrerOf(entry, withQuery)) }),
    ...(agent === '' ? {} : { agent: short(agent) }),
    route,
    ...(upstream === '' ? {} : { upstream }),
    attempts,
    status,
    bytes: sentBytes,
    ...(code === '' ? {} : { code }),
    ...(cut ? { cut } : {}),
    ms: Math.round(tookMs * 100) / 100,
  })
}

/** The format that Apache and nginx call `combined`; the first status of a client that left is nginx's 499. */
function combined(entry: Entry, withQuery: boolean): string {
  const { at, client, method, version, status, sentBytes, agent } = entry
  const request = `${quoted(method)} ${quoted(targetOf(entry, withQuery))} HTTP/${version}`
  const referrer = entry.referrer === '' ? '-' : quoted(referrerOf(entry, withQuery))
  const shown = status === 0 ? 499 : status
  const by = agent === '' ? '-' : quoted(agent)
  return `${client} - - [${clfTime(at)}] "${request}" ${shown} ${sentBytes} "${referrer}" "${by}"`
}

function targetOf({ target }: Entry, withQuery: boolean): string {
  return withQuery ? target : withoutQuery(target)
}

function referrerOf({ referrer }: Entry, withQuery: boolean): string {
  return withQuery ? referrer : withoutQuery(referrer)
}

function withoutQuery(url: string): string {
  const mark = url.search(/[?#]/)
  return mark < 0 ? url : url.slice(0, mark)
}

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** As Apache does: a quote, a backslash and what cannot be seen are escaped. */
function quoted(text: string): string {
  return short(text).replace(/["\\]|[^\x20-\x7e]/g, (one) => {
    if (one === '"' || one === '\\') return `\\${one}`
    return [...Buffer.from(one)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
  })
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

let second = Number.NaN
let secondText = ''

/** `10/Oct/2000:13:55:36 +0000`, made once per second. */
function clfTime(at: number): string {
  const now = Math.floor(at / 1000)
  if (now !== second) {
    const date = new Date(now * 1000)
    const [year = '', , day = ''] = date.toISOString().slice(0, 10).split('-')
    second = now
    secondText = `${day}/${MONTHS[date.getUTCMonth()]}/${year}:${date.toISOString().slice(11, 19)} +0000`
  }
  return secondText
}
