/**
 * The work of stores is found by its due time. A model compares it with what a scan of all stores finds, through random
 * changes, advances of the clock, restarts and several processes.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { createCheckpoints, recordExpiries } from '../../src/jobs/due.ts';
import { eraseOld, eraseOldRequests, eraseOutdated } from '../../src/jobs/erasing.ts';
import type { JobTools } from '../../src/jobs/job.ts';
import { remind } from '../../src/features/emails/jobs/reminders.ts';
import { idEpoch, plainClock, wallClockOf } from '../../src/platform/clock.ts';
import { keysOf } from '../../src/platform/keys.ts';
import { limits } from '../../src/platform/limits.ts';
import { beginClosing, closeDays } from '../../src/features/books/service/closing.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { hasExpiryToRecord } from '../../src/core/cards/service/expiry.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { changeEmailSettings } from '../../src/core/emails/service/email.ts';
import { enqueueDueMonths, findMonthsWork } from '../../src/features/accountants/service/accountants.ts';
import { enqueueReminders, firstPlace, planReminders } from '../../src/features/emails/service/reminder.ts';
import { needsNoCheckpoint } from '../../src/features/proofs/service/checkpoint.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import { hasOldRequests, requestWriter } from '../../src/features/developers/service/api-requests.ts';
import { hasOldAccess, hasOldEvents, listWebhooksWithOldDeliveries } from '../../src/jobs/retention.ts';
import { addAccountant } from '../../src/features/accountants/service/staff-accountants.ts';
import { changeStore, createStore } from '../../src/core/stores/service/store.ts';
import { forDueStores, presentOf } from '../../src/core/stores/service/work.ts';
import type { Context } from '../../src/core/storage/context.ts';
import { all, execute, one, sql, toNumber, type Script } from '../../src/database/sql/sql.ts';
import { findStore, listOpenStores } from '../../src/core/stores/storage/store.ts';
import {
  firstWork,
  listWork,
  makeWorkDue,
  workKinds,
  type WorkKind,
} from '../../src/core/stores/storage/work.ts';
import { personOf } from '../support/acting.ts';
import { untilAppended } from '../support/appended.ts';
import { closeAllDays } from '../support/closed-days.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { email, issueCommand, masterKey, newStore, testContext, updateCommand } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';
import { seeded, type Seeded } from '../support/seeded.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const retention = {
  eventsMs: 90 * dayMs,
  emailsMs: 60 * dayMs,
  deliveriesMs: 30 * dayMs,
  sessionsMs: 45 * dayMs,
  idempotencyMs: dayMs,
  lookupsMs: dayMs,
};
const zones = ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'America/Los_Angeles', 'Asia/Kathmandu'];

type Process = JobTools & { readonly run: () => Promise<void> };

/** The jobs of a process. */
function processOf(opened: Pick<JobTools, 'ctx' | 'storage'>): Process {
  const tools: JobTools = { ...opened, limits, retention };
  const addCheckpoints = createCheckpoints(tools);
  const { ctx, storage } = opened;
  return {
    ...tools,
    async run() {
      await appendEntries(opened);
      await closeDays(opened, 50);
      await recordExpiries(tools);
      await addCheckpoints();
      await remind({ ...tools, canSend: () => true });
      await forDueStores(storage, { kind: 'months', time: presentOf(ctx) }, async (store) => {
        const { hasDue, next } = await storage.read(() => findMonthsWork(ctx, store));
        if (hasDue) await storage.write(() => enqueueDueMonths(ctx, store));
        return next;
      });
      await eraseOutdated(tools);
      await eraseOld(tools);
      await eraseOldRequests(tools, []);
    },
  };
}

/** Stores are read for old rows at most once an hour. */
function anHourBefore(ctx: Context): Context {
  const clock = plainClock(() => ctx.clock.now() - hourMs);
  return { ...ctx, clock, wallClock: wallClockOf(clock) };
}

