/** The limits at which something of the machine needs a person. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  assessDisk,
  findMachineProblems,
  isBackupOverdue,
  type MachineCondition,
} from '../../src/features/health/domain/health.ts';
import { assessCertificate } from '../../src/features/https/domain/failure.ts';
import { troubleIn, troubleOf } from '../../src/features/email-server/delivery/trouble.ts';
import { mayBeIll } from '../../src/features/health/service/health.ts';

const day = 24 * 60 * 60 * 1_000;
const now = 100 * day;

const well: MachineCondition = {
  disk: { freeBytes: 2 ** 40, bytesMin: 2 ** 20 },
  clockJumpMs: 0,
  certificate: { period: { from: now - day, until: now + 89 * day }, failure: null },
  backup: { lastAt: now - day, sinceAt: 0 },
  hasLateEmails: false,
  hasRejectedHints: false,
  versionsFailingSince: null,
};

function problems(changes: Partial<MachineCondition>): readonly string[] {
  const machine = { ...well, ...changes };
  const found = findMachineProblems(machine, now).map(({ about, level }) => `${about}: ${level}`);
  assert.equal(mayBeIll(machine, now), found.length > 0 || machine.hasLateEmails);
  return found;
}

test('a machine in order has no problem, and one without disk, certificate and backups of its own neither', () => {
  assert.deepEqual(problems({}), []);
  assert.deepEqual(problems({ disk: null, certificate: null, backup: null }), []);
  assert.deepEqual(problems({ hasLateEmails: true }), [], 'emails belong to a store');
});

test('each part has its limits, and the most urgent one is first', () => {
  const ended = { period: { from: 0, until: now }, failure: null };
  assert.deepEqual(
    problems({
      disk: { freeBytes: 2 ** 20 - 1, bytesMin: 2 ** 20 },
      clockJumpMs: -1,
      certificate: ended,
      backup: { lastAt: now - 3 * day - 1, sinceAt: 0 },
      versionsFailingSince: 0,
    }),
    ['disk: error', 'clock: error', 'backup: error', 'certificate: error', 'versions: warning'],
  );
  assert.equal(assessDisk(2 ** 23, { bytesMin: 2 ** 20 }), null);
  assert.equal(assessDisk(2 ** 23 - 1, { bytesMin: 2 ** 20 }), 'warning');
  assert.equal(assessCertificate(null, now), 'error');
  assert.equal(assessCertificate({ from: now + 1, until: now + day }, now), 'error', 'not valid yet');
  assert.equal(assessCertificate({ from: now - 75 * day, until: now + 25 * day }, now), null);
  assert.equal(assessCertificate({ from: now - 75 * day - 4, until: now + 25 * day }, now), 'warning');
});

test('a new shop has three days for its first backup', () => {
  assert.equal(isBackupOverdue({ lastAt: null, sinceAt: now - 3 * day }, now), false);
  assert.equal(isBackupOverdue({ lastAt: null, sinceAt: now - 3 * day - 1 }, now), true);
  assert.equal(isBackupOverdue({ lastAt: now - 2 * day, sinceAt: 0 }, now), false);
});

test('a stored response has the meaning that its outcome had', () => {
  const cases = [
    ['535 5.7.8 Authentication failed', 535, 'signIn'],
    ['451 4.7.1 Greylisted', 451, 'later'],
    ['550 relay not permitted', 550, 'relay'],
    ['connect ECONNREFUSED 192.0.2.1:587', null, 'noConnection'],
    ['Connection timeout', null, 'noResponse'],
  ] as const;
  for (const [response, code, meaning] of cases) {
    assert.equal(troubleIn(response), meaning, response);
    assert.equal(troubleOf({ kind: 'rejected', response, code }), meaning, response);
  }
});
