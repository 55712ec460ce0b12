// What is to be said about routes, each thing once: with the names of those that have it in common.

const MOST_NAMES = 5

/** `routes "a", "b": text`, for pairs of a route's id and what is said of it. */
export function byRoute(said: Iterable<readonly [id: string, text: string]>): string[] {
  const byText = new Map<string, string[]>()
  for (const [id, text] of said) byText.set(text, [...(byText.get(text) ?? []), id])
  return [...byText].map(([text, ids]) => `${ids.length > 1 ? 'routes' : 'route'} ${namesOf(ids)}: ${text}`)
}

function namesOf(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_NAMES).map((id) => JSON.stringify(id))
  return ids.length > MOST_NAMES ? `${shown.join(', ')} and ${ids.length - MOST_NAMES} more` : shown.join(', ')
}
