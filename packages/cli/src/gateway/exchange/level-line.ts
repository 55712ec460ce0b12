import { names } from 'floodwall/wire'
import type { Exchange } from './exchange.ts'

/** The route's own level, for who is trusted, in place of that of a server behind it: the caller asks the route. */
export function withLevel(lines: string[], { peer, route }: Exchange): string[] {
  const level = peer.trusted ? route.levelText() : undefined
  if (level === undefined) return lines
  for (let i = lines.length - 2; i >= 0; i -= 2) if (lines[i] === names.level) lines.splice(i, 2)
  lines.push(names.level, level)
  return lines
}