/** The kinds of work that a scan of a store finds. */
async function scan({ ctx, storage }: JobTools, store: Store): Promise<readonly WorkKind[]> {
  const trustedUntil = Number.POSITIVE_INFINITY;
  const found: WorkKind[] = [];
  const add = (kind: WorkKind, isDue: boolean): void => void (isDue && found.push(kind));
  add(
    'closing',
    (await storage.read(() => beginClosing(ctx, store, { isDryRun: true, trustedUntil }))) !== undefined,
  );
  add('checkpoint', !(await storage.read(() => needsNoCheckpoint(ctx, store))));
  add('expiry', await storage.read(() => hasExpiryToRecord(ctx, store)));
  add('months', (await storage.read(() => findMonthsWork(ctx, store))).hasDue);
  const late = anHourBefore(ctx);
  add('access', await storage.read(() => hasOldAccess(late, store.id, retention.sessionsMs)));
  // Events that a webhook still has to deliver stay.
  const waiting = await storage.read(() =>
    all(sql`select 1 as one from webhook_deliveries where store_id = ${store.id} and next_at is not null`),
  );
  const range = { storeId: store.id, after: 0 };
  add(
    'events',
    waiting.length === 0 && (await storage.read(() => hasOldEvents(late, range, retention.eventsMs))),
  );
  add(
    'deliveries',
    (await storage.read(() => listWebhooksWithOldDeliveries(late, store.id, retention))).length > 0,
  );
  add('requests', await storage.read(() => hasOldRequests(late, store.id)));
  const before = late.clock.retainFrom(retention.emailsMs);
  const emails = await storage.read(() =>
    all(sql`
      select 1 as one from email_deliveries
      where store_id = ${store.id} and ended_at < ${before} and (occasion is null or occasion not like 'expiry %')`),
  );
  add('emails', emails.length > 0);
  return found;
}

/** Counts the reminders of cards that were not changed for a day: an earlier change can be after the reminders of its day. */
function* countReminders({ clock }: Context): Script<number> {
  const { count } = yield* one(sql<{ count: bigint }>`
    select count(*) as count from email_deliveries e
    where e.kind like '%_reminder' and not exists (
      select 1 from card_changes c
      where c.store_id = e.store_id and c.card_id = e.card_id and c.created_at >= ${clock.now() - dayMs})`);
  return toNumber(count);
}

/** Returns how many reminders a scan of all stores would add. */
async function countMissingReminders({ ctx, storage }: JobTools): Promise<number> {
  let missing = 0;
  for (const { store } of await storage.read(listOpenStores))
    missing += await storage.dryRun(function* remindAll() {
      const before = yield* countReminders(ctx);
      for (const task of (yield* planReminders(ctx, store))?.tasks ?? [])
        for (let from: typeof firstPlace | undefined = firstPlace; from;)
          from = yield* enqueueReminders(ctx, { store, task, from, limit: 50 });
      return (yield* countReminders(ctx)) - before;
    });
  return missing;
}

