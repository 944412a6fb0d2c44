/** Retention of what members of staff signed in with: ended sessions, used links and revoked tills. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import test from 'node:test';
import { openBrowser } from '../support/browser.ts';
import { consoleDomain, invite, join, staffPassword } from '../support/console.ts';
import { enrollDevice, enterPin } from '../support/counter.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';

const dayMs = 24 * 60 * 60_000;

async function openShop(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  return await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }],
    environment,
    limits: { retentionPeriodMs: 20, retentionRowsMax: 2 },
  });
}

async function countsOf(service: TestService): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const table of ['staff_sessions', 'staff_links', 'tills', 'staff', 'staff_actions']) {
    const [row] = await service.query(`select count(*) as n from ${table}`);
    counts.push(Number(row?.['n']));
  }
  return counts;
}

/** An owner with five ended sessions, a used link, and a revoked till on which a session was opened. */
async function useAndEnd(service: TestService) {
  const owner = await join(service, 'owner');
  await owner.post('/account/pin', { pin: '2580' });
  const device = await enrollDevice(service, owner);
  assert.equal((await enterPin(device, 'owner', '2580')).status, 303);
  const signIn = { email: `owner@${consoleDomain}`, password: staffPassword };
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await owner.post('/sign-in', signIn)).status, 303);
    assert.equal((await owner.post('/sign-out')).status, 303);
  }
  const last = openBrowser(service);
  assert.equal((await last.post('/sign-in', signIn)).status, 303);
  const [till] = await service.query('select id from tills');
  const revoked = await last.post(`/tills/${String(till?.['id'])}/revoke`);
  assert.equal(revoked.status, 303, revoked.text);
  const [row] = await service.query('select revoked_at from tills');
  assert.notEqual(row?.['revoked_at'], null);
}

test('ended sessions, used links and revoked tills are erased after 90 days, and the audit log stays', async () => {
  await using service = await openShop();
  await useAndEnd(service);
  const [sessions = 0, links, tills, people, actions = 0] = await countsOf(service);
  assert.deepEqual([sessions, links, tills, people], [6, 1, 1, 1]);
  service.clock.advance(89 * dayMs);
  await wait(200);
  assert.deepEqual(
    (await countsOf(service)).slice(0, 3),
    [sessions, links, tills],
    'the period has not passed',
  );
  service.clock.advance(2 * dayMs);
  const browser = openBrowser(service);
  const signIn = { email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await browser.post('/sign-in', signIn)).status, 303);
  await until(async () => {
    const [left, unused, devices] = await countsOf(service);
    return left === 1 && unused === 0 && devices === 0;
  });
  assert.equal((await browser.get('/staff')).status, 200, 'the open session stays');
  assert.ok(((await countsOf(service))[4] ?? 0) > actions);
  const audit = await browser.get('/audit');
  assert.equal(audit.status, 200);
  assert.match(audit.text, /Counter/, 'the audit log still names the till');
});

test('SESSION_RETENTION_DAYS sets the period, and an enrolled till and an open link stay', async () => {
  await using service = await openShop({ SESSION_RETENTION_DAYS: '1' });
  const owner = await join(service, 'owner');
  await enrollDevice(service, owner);
  service.clock.advance(3 * dayMs);
  await invite(service, `new@${consoleDomain}`, 'cashier');
  await until(async () => {
    const [sessions, links] = await countsOf(service);
    return sessions === 0 && links === 1;
  });
  await wait(200);
  assert.deepEqual((await countsOf(service)).slice(0, 4), [0, 1, 1, 2]);
});
