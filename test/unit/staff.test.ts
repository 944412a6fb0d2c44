/** Roles, names, new passwords and PINs of members of staff. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isPermitted,
  parseNewPassword,
  parsePin,
  parseStaffName,
  permissions,
  visiblePlaces,
  type Role,
  worksAt,
} from '../../src/core/staff/domain/staff.ts';
import { limits } from '../../src/platform/limits.ts';
import type { HashClient } from '../../src/core/staff/service/hash-queue.ts';
import { passwordsOf } from '../../src/core/staff/service/password.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';

test('an owner may do everything, a cashier only what the till needs, an accountant only read', () => {
  const of = (role: Role) =>
    permissions.filter((permission) => isPermitted({ role, locationIds: null }, permission));
  assert.deepEqual(of('owner'), permissions);
  assert.deepEqual(of('cashier'), ['useTill']);
  assert.deepEqual(of('accountant'), ['readCards', 'readStore', 'exportCards']);
  assert.deepEqual(
    permissions.filter((permission) => !isPermitted({ role: 'manager', locationIds: null }, permission)),
    ['changeSettings', 'manageStaff', 'manageTokens', 'readAuditLog'],
  );
});

test('a person who is limited to locations may do only what happens there', () => {
  const of = (role: Role) =>
    permissions.filter((permission) => isPermitted({ role, locationIds: [7] }, permission));
  assert.deepEqual(of('manager'), ['useTill', 'readCards', 'exportCards', 'changeCards']);
  assert.deepEqual(of('accountant'), ['readCards', 'exportCards']);
  assert.deepEqual(of('cashier'), ['useTill']);
  const limited = { locationIds: [7, 8] };
  assert.deepEqual(
    [7, 8, 9, null].map((id) => worksAt(limited, id)),
    [true, true, false, false],
  );
  assert.equal(worksAt({ locationIds: null }, null), true);
  assert.deepEqual(
    [7, 9, null, undefined].map((id) => visiblePlaces(limited, id)),
    [[7], [7, 8], [7, 8], [7, 8]],
  );
  assert.deepEqual(
    [7, null, undefined].map((id) => visiblePlaces({ locationIds: null }, id)),
    [[7], [null], null],
  );
});

test('a name has one line of visible characters', () => {
  assert.deepEqual(parseStaffName('  Zoë O’Neil '), { ok: true, value: 'Zoë O’Neil' });
  for (const name of ['', '  ', 'A\nB', 'A\u202eB', 'A\u200bB', 'x'.repeat(101), '\ud800'])
    assert.equal(parseStaffName(name).ok, false, JSON.stringify(name));
});

test('a new password has ten characters that are not the person’s own data', () => {
  const own = ['Ada Lovell', 'ada@flowers.example', 'flowers.example', 'Flowers'];
  for (const password of ['correct horse battery', 'p7#kd92-xx', '密码密码很长的一句话呀'])
    assert.equal(parseNewPassword(password, own).ok, true, password);
  const bad = [
    'short',
    'aaaaaaaaaaaaaa',
    'abababababab',
    'Ada Lovell1',
    'flowers123',
    'Password1!',
    'x'.repeat(201),
    'qwertyuiop1',
  ];
  for (const password of bad) assert.equal(parseNewPassword(password, own).ok, false, password);
});

test('a PIN has four to eight digits that are not a sequence', () => {
  for (const pin of ['2580', '135790', '11112222']) assert.equal(parsePin(pin).ok, true, pin);
  for (const pin of ['1234', '4321', '0000', '123', '123456789', '12a4', '１２５８', ''])
    assert.equal(parsePin(pin).ok, false, pin);
});

const stranger: HashClient = { isKnown: false, key: '192.0.2.0/24', isGone: () => false };

test('a hashed password is verified, and only the same text matches', async () => {
  const passwords = passwordsOf(systemRandom(systemClock), limits);
  const hash = await passwords.hash(stranger, 'correct horse battery');
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(await passwords.hash(stranger, 'correct horse battery'), hash, 'the salt is random');
  const verify = (hashed: string | null, ...texts: readonly string[]) =>
    passwords.verify(stranger, { texts, hashed });
  assert.equal(await verify(hash, 'correct horse battery'), true);
  assert.equal(await verify(hash, 'correct horse batterY'), false);
  assert.equal(await verify(hash, 'correct horse batterY', 'correct horse battery'), true);
  assert.equal(await verify(null, ''), false);
  await assert.rejects(verify('plain', 'x'), /does not have the form/);
});