/** A random change of a random store. */
async function change(
  random: Seeded,
  { ctx, storage, passHour }: Pick<JobTools, 'ctx' | 'storage'> & { readonly passHour: () => void },
  domains: string[],
) {
  const [domain = ''] = random.chooseSome(domains, 1);
  const stores = await storage.read(listOpenStores);
  const store = stores.find((record) => record.store.domain === domain)?.store;
  const zone = zones[random.between(0, zones.length - 1)] ?? 'UTC';
  const kind = random.between(0, 11);
  if (!store || kind === 0) {
    const created = {
      domain: `shop-${domains.length}.example`,
      timeZone: zone,
      expiringSoonDays: random.between(0, 9),
    };
    domains.push(created.domain);
    await storage.write(() => createStore(ctx, newStore(created)));
    return;
  }
  const today = dayOf(ctx.clock.now(), store.timeZone);
  const expiresOn = random() < 0.7 ? addDays(today, random.between(0, 40)) : null;
  const [card] = await storage.read(() =>
    all(
      sql<{
        id: bigint;
      }>`select id from gift_cards where store_id = ${store.id} order by created_at desc, id limit 1`,
    ),
  );
  const open = { ctx, storage, store } as Parameters<typeof personOf>[0];
  switch (kind) {
    case 1:
      await storage.write(() =>
        changeStore(ctx, domain, { timeZone: zone, expiringSoonDays: random.between(0, 20) }),
      );
      return;
    case 2:
      await storage.write(() =>
        changeEmailSettings(ctx, store.id, {
          enabled: random() < 0.8,
          expiryReminderDays: [random.between(3, 9), random.between(1, 2)],
          balanceReminderDays: random() < 0.5 ? [random.between(5, 20)] : [],
        }),
      );
      return;
    case 3: {
      const owner = await personOf(open, 'owner');
      const added = {
        email: email(`books-${random.between(0, 3)}@example.com`),
        language: 'en',
        format: 'csv',
      } as const;
      await storage.write(() => addAccountant(ctx, owner, added));
      return;
    }
    case 4:
      await requestWriter({ ctx, storage }).write(new Map([[store.id, { requests: [], dropped: 1 }]]));
      return;
    case 5:
      // All emails and deliveries that wait end. A store with rows that had to stay is read again after an hour.
      passHour();
      await storage.write(() =>
        execute(
          sql`
            update email_deliveries set state = 'sent', code = null, next_at = null, ended_at = ${ctx.clock.now()}
            where store_id = ${store.id} and next_at is not null`,
          sql`
            update webhook_deliveries set status = 'delivered', next_at = null
            where store_id = ${store.id} and next_at is not null`,
        ),
      );
      return;
    case 6:
      await storage.write(() =>
        execute(sql`
          insert into webhooks (store_id, id, version, url, patterns, secret, status, created_at, updated_at)
          values (${store.id}, ${ctx.random.id()}, 1, 'https://example.com', ' * ', ${new Uint8Array(8)}, 'active', 1, 1)`),
      );
      return;
    case 7:
    case 8:
      if (card) {
        const changes = kind === 7 ? { expiresOn } : { note: `note ${random.between(0, 9)}` };
        await storage.write(() => update(ctx, updateCommand(store, toNumber(card.id), changes)));
      }
      return;
    default:
      await storage.write(() =>
        issue(
          ctx,
          issueCommand(store, { expiresOn, recipient: random() < 0.5 ? email('ada@example.com') : null }),
        ),
      );
  }
}

async function dueIn({ ctx, storage }: JobTools, kind: WorkKind): Promise<ReadonlySet<number>> {
  const periods: Partial<Record<WorkKind, number>> = {
    access: retention.sessionsMs,
    events: retention.eventsMs,
    emails: retention.emailsMs,
    deliveries: retention.deliveriesMs,
    requests: dayMs + 15 * 60_000,
  };
  const upTo = ctx.clock.now() - (periods[kind] ?? 0);
  const work = await storage.read(() => listWork(kind, { after: firstWork, upTo, limit: 1_000 }));
  return new Set(work.map(({ storeId }) => storeId));
}

