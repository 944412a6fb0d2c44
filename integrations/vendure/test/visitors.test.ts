/** The names of persons in requests to Largesse. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { visitorOf } from '../src/gift-cards.ts';

const token = 'lgs_secret';
const nameOf = (address: string | undefined, customerId?: string) =>
  visitorOf({ token }, { address, customerId });

test('a person is the customer who is signed in, or the network of the address, as a digest', () => {
  assert.match(nameOf('192.0.2.1') ?? '', /^[0-9a-f]{64}$/);
  const persons = [
    nameOf('192.0.2.1'), nameOf('192.0.2.2'), nameOf('2001:db8:1:2::1'), nameOf('2001:db8:1:3::1'), nameOf('::1'),
    nameOf('192.0.2.1', '7'), nameOf('192.0.2.1', '8'), visitorOf({ token: 'other' }, { address: '192.0.2.1', customerId: undefined }),
  ]; // prettier-ignore
  assert.equal(new Set(persons).size, persons.length);
  for (const [one, other] of [
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8:1:2::1', '2001:0DB8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8:0:0:1::'],
    ['fe80::1%eth0', 'fe80::2'],
  ] as const)
    assert.equal(nameOf(one), nameOf(other), one);
  assert.equal(nameOf('192.0.2.1', '7'), nameOf(undefined, '7'));
  assert.equal(nameOf(undefined), undefined);
});
