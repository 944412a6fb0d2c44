/**
 * Changes of the machine by an owner. Each is made with its entry in the audit log and an email to each owner, or not at all;
 * no acknowledged one is lost, and every owner gets an email about each.
 */

import assert from 'node:assert/strict';
import type { SmtpServer } from '../../delivery/email/smtp-server.ts';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { staffPassword } from '../../support/console.ts';
import type { Environment } from '../../support/engine-database.ts';
import { textOfPage } from '../../support/counter-staff.ts';
import { send } from '../../support/http-client.ts';
import { command } from '../../support/served.ts';
import { isRejected, persist, type Load, type World } from '../killing.ts';

const ownersDomain = 'owners.example';
const owners = [`ada@${ownersDomain}`, `grace@${ownersDomain}`] as const;

/** The settings of a service whose machine an owner sets up. */
export const machine: Environment = {
  MACHINE: 'owner',
  // No server listens there.
  RELEASES_URL: 'https://127.0.0.1:2/releases.json',
  RELEASES_KEY: Buffer.alloc(32, 1).toString('base64'),
};

/** An owner of a store, who has joined. The session survives kills. */
export async function openOwner(
  { url, environment }: World,
  domain: string,
  email: string,
): Promise<Browser> {
  const args = ['staff', 'invite', email, '--store', domain, '--role', 'owner', '--json'] as const;
  const { code, output, errors } = await command(environment, ...args);
  assert.equal(code, 0, errors);
  const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
  const browser = openBrowser({ url, request: (path, request) => send(`${url}${path}`, request) });
  const joined = await browser.post(pathname, { password: staffPassword });
  assert.equal(joined.status, 303, joined.text);
  return browser;
}

/** In turn: whether the service looks for new versions. Each has one entry in the audit log, and an email to each owner. */
const choices = ['yes', 'no'] as const;

/** @param reach lets the mail server accept emails to owners. Until then it rejects them, so that none is removed. */
export const openOwners =
  (server: SmtpServer, reach: () => void) =>
  async (world: World): Promise<Load> => {
    const { database, openStore, count } = world;
    const { storeId } = await openStore(ownersDomain);
    const [browser] = [
      await openOwner(world, ownersDomain, owners[0]),
      await openOwner(world, ownersDomain, owners[1]),
    ];
    /** The changes so far. */
    const made = async (): Promise<number> => {
      const rows = await database.query(
        "select details from staff_actions where store_id = ? and action = 'settings-changed'",
        storeId,
      );
      return rows.filter(({ details }) => !JSON.stringify(details).includes('test')).length;
    };
    let acknowledged = 0;
    /** Requests without a response. */
    let cut = 0;

    const decide = (step: number) =>
      browser.post('/settings/machine/versions', { choice: choices[step % 2] ?? 'no' });
    const changeNext = async (step: number, isOver: () => boolean): Promise<void> => {
      cut += 1;
      const response = await decide(step);
      if (isRejected(response, isOver)) return;
      assert.equal(response.status, 303, textOfPage(response));
      cut -= 1;
      acknowledged += 1;
    };
    /** Asserts that changes are complete: what they set, their entries, and the emails to the owners. */
    const assertWhole = async (): Promise<void> => {
      const changed = await made();
      assert.ok(
        changed >= acknowledged && changed <= acknowledged + cut,
        `${changed} made, ${acknowledged} acknowledged`,
      );
      const notices = await count('select count(*) from owner_notices where store_id = ?', storeId);
      assert.equal(notices, changed * owners.length, `${changed} changes`);
      const wanted = await count('select count(*) from version_check where is_wanted = 1');
      assert.equal(wanted, changed % 2, `change ${changed}`);
    };

    return {
      name: 'changes of the machine',
      count: () => acknowledged,
      async work(isOver) {
        while (!isOver())
          await persist(isOver, async () => {
            await changeNext(await made(), isOver);
          });
      },
      checkRestarted: assertWhole,
      async checkEnd() {
        reach();
        const waiting = 'select count(*) from owner_notices where store_id = ? and next_at is not null';
        const all = await made();
        // A decision also sends the emails that are due.
        for (let more = 0; (await count(waiting, storeId)) > 0; more += 1) {
          assert.ok(more < 2 * all, 'emails are left');
          await database.meddle(
            `update owner_notices set next_at = 0 where store_id = ${storeId} and next_at is not null`,
          );
          await decide(more);
        }
        for (const owner of owners) {
          const received = server.received.filter(({ to }) => to.includes(owner)).length;
          assert.ok(received >= all, `${owner} got ${received} of ${all} emails`);
        }
      },
    };
  };

/** Whether it is the address of an owner. */
export function isOwner(address: string): boolean {
  return address.endsWith(`@${ownersDomain}`);
}
