import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { classify, isPublic } from '../../../src/platform/public-address.ts';
import { forbidden } from './forbidden-addresses.ts';

for (const [reason, addresses] of Object.entries(forbidden)) {
  test(`forbidden: ${reason}`, () => {
    for (const address of addresses) {
      assert.deepEqual(classify(address), { kind: 'forbidden', reason }, address);
      assert.deepEqual(classify(address.toUpperCase()), { kind: 'forbidden', reason }, address);
    }
  });
}

test('addresses next to the ranges, and well-known hosts, are public', () => {
  const addresses = [
    '1.0.0.0',
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '93.184.215.14',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::',
    '2001:200::',
    '2001:4860:4860::8888',
    '2001:db7:ffff::1',
    '2001:db9::',
    '2003::1',
    '2606:4700:4700::1111',
    '2620:4f:7fff::1',
    '2a00:1450:4001:82a::200e',
    '3ffd::1',
    '3fff:1000::1',
    '64:ff9b::8.8.8.8',
    '64:ff9b::5db8:d70e',
  ];
  for (const address of addresses) assert.deepEqual(classify(address), { kind: 'public' }, address);
});

/** The same ranges as 32-bit numbers: `[first, last]`. */
const ipv4Forbidden: readonly (readonly [number, number])[] = [
  [0x00000000, 0x00ffffff],
  [0x0a000000, 0x0affffff],
  [0x64400000, 0x647fffff],
  [0x7f000000, 0x7fffffff],
  [0xa83f8110, 0xa83f8110],
  [0xa9fe0000, 0xa9feffff],
  [0xac100000, 0xac1fffff],
  [0xc0000000, 0xc00000ff],
  [0xc0000200, 0xc00002ff],
  [0xc01fc400, 0xc01fc4ff],
  [0xc034c100, 0xc034c1ff],
  [0xc0586300, 0xc05863ff],
  [0xc0a80000, 0xc0a8ffff],
  [0xc0af3000, 0xc0af30ff],
  [0xc6120000, 0xc613ffff],
  [0xc6336400, 0xc63364ff],
  [0xcb007100, 0xcb0071ff],
  [0xe0000000, 0xffffffff],
];
const edges = ipv4Forbidden
  .flatMap(([first, last]) => [first - 1, first, last, last + 1])
  .filter((edge) => edge >= 0 && edge <= 0xffffffff);
const ipv4 = fc.oneof(fc.integer({ min: 0, max: 0xffffffff }), fc.constantFrom(...edges));
const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

test('an IPv4 address is public if and only if it is in no range', () => {
  fc.assert(
    fc.property(ipv4, (value) => {
      const isInRange = ipv4Forbidden.some(([first, last]) => value >= first && value <= last);
      assert.equal(isPublic(dotted(value)), !isInRange, dotted(value));
    }),
    { numRuns: 3_000 },
  );
});

test('an IPv6 address with a forbidden IPv4 address is forbidden', () => {
  fc.assert(
    fc.property(ipv4, (value) => {
      const address = dotted(value);
      assert.equal(isPublic(`64:ff9b::${address}`), isPublic(address), address);
      const hex = [value >>> 16, value & 0xffff].map((part) => part.toString(16)).join(':');
      const others = [
        `::ffff:${address}`,
        `::ffff:${hex}`,
        `::${address}`,
        `::ffff:0:${address}`,
        `2002:${hex}::1`,
        `64:ff9b:1::${address}`,
        `2001::${hex}`,
      ];
      for (const other of others) assert.equal(isPublic(other), false, other);
    }),
    { numRuns: 1_000 },
  );
});

test('only IPv6 addresses of 2000::/3 and NAT64 can be public', () => {
  const part = fc.integer({ min: 0, max: 0xffff });
  fc.assert(
    fc.property(fc.array(part, { minLength: 8, maxLength: 8 }), (parts) => {
      const address = parts.map((value) => value.toString(16)).join(':');
      const [first = 0] = parts;
      if (first < 0x2000 || first > 0x3fff) assert.equal(isPublic(address), false, address);
    }),
    { numRuns: 3_000 },
  );
});
