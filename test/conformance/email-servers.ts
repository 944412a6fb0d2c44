/** The mail servers of stores: sealed passwords, digits of test emails, and whose emails are sent. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { mayOwnersSetMachine } from '../../src/core/stores/service/machine.ts';
import { emailWorkerLimits } from '../../src/features/emails/delivery/destinations.ts';
import { emailQueue } from '../../src/features/emails/delivery/queue.ts';
import type { StoreServers } from '../../src/features/emails/delivery/store-servers.ts';
import type { EmailTransport } from '../../src/features/emails/delivery/transport.ts';
import { startWorker } from '../../src/delivery/worker.ts';
import type { EmailServer, OpenedServer } from '../../src/features/emails/domain/server.ts';
import { Secret } from '../../src/platform/secret.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { readEmailServers } from '../../src/features/email-server/service/server.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import {
  draftEmailServer,
  removeEmailServer,
  verifyEmailServer,
} from '../../src/features/email-server/service/staff-email-server.ts';
import { findEmailServer, openServer } from '../../src/features/emails/storage/server.ts';
import { all, execute, sql } from '../../src/database/sql/sql.ts';
import { personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { until } from '../support/delivering.ts';
import { accepts } from '../support/emailing.ts';
import { email, issueCommand, newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const server: EmailServer = {
  host: 'smtp.mail.example',
  port: 587,
  tls: 'starttls_required',
  user: 'gifts',
  sender: 'gifts@flowers.example',
};
const password = new Secret('hush-hush-hush');
const rule = 'owner';

/** Sets a server for the store, as an owner does. */
async function setServer(
  opened: Pick<OpenStore, 'storage' | 'ctx' | 'store' | 'database'>,
  given = server,
): Promise<void> {
  const { storage, ctx } = opened;
  const owner = await personOf(opened as OpenStore, 'owner');
  const { digits } = await storage.write(() =>
    draftEmailServer(ctx, owner, { rule, server: given, password }),
  );
  const verified = await storage.write(() => verifyEmailServer(ctx, owner, { rule, digits }));
  assert.equal(verified.result, 'verified');
}

