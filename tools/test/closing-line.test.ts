import { expect, test } from 'vitest'
import { tally } from './closing-line.ts'

const module = (states: string[], errors = 0, suiteErrors: number[] = []) => ({
  errors: () => Array(errors).fill({ message: 'it broke' }),
  children: {
    allTests: () => states.map((state) => ({ result: () => ({ state }) })),
    allSuites: () => suiteErrors.map((count) => ({ errors: () => Array(count).fill({}) })),
  },
})

test('counts tests over all modules', () => {
  const modules = [module(['passed', 'failed', 'skipped']), module(['passed'])]
  expect(tally(modules, 0)).toEqual({ passed: 2, failed: 1, skipped: 1 })
})

test('a module that did not load has failed', () => {
  expect(tally([module(['passed']), module([], 1)], 0)).toEqual({ passed: 1, failed: 1, skipped: 0 })
})

test('a suite whose hook threw has failed, though its tests were skipped', () => {
  expect(tally([module(['skipped', 'skipped'], 0, [1, 0])], 0)).toEqual({ passed: 0, failed: 1, skipped: 2 })
})

test('an error that no test caught has failed', () => {
  expect(tally([module(['passed'])], 2)).toEqual({ passed: 1, failed: 2, skipped: 0 })
})

test('a test without an end has failed', () => {
  expect(tally([module(['pending'])], 0)).toEqual({ passed: 0, failed: 1, skipped: 0 })
})
