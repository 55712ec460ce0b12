import type { Happening } from '../testing/agenda.ts'
import type { Course } from './arrivals.ts'
import type { Chance } from './chance.ts'
import type { Population } from './population.ts'
import type { ServiceTime } from './service-time.ts'

/** Callers who come whatever became of those before. */
export class OpenFlow implements Happening {
  private readonly population: Population
  private readonly course: Course

  constructor(population: Population, course: Course) {
    this.population = population
    this.course = course
  }

  /** The next one comes at his time. */
  plan(): void {
    const at = this.course.next()
    if (at < Number.POSITIVE_INFINITY) this.population.world.planAt(at, this)
  }

  happen(): void {
    if (this.population.stopped) return
    this.plan()
    this.population.begin(null)
  }
}

/** Somebody who thinks, asks, waits for the end of it, and thinks again. */
export class User implements Happening {
  private readonly population: Population
  private readonly thinks: ServiceTime
  private readonly chance: Chance

  constructor(population: Population, thinks: ServiceTime, chance: Chance) {
    this.population = population
    this.thinks = thinks
    this.chance = chance
  }

  readonly think = (): void => {
    this.population.world.plan(this.thinks.draw(this.chance), this)
  }

  happen(): void {
    if (!this.population.stopped) this.population.begin(this.think)
  }
}
