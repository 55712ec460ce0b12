import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, pictures } from './charts.mjs'

// The pictures of the documents show what the code does now. When it does something else on purpose: `npm run docs:charts`, look at them, commit.

test('every picture that lies there is drawn here', () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(pictures).sort())
})

test.each(Object.entries(pictures))('%s is as the code draws it', (name, draw) => {
  const drawn = draw()
  expect(drawn === readFileSync(join(folder, name), 'utf8'), `${name} has changed: npm run docs:charts`).toBe(true)
  expect(draw(), 'drawing it twice').toBe(drawn)
})
