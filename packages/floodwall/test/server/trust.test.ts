import { expect, test } from 'vitest'
import { type Trust, trusting } from '../../src/server/trust.ts'

test.each<[string, Trust, string | undefined, boolean]>([
  ['an address', ['10.0.0.1'], '10.0.0.1', true],
  ['another address', ['10.0.0.1'], '10.0.0.2', false],
  ['the first of a network', ['10.0.0.0/8'], '10.0.0.0', true],
  ['the last of a network', ['10.0.0.0/8'], '10.255.255.255', true],
  ['the one after it', ['10.0.0.0/8'], '11.0.0.0', false],
  ['one of several', ['10.0.0.0/8', '192.168.0.0/16'], '192.168.3.4', true],
  ['IPv4 on a socket for both', ['10.0.0.0/8'], '::ffff:10.1.2.3', true],
  ['a stranger on a socket for both', ['10.0.0.0/8'], '::ffff:11.1.2.3', false],
  ['the loopback of IPv6', ['::1'], '::1', true],
  ['a network of IPv6', ['fd00::/8'], 'fd12:3456::1', true],
  ['IPv6 that is no part of it', ['fd00::/8'], 'fe80::1', false],
  ['everybody of IPv4, and not of IPv6', ['0.0.0.0/0'], '2001:db8::1', false],
  ['nobody', [], '127.0.0.1', false],
  ['a socket without an address', ['0.0.0.0/0', '::/0'], undefined, false],
  ['what is no address', ['0.0.0.0/0', '::/0'], 'localhost', false],
  ['whom a function believes', (address) => address.endsWith('.7'), '10.0.0.7', true],
  ['whom it does not', (address) => address.endsWith('.7'), '10.0.0.8', false],
  ['nobody, when the function throws', () => JSON.parse('{'), '10.0.0.7', false],
  ['nobody, when it answers a promise', (async () => true) as never, '10.0.0.7', false],
  ['no address, whatever the function', () => true, undefined, false],
])('%s', (_, trust, address, expected) => {
  expect(trusting(trust)(address)).toBe(expected)
})