export function testStoreWork(factory: StorageFactory): void {
  test('every work that a scan of all stores finds is due, through changes, advances, restarts and processes', async () => {
    const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
    const random = seeded(seed);
    const { database, storage } = await openMigrated(factory);
    await using _database = database;
    const masters = [masterKey('a', 1)];
    const first = testContext({ masters });
    // All processes have one clock.
    const contextOf = (): Context => ({ ...first, keys: keysOf(masters) });
    const domains: string[] = [];
    let processes = [processOf({ ctx: contextOf(), storage }), processOf({ ctx: contextOf(), storage })];
    for (let step = 0; step < 40; step += 1) {
      const [current] = processes;
      assert(current);
      for (let made = random.between(0, 4); made > 0; made -= 1)
        await change(random, { ...current, passHour: () => first.clock.advance(hourMs) }, domains);
      first.clock.advance(random() < 0.6 ? random.between(0, 5 * hourMs) : random.between(0, random() < 0.2 ? 40 * dayMs : 2 * dayMs)); // prettier-ignore
      if (random() < 0.1) {
        if (random() < 0.5) masters.unshift(masterKey(`k${step}`, (step % 250) + 2));
        processes = processes.map(() => processOf({ ctx: contextOf(), storage }));
      }
      for (const { store } of await storage.read(listOpenStores))
        await untilAppended({ ctx: current.ctx, storage, store });
      const place = `seed ${seed}, step ${step}`;
      for (const { store } of await storage.read(listOpenStores))
        for (const kind of await scan(current, store)) {
          // The first run of a process finds keys that were rotated.
          if (kind === 'checkpoint') continue;
          assert.ok(
            (await dueIn(current, kind)).has(store.id),
            `${place}: ${kind} of ${store.domain} is not due`,
          );
        }
      await Promise.all(processes.map(({ run }) => run()));
      // A closing waits for older transactions of the server, and gives up after a while.
      await closeAllDays(current, 50);
      await processes[1]?.run();
      for (const { store } of await storage.read(listOpenStores)) {
        const left: readonly WorkKind[] = await scan(processes[0] ?? current, store);
        assert.deepEqual(left, [], `${place}: ${store.domain} has work left`);
      }
      assert.equal(await countMissingReminders(current), 0, `${place}: reminders are missing`);
    }
  });

  test('stores without anything to do are not read again, and a change makes work due again', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const process = processOf(opened);
    await process.run();
    ctx.clock.advance(hourMs);
    const dueKinds = async (): Promise<readonly WorkKind[]> => {
      const due: WorkKind[] = [];
      for (const kind of workKinds) if ((await dueIn(process, kind)).size > 0) due.push(kind);
      return due;
    };
    assert.deepEqual(await dueKinds(), []);
    await opened.issue({ expiresOn: dayOf(ctx.clock.now(), 'UTC') });
    assert.deepEqual(await dueKinds(), [], 'a creation writes no row about the store');
    await untilAppended(opened);
    assert.deepEqual(await dueKinds(), ['closing', 'checkpoint', 'expiry', 'events']);
    await process.run();
    assert.deepEqual(await dueKinds(), []);
    ctx.clock.advance(dayMs);
    assert.deepEqual(await dueKinds(), ['closing', 'checkpoint', 'expiry', 'requests']);
    assert.ok(await storage.read(() => findStore(store.id)));
  });

  test('an old event that stayed as the newest is erased after the next one', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const process = processOf(opened);
    const countOld = async (): Promise<number> => {
      const before = (ctx.clock.now() - retention.eventsMs - idEpoch) * 4_096;
      const rows = await storage.read(() =>
        all(sql`select id from events where store_id = ${store.id} and id < ${before}`),
      );
      return rows.length;
    };
    await opened.issue();
    await untilAppended(opened);
    await process.run();
    ctx.clock.advance(retention.eventsMs + 2 * dayMs);
    await eraseOld(process);
    assert.equal(await countOld(), 1, 'the newest event stays');
    await opened.issue();
    await untilAppended(opened);
    await eraseOld(process);
    assert.equal(await countOld(), 0);
  });

  test('a change while a job reads a store is not lost', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const process = processOf(opened);
    await process.run();
    await storage.write(() => changeEmailSettings(ctx, store.id, { enabled: true, expiryReminderDays: [7] }));
    await forDueStores(storage, { kind: 'reminders', time: presentOf(ctx) }, async () => {
      await storage.write(() => changeEmailSettings(ctx, store.id, { expiryReminderDays: [9] }));
      return ctx.clock.now() + hourMs;
    });
    assert.ok((await dueIn(process, 'reminders')).has(store.id));
  });

  test('a due time that a wrong clock has set is due', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const late = ctx.clock.now() + 400 * dayMs;
    await storage.write(() => execute(sql`update store_work set at = ${late} where kind = 'closing'`));
    let count = 0;
    const step = () => {
      count += 1;
      return Promise.resolve(late);
    };
    await forDueStores(storage, { kind: 'closing', time: presentOf(ctx) }, step);
    await forDueStores(storage, { kind: 'closing', time: presentOf(ctx) }, step);
    assert.equal(count, 1, 'the next due time is at most two days ahead');
  });

  test('a store that fails does not keep the others from their work', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    await storage.write(() => makeWorkDue(ctx, store.id, ['closing']));
    await storage.write(() =>
      execute(sql`update store_work set at = 0 where store_id = ${other.id} and kind = 'closing'`),
    );
    const seen: number[] = [];
    const run = forDueStores(storage, { kind: 'closing', time: presentOf(ctx) }, ({ id }) => {
      seen.push(id);
      if (id === store.id) throw new Error('the first store fails');
      return Promise.resolve(null);
    });
    await assert.rejects(run, /the first store fails/);
    assert.deepEqual(seen, [store.id, other.id]);
    assert.deepEqual([...(await dueIn(processOf(opened), 'closing'))], [store.id]);
  });
}
