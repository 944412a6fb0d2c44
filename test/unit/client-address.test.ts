/** Client addresses, from connections and trusted proxies, and their keys in limits. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import test from 'node:test';
import fc from 'fast-check';
import { addressKey, clientAddresses, networkKey } from '../../src/http/client-address.ts';

function requestFrom(peer: string | undefined, forwardedFor?: string): IncomingMessage {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return { socket: { remoteAddress: peer }, headers } as IncomingMessage;
}

test('each IPv4 client has a key, and each IPv6 /64 has one', () => {
  const keys: Readonly<Record<string, string>> = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:c000:201': '192.0.2.1',
    '0:0:0:0:0:ffff:192.0.2.1': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::': '2001:db8:1:2::/64',
    '2001:0DB8:0001:0002:ffff::1': '2001:db8:1:2::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    '2001:db8::1:2:3:4:5': '2001:db8:0:1::/64',
    '64:ff9b::192.0.2.1': '64:ff9b:0:0::/64',
    '::': '0:0:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '': 'unknown',
    unknown: 'unknown',
    '192.0.2': 'unknown',
    '192.0.2.256': 'unknown',
    '2001:db8:::1': 'unknown',
  };
  for (const [address, key] of Object.entries(keys)) assert.equal(addressKey(address), key, address);
});

test('the network of an IPv4 client is its /24, that of an IPv6 client its /48', () => {
  const keys: Readonly<Record<string, string>> = {
    '192.0.2.1': '192.0.2.0/24',
    '192.0.2.255': '192.0.2.0/24',
    '192.0.3.1': '192.0.3.0/24',
    '::ffff:192.0.2.1': '192.0.2.0/24',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1::/48',
    '2001:DB8:1:ffff::': '2001:db8:1::/48',
    '2001:db8::': '2001:db8:0::/48',
    '': 'unknown',
    '192.0.2': 'unknown',
  };
  for (const [address, key] of Object.entries(keys)) assert.equal(networkKey(address), key, address);
});

test('all addresses of a /64 share a key, which differs from that of another /64, in every notation', () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  const network = fc.tuple(fc.integer({ min: 1, max: 0xffff }), group, group, group);
  const host = fc.tuple(group, group, group, group);
  const written = (groups: readonly number[]): readonly string[] => {
    const full = groups.map((one) => one.toString(16)).join(':');
    const padded = groups
      .map((one) => one.toString(16).padStart(4, '0'))
      .join(':')
      .toUpperCase();
    return [full, padded, new URL(`http://[${full}]/`).hostname.slice(1, -1)];
  };
  fc.assert(
    fc.property(network, host, host, (own, one, other) => {
      const keys = new Set([...written([...own, ...one]), ...written([...own, ...other])].map(addressKey));
      assert.equal(keys.size, 1);
      const next = [own[0], own[1], own[2], own[3] ^ 1];
      assert.ok(!keys.has(addressKey(written([...next, ...one])[0] ?? '')));
    }),
  );
});

test('without trusted proxies the client is the peer, and its headers are ignored', () => {
  const clients = clientAddresses([]);
  assert.equal(clients.of(requestFrom('192.0.2.1', '198.51.100.1')), '192.0.2.1');
  assert.equal(clients.of(requestFrom('::ffff:192.0.2.1')), '192.0.2.1');
  assert.equal(clients.of(requestFrom(undefined, '198.51.100.1')), '');
  assert.ok(!clients.isTrusted('127.0.0.1'));
  assert.ok(!clients.isTrusted(undefined));
});

test('the client is the nearest address that is not a trusted proxy', () => {
  const clients = clientAddresses(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);
  for (const [peer, forwardedFor, client] of [
    ['127.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['::ffff:127.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['127.0.0.1', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['127.0.0.1', '198.51.100.1,192.0.2.7,10.1.2.3', '192.0.2.7'],
    ['127.0.0.1', '198.51.100.1, ::ffff:10.1.2.3', '198.51.100.1'],
    ['fd00::1', '2001:DB8::7', '2001:db8::7'],
    ['127.0.0.1', '10.1.2.3, 10.1.2.4', '10.1.2.3'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.2', '192.0.2.7', '127.0.0.2'],
    ['127.0.0.1', '192.0.2.7:4711', '192.0.2.7'],
    ['127.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['127.0.0.1', '[2001:db8::7]', '2001:db8::7'],
  ] as const)
    assert.equal(clients.of(requestFrom(peer, forwardedFor)), client, `${peer} ${forwardedFor}`);
});

test('an invalid entry ends the search for the client: earlier entries do not count', () => {
  const clients = clientAddresses(['127.0.0.1', '10.0.0.0/8']);
  for (const entry of [
    'unknown',
    '_hidden',
    '',
    '192.0.2',
    '300.1.1.1',
    '<script>',
    '192.0.2.7:x',
    '[::1',
    'x:80',
  ]) {
    assert.equal(clients.of(requestFrom('127.0.0.1', entry)), '127.0.0.1', entry);
    assert.equal(clients.of(requestFrom('127.0.0.1', `198.51.100.1, ${entry}`)), '127.0.0.1', entry);
    assert.equal(clients.of(requestFrom('127.0.0.1', `198.51.100.1, ${entry}, 10.0.0.9`)), '10.0.0.9', entry);
    assert.equal(clients.of(requestFrom('127.0.0.1', `${entry}, 192.0.2.7`)), '192.0.2.7', entry);
  }
});

test('IPv4 networks match IPv4-mapped IPv6 addresses, and the other way round', () => {
  const clients = clientAddresses(['::ffff:10.0.0.0/104', '::ffff:192.0.2.1', '2001:db8::/32']);
  for (const peer of ['10.9.9.9', '::ffff:10.9.9.9', '192.0.2.1', '2001:db8:ffff::1'])
    assert.ok(clients.isTrusted(peer), peer);
  for (const peer of ['11.0.0.1', '192.0.2.2', '2001:db9::1']) assert.ok(!clients.isTrusted(peer), peer);
});
