import { stripVTControlCharacters } from 'node:util'
import type pc from 'picocolors'

// Numbers as words, and text in columns.

/** Colours, or the same functions without. */
export type Paint = ReturnType<typeof pc.createColors>

export function milliseconds(ms: number): string {
  return Number.isNaN(ms) ? '–' : `${whole(ms)} ms`
}

/** With thousands marked, the same in every locale: 1,600. */
export function whole(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}

/** Rounded down, so that one failure in a million is not "100 %". */
export function percent(share: number): string {
  if (Number.isNaN(share)) return '–'
  return share === 1 ? '100 %' : `${(Math.floor(share * 1000) / 10).toFixed(1)} %`
}

/** Without the care: for a share of traffic. */
export function wholePercent(share: number): string {
  return Number.isNaN(share) ? '–' : `${whole(share * 100)} %`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What a cluster that recovers does. */
export function letsThrough(share: number): string {
  return share === 0
    ? 'all are out: nothing is let through but a probe now and then'
    : `recovering: ${wholePercent(share)} of the requests are let through`
}

export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

export function left(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function right(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** What fits into a line. Colours take no room, and those that begin also end. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let room = Math.max(0, width - 1)
  let fitting = ''
  let inColour = false
  for (const character of text) {
    inColour ||= character === '\u001b'
    if (inColour || room-- > 0) fitting += character
    if (character === 'm') inColour = false
  }
  return `${fitting}…`
}

/** A number and its unit stay together. */
const SPACE = / (?!(?:s|ms|%)(?:\W|$))/

/** Lines of whole words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(SPACE)) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
