/** Roles, names, new passwords and PINs of members of staff. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isPermitted,
  parseNewPassword,
  parsePin,
  parseStaffName,
  permissions,
  type Role,
} from '../../src/domain/staff.ts';
import { passwordsOf } from '../../src/service/password.ts';
import { systemClock } from '../../src/clock.ts';
import { systemRandom } from '../../src/random.ts';

test('an owner may do everything, a cashier only what the till needs, an accountant only read', () => {
  const of = (role: Role) => permissions.filter((permission) => isPermitted(role, permission));
  assert.deepEqual(of('owner'), permissions);
  assert.deepEqual(of('cashier'), ['useTill']);
  assert.deepEqual(of('accountant'), ['readCards', 'exportCards']);
  assert.deepEqual(
    permissions.filter((permission) => !isPermitted('manager', permission)),
    ['changeSettings', 'manageStaff', 'manageTokens', 'readAuditLog'],
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

test('a hashed password is verified, and only the same text matches', async () => {
  const passwords = passwordsOf(systemRandom(systemClock));
  const hash = await passwords.hash('correct horse battery');
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(await passwords.hash('correct horse battery'), hash, 'the salt is random');
  assert.equal(await passwords.verify('correct horse battery', hash), true);
  assert.equal(await passwords.verify('correct horse batterY', hash), false);
  assert.equal(await passwords.verify('', null), false);
  await assert.rejects(passwords.verify('x', 'plain'), /does not have the form/);
});

test('more than fifty waiting passwords are rejected, and the others are verified', async () => {
  const passwords = passwordsOf(systemRandom(systemClock));
  const hash = await passwords.hash('correct horse battery');
  const results = await Promise.allSettled(
    Array.from({ length: 60 }, () => passwords.verify('correct horse battery', hash)),
  );
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
  assert.equal(failed.length, 8);
  for (const error of failed) assert.equal((error as Error & { code?: string }).code, 'overloaded');
  assert.equal(await passwords.verify('correct horse battery', hash), true);
});
