import type { Entry } from './entry.ts'

// An entry as a line.
//
// What a client wrote is in it, so that a line must stay a line and a field a field whatever that was. The query is left out unless the
// operator wants it: people put secrets there.

export const formats = ['json', 'combined'] as const
export type Format = (typeof formats)[number]

/** Longer fields are cut: a line is for reading. */
const LONGEST = 2048

/** In ASCII, without the end of the line. */
export type Writer = (entry: Entry, withQuery: boolean) => string

export const writers: Readonly<Record<Format, Writer>> = { json, combined }

/** What means something in JSON, and what is no ASCII. */
const SPECIAL = /[^\x20\x21\x23-\x5b\x5d-\x7e]/

/**
 * Written by hand: an object that is made to be read once costs more than the line. Texts are looked at by an expression: for a loop over
 * strings of so many kinds (parts of others, sums of others) V8 has no fast code, and takes 20 ns a character.
 */
function json(entry: Entry, withQuery: boolean): string {
  const { id, trace, client, method, version, host, agent, route, upstream, code } = entry
  const target = targetOf(entry, withQuery)
  const referrer = referrerOf(entry, withQuery)
  const texts = { id, trace, client, method, target, version, host, referrer, agent, route, upstream, code }
  const special =
    target.length + host.length + referrer.length + agent.length > LONGEST ||
    SPECIAL.test(id) ||
    SPECIAL.test(client) ||
    SPECIAL.test(method) ||
    SPECIAL.test(target) ||
    SPECIAL.test(version) ||
    SPECIAL.test(host) ||
    SPECIAL.test(route) ||
    SPECIAL.test(upstream) ||
    (agent !== '' && SPECIAL.test(agent)) ||
    (trace !== '' && SPECIAL.test(trace)) ||
    (referrer !== '' && SPECIAL.test(referrer)) ||
    (code !== '' && SPECIAL.test(code))
  return line(special ? escaped(texts) : texts, entry)
}

type Texts = Omit<Entry, 'at' | 'attempts' | 'status' | 'sentBytes' | 'cut' | 'tookMs'>

/** Of texts that may stand between quotes. */
function line(
  { id, trace, client, method, target, version, host, referrer, agent, route, upstream, code }: Texts,
  { at, attempts, status, sentBytes, cut, tookMs }: Entry,
): string {
  const traced = trace === '' ? '' : `","trace":"${trace}`
  const referred = referrer === '' ? '' : `","referrer":"${referrer}`
  const by = agent === '' ? '' : `","agent":"${agent}`
  const from = upstream === '' ? '' : `","upstream":"${upstream}`
  const why = code === '' ? '' : `,"code":"${code}"`
  const ending = cut ? ',"cut":true,"ms":' : ',"ms":'
  return `{"time":"${isoTime(at)}","id":"${id}${traced}","client":"${client}","method":"${method}","target":"${target}","version":"${version}","host":"${host}${referred}${by}","route":"${route}${from}","attempts":${attempts},"status":${status},"bytes":${sentBytes}${why}${ending}${hundredths(tookMs)}}`
}

function escaped(texts: Texts): Texts {
  const made: Record<string, string> = {}
  for (const [name, value] of Object.entries(texts)) made[name] = inJson(name in cutShort ? short(value) : value)
  return made as Texts
}

/** Those that a client may make as long as he likes. */
const cutShort = { target: true, host: true, referrer: true, agent: true }

/** As it stands in JSON between the quotes, in ASCII. */
function inJson(value: string): string {
  const quotedText = JSON.stringify(value).slice(1, -1)
  return quotedText.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Whole numbers are written in a tenth of the time that fractions take. */
function hundredths(value: number): string {
  const all = Math.round(value * 100)
  const rest = all % 100
  const whole = (all - rest) / 100
  if (rest === 0) return `${whole}`
  if (rest % 10 === 0) return `${whole}.${rest / 10}`
  return rest < 10 ? `${whole}.0${rest}` : `${whole}.${rest}`
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
  return withQuery || referrer === '' ? referrer : withoutQuery(referrer)
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
  const whole = Math.floor(at)
  const ms = whole % 1000
  begin((whole - ms) / 1000)
  return `${iso}${ms < 10 ? '.00' : ms < 100 ? '.0' : '.'}${ms}Z`
}
