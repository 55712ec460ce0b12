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

/** Written by hand: an object that is made to be read once costs more than the line. */
function json(entry: Entry, withQuery: boolean): string {
  const { at, id, trace, client, method, version, host, referrer, agent, route, upstream } = entry
  let line = `{"time":"${isoTime(at)}","id":${text(id)}`
  if (trace !== '') line += `,"trace":${text(trace)}`
  line += `,"client":${text(client)},"method":${text(method)},"target":${text(short(targetOf(entry, withQuery)))}`
  line += `,"version":${text(version)},"host":${text(short(host))}`
  if (referrer !== '') line += `,"referrer":${text(short(referrerOf(entry, withQuery)))}`
  if (agent !== '') line += `,"agent":${text(short(agent))}`
  line += `,"route":${text(route)}`
  if (upstream !== '') line += `,"upstream":${text(upstream)}`
  line += `,"attempts":${entry.attempts},"status":${entry.status},"bytes":${entry.sentBytes}`
  if (entry.code !== '') line += `,"code":${text(entry.code)}`
  if (entry.cut) line += ',"cut":true'
  return `${line},"ms":${Math.round(entry.tookMs * 100) / 100}}`
}

/** As it is where nothing in it means something in JSON. */
function text(value: string): string {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(value)
  }
  return `"${value}"`
}

/** The format that Apache and nginx call `combined`; the first status of a client that left is nginx's 499. */
function combined(entry: Entry, withQuery: boolean): string {
  const { at, client, method, version, status, sentBytes, agent } = entry
  const request = method === '' ? '-' : `${quoted(method)} ${quoted(targetOf(entry, withQuery))} HTTP/${version}`
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
let clf = ''
/** Up to the second. */
let iso = ''

/** Both forms are made once per second. */
function begin(now: number): void {
  if (now === second) return
  const date = new Date(now * 1000)
  iso = date.toISOString().slice(0, 19)
  const [year = '', , day = ''] = iso.slice(0, 10).split('-')
  clf = `${day}/${MONTHS[date.getUTCMonth()]}/${year}:${iso.slice(11)} +0000`
  second = now
}

/** `10/Oct/2000:13:55:36 +0000` */
function clfTime(at: number): string {
  begin(Math.floor(at / 1000))
  return clf
}

/** `2000-10-10T13:55:36.250Z` */
function isoTime(at: number): string {
  begin(Math.floor(at / 1000))
  return `${iso}.${String(Math.floor(at) % 1000).padStart(3, '0')}Z`
}
