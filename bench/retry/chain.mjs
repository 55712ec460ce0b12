// Services that call each other, each through layers of its own, over all levels down to one that everything is about.

/** A service that does nothing but call the next one. */
class Hop {
  /**
   * @param {any} library
   * @param {{ layers: readonly any[], next: any, told: boolean, world: any, name: string }} hop
   */
  constructor({ pipeline, answered, failed }, { layers, next, told, world, name }) {
    this.through = pipeline(name, layers, { runtime: world })
    this.serve = (call, done) => {
      const passOn = (outcome) => {
        if (told || outcome.verdict === 'success') return done(outcome)
        // As over a wire that carries a status and nothing else: another error, and no word on retries.
        done(outcome.ok ? answered(outcome.value, outcome.verdict) : failed(new Error('502'), outcome.verdict))
      }
      this.through.start(next.serve, passOn, { idempotent: true, parent: call })
    }
  }
}

/**
 * What clients call through layers of their own, so that `depth` levels of them are above `last`.
 *
 * @param {any} library
 * @param {{ depth: number, layers: (level: number) => readonly any[], last: any, told: boolean, world: any }} chain
 */
export function chain(library, { depth, layers, last, told, world }) {
  let next = last
  for (let level = depth; level > 1; level--)
    next = new Hop(library, { layers: layers(level), next, told, world, name: `level ${level}` })
  return next
}
