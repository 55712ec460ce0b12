import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { Signals } from '../../../src/server/signals/index.ts'
import { codeIn, page, rows, section } from '../../docs/pages.ts'
import { Machine } from './support/machine.ts'

test('the table of the page names the signals with their units and ramps', () => {
  using machine = new Machine()
  const signals = new Signals(new VirtualRuntime(), machine)
  const told = rows(section(page('docs/signals.md'), '## The signals'))
  expect(told.map(([name, unit, from, to]) => [codeIn(name), unit, Number(from), Number(to)])).toEqual(
    signals.all.map(({ name, unit, ramp: { from, to } }) => [name, unit, from, to]),
  )
})
