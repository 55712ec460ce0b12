import { bulkhead, keyed, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

test('a `by` that throws loses no permit: the call goes through the shared gate', async () => {
  const by = () => {
    throw new Error('no such user')
  }
  const layers = [bulkhead({ slots: 2 }), keyed({ of: bulkhead({ slots: 1 }), by })]
  const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
  for (let i = 0; i < 10; i++) expect(await p.call(() => i)).toBe(i)
  expect(p.inspect()).toMatchObject({ running: 0, calls: { success: 10 } })
})
