// One case, as each side tells it.
import { requestsIn } from './strict.mjs'

/** @typedef {import('./strict.mjs').Request} Request */
/** @typedef {import('./run.mjs').Witness} Witness */

/**
 * The case itself, and what it is by the letter.
 *
 * @param {import('./cases.mjs').Case} one
 */
export function told(one) {
  const { text, cuts, pauseMs, leavesAt } = one
  const manner = [
    `${text.length} bytes`,
    one.clean ? 'nothing changed' : 'changed',
    `in ${cuts.length + 1} pieces${cuts.length === 0 ? '' : ` (at ${cuts.join(', ')})`}`,
    pauseMs > 0 ? `${pauseMs} ms between them` : '',
    leavesAt < 0 ? '' : `the client leaves at ${leavesAt}`,
    one.halfClose ? 'half-closes behind the last' : '',
    one.resets ? 'ends with a reset' : '',
  ]
  const { requests, wrong, rest } = requestsIn(text)
  return [
    `case ${one.number}: ${manner.filter((part) => part !== '').join(', ')}`,
    JSON.stringify(text),
    '',
    `by the letter: ${requests.length} requests`,
    ...requests.map(line),
    ...(rest === '' ? [] : [`  then ${wrong ?? 'nothing that counts'}: ${JSON.stringify(rest)}`]),
    '',
  ].join('\n')
}

/**
 * Says what happens, when it happens.
 *
 * @param {(text: string) => void} say
 * @returns {Witness}
 */
export function witnessTo(say) {
  return {
    upstream: (request) => say(`the upstream was sent\n${line(request)}`),
    malformed: (reason, text) => say(`the upstream was sent what makes no sense, ${reason}: ${JSON.stringify(text)}`),
    client({ text, closed, reset }) {
      const end = reset ? 'the connection was reset' : closed ? 'it was closed' : 'nothing more came'
      say(`the client heard, until ${end}\n  ${JSON.stringify(text)}\n`)
    },
  }
}

/** @param {Request} request */
function line({ method, target, minor, fields, body }) {
  const head = `${method} ${target} HTTP/1.${minor}, ${fields.length} lines`
  return `  ${head}, ${body === '' ? 'no body' : `${body.length} bytes: ${JSON.stringify(body.slice(0, 200))}`}`
}
