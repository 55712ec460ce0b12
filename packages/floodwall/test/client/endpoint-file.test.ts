import { expect, test } from 'vitest'
import { endpointsIn } from '../../src/client/discovery/endpoint-file.ts'

test('lines: place, weight, zone; comments and blank lines; CRLF and a byte order mark', () => {
  const text = `\uFEFF# the shop
10.0.0.1:8080

10.0.0.2:8080 2.5 zone-a # the big one\r
shop.internal:80\tzone-b
https://[2001:db8::1]:8443 0
[::1]:80
`
  expect(endpointsIn(text)).toEqual([
    { id: '10.0.0.1:8080', weight: 1 },
    { id: '10.0.0.2:8080', weight: 2.5, zone: 'zone-a' },
    { id: 'shop.internal:80', weight: 1, zone: 'zone-b' },
    { id: 'https://[2001:db8::1]:8443', weight: 0 },
    { id: '[::1]:80', weight: 1 },
  ])
})

test('a file that begins with an IPv6 address is not JSON', () => {
  expect(endpointsIn('[::1]:80 2\n')).toEqual([{ id: '[::1]:80', weight: 2 }])
})

test('JSON: ids or objects, an empty list too', () => {
  const text = ' [ "a:1", { "id": "b", "address": "http://b:2", "weight": 3, "zone": "z" } ]'
  expect(endpointsIn(text)).toEqual([{ id: 'a:1' }, { id: 'b', address: 'http://b:2', weight: 3, zone: 'z' }])
  expect(endpointsIn('[]')).toEqual([])
})

test('a list that was cut anywhere is not a shorter list', () => {
  const lines = '10.0.0.1:8080 2 zone-a\n10.0.0.2:8080\n'
  for (let end = 0; end < lines.length; end++) {
    if (lines[end - 1] === '\n') continue
    expect(() => endpointsIn(lines.slice(0, end)), JSON.stringify(lines.slice(0, end))).toThrow()
  }
  const json = '[{ "id": "a:1" }, "b:2"]'
  for (let end = 0; end < json.length; end++) expect(() => endpointsIn(json.slice(0, end))).toThrow()
})

test.each([
  ['', /the file is empty/],
  ['  \n\n', /the file is empty/],
  ['10.0.0.1\n', /line 1: expected "host:port weight zone", got "10\.0\.0\.1"/],
  ['a:1\nb:0\n', /line 2/],
  ['a:65536\n', /line 1/],
  ['a:1 -2\n', /line 1/],
  ['a:1 1 zone more\n', /line 1/],
  ['a:1 1e9\n', /line 1/],
  ['http://a:1/path\n', /line 1/],
  ['user@a:1\n', /line 1/],
  ['{ "endpoints": [] }\n', /line 1/],
  ['[{ "id": "a", "wieght": 2 }]', /endpoints\[0\]/],
  ['[{ "id": "a" }, 7]', /endpoints\[1\]/],
  [`[${'"a",'.repeat(10_000)}"a"]`, /at most 10000 endpoints/],
])('%j is refused', (text, message) => {
  expect(() => endpointsIn(text)).toThrow(message)
})
