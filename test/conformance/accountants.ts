/** Emails to accountants: once for each month and address, whichever processes send them, and none of a restored copy. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import type { Email } from '../../src/features/emails/delivery/message.ts';
import type { EmailOutcome } from '../../src/features/emails/delivery/outcome.ts';
import type { EmailTransport } from '../../src/features/emails/delivery/transport.ts';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { keysOf } from '../../src/platform/keys.ts';
import {
  claimAccountantEmails,
  enqueueDueMonths,
  findMonthsWork,
  listAccountantEmails,
  listAccountants,
  monthToken,
  openMonth,
} from '../../src/features/accountants/service/accountants.ts';
import {
  addAccountant,
  changeAccountant,
  endAccountantLinks,
  removeAccountant,
  requestAccountantEmail,
} from '../../src/features/accountants/service/staff-accountants.ts';
import { confirmRestored, countHeld, markRestored } from '../../src/features/backups/service/restored.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { accountantEmails, type AccountantEmails } from '../../src/features/accountants/start/accountants.ts';
import { personOf } from '../support/acting.ts';
import { closeAllDays } from '../support/closed-days.ts';
import type { StorageFactory } from '../support/database.ts';
import { accepts, bounces, defers } from '../support/emailing.ts';
import { email, masterKey, newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const logger = pino({ level: 'silent' });
const choices = { language: 'en', format: 'csv' } as const;

type Process = AccountantEmails & { readonly emails: readonly Email[] };

/** A process with a mail server that is a function. */
function processOf(
  opened: OpenStore,
  serve: () => EmailOutcome | Promise<EmailOutcome> = () => accepts,
): Process {
  const emails: Email[] = [];
  const transport: EmailTransport = {
    from: 'gift-cards@largesse.example',
    server: null,
    connectionsMax: 1,
    emailMaxMs: 120_000,
    async send(sent) {
      emails.push(sent);
      return await serve();
    },
    async [Symbol.asyncDispose]() {
      // Nothing to close.
    },
  };
  const setup = {
    senders: { transport, servers: null },
    ownTransport: () => Promise.resolve(null),
    canSend: () => true,
  };
  const { ctx, storage } = opened;
  return {
    ...accountantEmails({
      database: { ctx, storage },
      email: setup,
      pagesUrl: 'https://cards.example',
      logger,
    }),
    emails,
  };
}

async function addOne(opened: OpenStore, address = 'ledger@accounting.example'): Promise<number> {
  const { ctx, storage, store } = opened;
  const owner = await personOf(opened, 'owner');
  await storage.write(() => addAccountant(ctx, owner, { email: email(address), ...choices }));
  const added = await storage.read(() => listAccountants(store.id));
  return added.at(-1)?.id ?? 0;
}

/** Lets the clock reach the first day of the next month, after the time of emails, and closes the days. */
async function endMonth({ ctx, storage }: OpenStore): Promise<void> {
  const zoned = Temporal.Instant.fromEpochMilliseconds(ctx.clock.now()).toZonedDateTimeISO('UTC');
  const start = zoned.with({ day: 1 }).startOfDay().add({ months: 1 }).epochMilliseconds;
  ctx.clock.advance(start + 9 * hourMs - ctx.clock.now());
  await closeAllDays({ ctx, storage }, 500);
}

async function statesOf({ storage, store }: OpenStore): Promise<readonly string[]> {
  const listed = await storage.read(() => listAccountantEmails(store.id, 100));
  return listed.map(({ month, state }) => `${month} ${state}`).toReversed();
}

