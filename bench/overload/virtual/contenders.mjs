// What stands before the server. Each is made anew for each life.

/** @type {Readonly<Record<string, (library: any) => readonly any[]>>} */
export const contenders = {
  nothing: () => [],
  // The number that somebody measured once: for 4 workers right, for others not.
  'fixed limit 8': ({ bulkhead }) => [bulkhead({ slots: 8 })],
  'queue, codel': ({ queue, bulkhead }) => [queue({ codel: {}, order: 'adaptive' }), bulkhead({ slots: 8 })],
  'adaptive limit': ({ adaptiveLimit }) => [adaptiveLimit({})],
  overload: ({ overload }) => [overload()],
}
