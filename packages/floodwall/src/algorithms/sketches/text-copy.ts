// How is a text kept that was cut out of a longer one?
//
// Engines do not copy what `slice` and `split` cut out, from 13 characters on in V8: they keep the whole text and where the part lies in it. A record for
// `?item=...` of a request's head of 15 KB would hold these 15 KB; 10,000 of them are 150 MB, which one client can order. So who keeps a text that may
// be such a part keeps a copy of it.
//
// Invariant: equal to what it was made of, and nothing else is alive through it.

/** The same text on its own. */
export function copyOf(text: string): string {
  // Two texts that are put together are written anew once somebody looks inside: with one character in front, which is cut off again.
  return ` ${text}`.slice(1)
}

/** Keys and values that are kept: a text on its own, anything else as it is. */
export function kept<V>(value: V): V {
  return typeof value === 'string' ? (copyOf(value) as V) : value
}
