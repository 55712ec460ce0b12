import { parameterOf } from 'floodwall/server'
import { expect, test } from 'vitest'

const lines = ['Host', 'x', 'X-Shop', 'a', 'x-user', 'ann', 'X-User', 'ben']

test.each<[name: string, target: string, value: unknown]>([
  ['header:x-shop', '/', 'a'],
  ['header:X-SHOP', '/', 'a'],
  ['header:x-none', '/', undefined],
  ['header:x-user', '/', ['ann', 'ben']],
  ['path:0', '/items/42', 'items'],
  ['path:1', '/items/42?item=1', '42'],
  ['path:1', '/items/%34%32', '42'],
  ['path:2', '/items/42', undefined],
  ['path:1', '/items/', undefined],
  ['path:0', '/', undefined],
  ['path:0', 'http://shop.test/items', 'items'],
  ['path:-1', '/items', undefined],
  ['path:1e1', '/items', undefined],
  ['query:item', '/?item=42', '42'],
  ['query:item', '/?a=1&item=42&b', '42'],
  ['query:item', '/?%69tem=%34%32', '42'],
  ['query:item', '/?item=a+b', 'a b'],
  ['query:item', '/?item=', ''],
  ['query:item', '/?item', ''],
  ['query:item', '/?items=1', undefined],
  ['query:item', '/item=1', undefined],
  ['query:item', '/', undefined],
  ['query:item', '/?item=1&item=2', ['1', '2']],
  ['query:item', '/?item=%zz', '%zz'],
  ['query:__proto__', '/?__proto__=1', '1'],
  ['cookie:item', '/?item=1', undefined],
  ['item', '/?item=1', undefined],
])('%s of %s', (name, target, value) => {
  expect(parameterOf(name, target, lines)).toEqual(value)
})