export function testEmailServers(factory: StorageFactory): void {
  test('a password is sealed, and opens only for its store, host, port and user', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    await setServer(opened);
    const rows = await storage.read(() => all(sql<{ password: Uint8Array }>`select password from email_servers where store_id = ${store.id}`));
    assert.ok(!Buffer.from(rows[0]?.password ?? []).includes(password.reveal()));
    const stored = await storage.read(() => findEmailServer(store.id));
    assert.ok(stored);
    assert.equal(openServer(ctx, store.id, stored).password.reveal(), password.reveal());
    const moved = [{ host: 'smtp.evil.example' }, { port: 465 }, { user: 'other' }];
    for (const changes of moved) assert.throws(() => openServer(ctx, store.id, { ...stored, ...changes }));
    assert.throws(() => openServer(ctx, store.id + 1, stored));
    // The sender and the kind of TLS are not parts of the credentials.
    openServer(ctx, store.id, { ...stored, sender: 'other@flowers.example', tls: 'from_start' });
  });

  test('digits verify a draft once, and those of an earlier test email do not', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const draft = () => storage.write(() => draftEmailServer(ctx, owner, { rule, server, password }));
    const verify = async (digits: string) =>
      (await storage.write(() => verifyEmailServer(ctx, owner, { rule, digits }))).result;
    const first = await draft();
    ctx.clock.advance(1);
    const second = await draft();
    if (first.digits !== second.digits) assert.equal(await verify(first.digits), 'wrong');
    assert.equal(await verify(second.digits), 'verified');
    assert.equal(await verify(second.digits), 'ended');
    const { verified, draft: left } = await storage.read(() => readEmailServers(store.id));
    assert.deepEqual([verified?.host, left], [server.host, undefined]);
    await storage.write(() => removeEmailServer(ctx, owner));
    assert.equal(await storage.read(() => findEmailServer(store.id)), undefined);
  });

  test('only owners set a server, and only the owners of the only store unless a setting says otherwise', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const manager = await personOf(opened, 'manager');
    const change = { rule, server, password } as const;
    await assert.rejects(storage.write(() => draftEmailServer(ctx, manager, change)), { code: 'insufficient-scope' });
    await assert.rejects(storage.write(() => verifyEmailServer(ctx, manager, { rule, digits: '123456' })), { code: 'insufficient-scope' });
    await assert.rejects(storage.write(() => removeEmailServer(ctx, manager)), { code: 'insufficient-scope' });
    const may = (by: Parameters<typeof mayOwnersSetMachine>[1]) => storage.read(() => mayOwnersSetMachine(store, by));
    assert.deepEqual([await may('owner'), await may('owner-of-one-store'), await may('operator')], [true, true, false]);
    await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    assert.deepEqual([await may('owner'), await may('owner-of-one-store'), await may('operator')], [true, false, false]);
    const owner = await personOf(opened, 'owner');
    const second = { ...change, rule: 'owner-of-one-store' } as const;
    await assert.rejects(storage.write(() => draftEmailServer(ctx, owner, second)), { code: 'insufficient-scope' });
  });

  test('without a server of the operator, only stores with a verified server send, and one that hangs delays no other', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const [other, without] = [
      await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' }))),
      await storage.write(() => createStore(ctx, newStore({ domain: 'toys.example' }))),
    ];
    await setServer(opened);
    await setServer({ ...opened, store: other }, { ...server, host: 'smtp.books.example', sender: 'gifts@books.example' });
    const emailed = (to: string) => ({ recipient: email(to), emails: { sendAt: null } });
    for (let place = 0; place < 100; place += 1)
      await storage.write(() => issue(ctx, issueCommand(store, emailed(`guest-${place}@example.com`))));
    await storage.write(() => issue(ctx, issueCommand(without, emailed('toys@example.com'))));
    await storage.write(() => issue(ctx, issueCommand(other, emailed('books@example.com'))));
    const sent: string[] = [];
    const used: OpenedServer[] = [];
    const hanging = Promise.withResolvers<void>();
    const servers: StoreServers = {
      open: () => assert.fail('only for tests of a server'),
      transportOf(storeId, by): EmailTransport {
        used.push(by);
        return {
          from: by.sender,
          server: by,
          connectionsMax: 2,
          emailMaxMs: 1_000,
          async send({ to, from }) {
            if (storeId === store.id) await hanging.promise;
            sent.push(`${to} from ${from.address} by ${by.host}`);
            return accepts;
          },
          async [Symbol.asyncDispose]() {
            // Nothing to close.
          },
        };
      },
      async [Symbol.asyncDispose]() {
        // Nothing to close.
      },
    };
    const senders = { transport: null, servers };
    const observer = { attempted() {}, reclaimed() {}, operatorNeeded() {} };
    const worker = startWorker(
      emailQueue({ ctx, storage, senders, observer, pagesUrl: null }),
      pino({ level: 'silent' }),
      { ...emailWorkerLimits(senders, storage), pollMs: 20, stopMs: 500 },
    );
    try {
      await until(() => sent.length > 0);
      assert.deepEqual(sent, ['books@example.com from gifts@books.example by smtp.books.example']);
      hanging.resolve();
      await until(() => sent.length === 101);
      assert.ok(!sent.some((each) => each.startsWith('toys@')));
      assert.equal(used.at(-1)?.password.reveal(), password.reveal());
    } finally {
      hanging.resolve();
      await worker.stop();
    }
    const waiting = await storage.read(() => all(sql<{ address: string }>`select address from email_deliveries where store_id = ${without.id} and next_at is not null`));
    assert.deepEqual(waiting.map(({ address }) => address), ['toys@example.com']);
    await storage.write(() => execute(sql`delete from email_deliveries where store_id = ${without.id}`));
  });
} // prettier-ignore