export function testAccountants(factory: StorageFactory): void {
  test('two processes send one email for each month and address, and only about closed months', async () => {
    await using opened = await openStore(factory);
    await opened.issue();
    await addOne(opened);
    await addOne(opened, 'two@accounting.example');
    const processes = [processOf(opened), processOf(opened), processOf(opened)];
    const runAll = async (): Promise<void> => void (await Promise.all(processes.map(({ run }) => run())));
    const counts = (): number => processes.reduce((sum, { emails }) => sum + emails.length, 0);
    await runAll();
    assert.equal(counts(), 0, 'the month has not ended');
    for (const months of [1, 2]) {
      await endMonth(opened);
      await runAll();
      await runAll();
      assert.equal(counts(), months * 2);
    }
    const ids = processes.flatMap(({ emails }) => emails.map(({ messageId }) => messageId));
    assert.equal(new Set(ids).size, 4);
    assert.equal((await statesOf(opened)).filter((state) => state.endsWith(' sent')).length, 4);
  });

  test('a month with an open day has no email, and one that ended before the accountant was added has none', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    await opened.issue();
    await addOne(opened);
    ctx.clock.advance(40 * dayMs);
    const waiting = await storage.read(() => findMonthsWork(ctx, store));
    assert.deepEqual(waiting, { hasDue: false, next: undefined }, 'its days are not closed');
    await closeAllDays({ ctx, storage }, 500);
    assert.equal((await storage.read(() => findMonthsWork(ctx, store))).hasDue, true);
    const owner = await personOf(opened, 'owner');
    const [added] = await storage.read(() => listAccountants(store.id));
    assert.ok(added);
    await storage.write(() => removeAccountant(ctx, owner, added.id));
    await addOne(opened);
    assert.equal((await storage.read(() => findMonthsWork(ctx, store))).hasDue, false);
  });

  test('after a long stop, the last three months are sent', async () => {
    await using opened = await openStore(factory);
    await addOne(opened);
    for (let month = 0; month < 6; month += 1) await endMonth(opened);
    const running = processOf(opened);
    assert.equal(await running.run(), 3);
    assert.equal(await running.run(), 0);
  });

  test('an email whose process was killed is sent by another one, under the same name', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    await addOne(opened);
    await endMonth(opened);
    // Killed after the enqueue, and after a claim.
    await storage.write(() => enqueueDueMonths(ctx, store));
    const now = ctx.clock.now();
    const claim = { now, until: now + 5 * 60_000, lease: 1, limit: 5 };
    const [claimed] = await storage.write(() => claimAccountantEmails(ctx, store.id, claim));
    assert.ok(claimed);
    const running = processOf(opened);
    assert.equal(await running.run(), 0, 'another process has it');
    ctx.clock.advance(5 * 60_000);
    assert.equal(await running.run(), 1);
    assert.equal(running.emails[0]?.messageId, `<month-${claimed.email.id}@${store.domain}>`);
    assert.equal((await statesOf(opened)).length, 1);
  });

  test('a temporary rejection is repeated for three days, and a permanent one ends the email', async () => {
    await using opened = await openStore(factory);
    const { ctx } = opened;
    await addOne(opened);
    await endMonth(opened);
    const busy = processOf(opened, () => defers);
    for (let hours = 0; hours < 100; hours += 4) {
      await busy.run();
      ctx.clock.advance(4 * hourMs);
    }
    assert.match((await statesOf(opened)).join(), /^\d{4}-\d\d dead$/);
    assert.ok(busy.emails.length > 9 && busy.emails.length < 30, String(busy.emails.length));
    await endMonth(opened);
    const strict = processOf(opened, () => bounces);
    await strict.run();
    await strict.run();
    assert.equal(strict.emails.length, 1);
    assert.match((await statesOf(opened)).at(-1) ?? '', / bounced$/);
  });

  test('a restored copy sends nothing until an owner confirms it, who can drop what waits', async () => {
    for (const isSent of [true, false]) {
      await using opened = await openStore(factory);
      const { ctx, storage, store } = opened;
      await addOne(opened);
      await endMonth(opened);
      await storage.write(() => enqueueDueMonths(ctx, store));
      await storage.write(() => markRestored(ctx, ctx.clock.now()));
      const running = processOf(opened);
      assert.equal(await running.run(), 0);
      assert.deepEqual(await storage.read(() => countHeld(store)), { emails: 1, deliveries: 0 });
      const owner = await personOf(opened, 'owner');
      await storage.write(() => confirmRestored(ctx, owner, { isSent }));
      assert.equal(await running.run(), isSent ? 1 : 0);
      assert.match((await statesOf(opened)).join(), isSent ? / sent$/ : / cancelled$/);
    }
  });

  test('only owners may change accountants, and one of another store does not exist', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const id = await addOne(opened);
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    const stranger = await personOf({ ...opened, store: other }, 'owner');
    const missing = { code: 'not-found' };
    await assert.rejects(
      storage.write(() => changeAccountant(ctx, stranger, id, choices)),
      missing,
    );
    await assert.rejects(
      storage.write(() => endAccountantLinks(ctx, stranger, id)),
      missing,
    );
    await assert.rejects(
      storage.write(() => requestAccountantEmail(ctx, stranger, { id, kind: 'again' })),
      missing,
    );
    await storage.write(() => removeAccountant(ctx, stranger, id));
    for (const role of roles.filter((each) => each !== 'owner')) {
      const person = await personOf(opened, role);
      const forbidden = { code: 'insufficient-scope' };
      const added = { email: email('x@example.com'), ...choices };
      await assert.rejects(
        storage.write(() => addAccountant(ctx, person, added)),
        forbidden,
      );
      await assert.rejects(
        storage.write(() => changeAccountant(ctx, person, id, choices)),
        forbidden,
      );
      await assert.rejects(
        storage.write(() => removeAccountant(ctx, person, id)),
        forbidden,
      );
      await assert.rejects(
        storage.write(() => endAccountantLinks(ctx, person, id)),
        forbidden,
      );
      await assert.rejects(
        storage.write(() => requestAccountantEmail(ctx, person, { id, kind: 'test' })),
        forbidden,
      );
    }
    assert.equal((await storage.read(() => listAccountants(opened.store.id))).length, 1);
  });

  test('three owners who add an accountant at the same time do not exceed the maximum', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const owner = await personOf(opened, 'owner');
    const results = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((name) =>
        storage.write(() => addAccountant(ctx, owner, { email: email(`${name}@example.com`), ...choices })),
      ),
    );
    assert.deepEqual(results.toSorted(), ['added', 'added', 'added', 'full', 'full']);
    assert.equal((await storage.read(() => listAccountants(store.id))).length, 3);
  });

  test('a link is bound to its email and any key of the file opens it, but no other', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    await addOne(opened);
    await addOne(opened, 'two@accounting.example');
    await endMonth(opened);
    await storage.write(() => enqueueDueMonths(ctx, store));
    const [one, two] = await storage.read(() => listAccountants(store.id));
    const emails = await storage.read(() => listAccountantEmails(store.id, 10));
    const own = emails.find(({ accountantId }) => accountantId === one?.id);
    assert.ok(one && two && own);
    const opens = async (text: string, keys = ctx.keys): Promise<boolean> =>
      (await storage.read(() => openMonth({ ...ctx, keys }, text))) !== undefined;
    const token = monthToken(ctx, { accountant: one, email: own }).reveal();
    assert.equal(await opens(token), true);
    for (const changed of [
      { accountant: two, email: own },
      { accountant: one, email: { ...own, month: '2020-01' } },
      { accountant: one, email: { ...own, format: 'xlsx' as const } },
    ])
      assert.equal(await opens(monthToken(ctx, changed).reveal()), false);
    const rotated = keysOf([masterKey('new', 9), masterKey('test', 7)]);
    assert.equal(await opens(token, rotated), true);
    assert.equal(await opens(token, keysOf([masterKey('new', 9)])), false);
    ctx.clock.advance(60 * dayMs);
    assert.equal(await opens(token), false);
  });
}
