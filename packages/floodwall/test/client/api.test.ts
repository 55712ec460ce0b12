import { expect, test } from 'vitest'
import { apiOf, asked, patternOf } from '../../src/client/api.ts'
import type { Call } from '../../src/core/call.ts'

test.each([
  ['/', '/'],
  ['/items', '/items'],
  ['/items/4711', '/items/{id}'],
  ['/items/4711?page=2', '/items/{id}'],
  ['/items/4711#top', '/items/{id}'],
  ['/items/4711/', '/items/{id}/'],
  ['/v1/items', '/v1/items'],
  ['/s3/oauth2/ipv4', '/s3/oauth2/ipv4'],
  ['/days/2024-05-01', '/days/{id}'],
  ['/apps/1.20.3', '/apps/{id}'],
  ['/u/6f1b2c3d-0000-4abc-8def-0123456789ab/pets', '/u/{id}/pets'],
  ['/blobs/9f86d081884c7d659a2feaa0c55ad015', '/blobs/{id}'],
  ['/orders/01ARZ3NDEKTSV4RRFFQ69G5FAV', '/orders/{id}'],
  ['/pages/a-long-name-in-plain-words', '/pages/a-long-name-in-plain-words'],
  ['/a/b/c/d/e/f/g/h/i/j', '/a/b/c/d/e/f/g/h'],
  [`/${'x'.repeat(500)}`, `/${'x'.repeat(199)}`],
])('%s is %s', (path, pattern) => {
  expect(patternOf(path)).toBe(pattern)
})

test('the name that the caller gives stands for the path', () => {
  const named = { method: 'GET /items/:id' }
  const api = (init: object) => apiOf({ init } as unknown as Call)
  expect(api({ ...asked('GET', '/items/1', named), ...named })).toBe('GET /items/:id')
  expect(api(asked('GET', '/items/1?x', {}))).toBe('GET /items/{id}')
  expect(api({})).toBe('')
})
