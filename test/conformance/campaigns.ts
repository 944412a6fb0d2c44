/** Batches as campaigns: figures, emails that are cancelled or get another time, and addresses that are corrected. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { resultOf } from '../../src/core/domain/paused.ts';
import { parseBatch, type Batch } from '../../src/features/batches/domain/batch.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { continueBatch, batchKeyOf, startBatch } from '../../src/features/batches/service/batch.ts';
import {
  cancelUnsent,
  correctUndelivered,
  listUndeliveredCards,
  readCampaignFigures,
  readUnsentEmails,
  rescheduleUnsent,
  resendUndelivered,
} from '../../src/features/batches/service/campaign.ts';
import { listCardsOfBatch, showBatch } from '../../src/features/batches/service/batch-lists.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { suspendCard } from '../../src/core/cards/service/suspension.ts';
import { pageOfStoreEmails, type EmailPosition } from '../../src/features/emails/service/list.ts';

import { debit, reverse } from '../../src/core/money/service/spend.ts';
import { findCardView, saveFirstView } from '../../src/core/cards/storage/view.ts';
import { listStoreEmails } from '../../src/core/emails/storage/email.ts';
import { claimEmails, settleEmail } from '../../src/features/emails/storage/queue.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const hourMs = 3_600_000;
const plain = { actor: 'test', reference: null, note: null, orderId: null, versions: null } as const;

/** A batch of emailed cards, whose ids are in the order of the batch. */
async function issueBatch(
  opened: OpenStore,
  count: number,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly batch: Batch; readonly ids: readonly number[] }> {
  const { ctx, storage, store } = opened;
  const sent = Array.from({ length: count }, (_, place) => ({
    initial_value: '20.00',
    recipient_email: `person${place}@example.com`,
    recipient_name: `Person ${place}`,
    ...fields,
  }));
  const parsed = resultOf(parseBatch(sent, { store, now: ctx.clock.now(), canSend: true }));
  assert.ok(parsed.ok);
  const started = await storage.write(() =>
    startBatch(ctx, { store, name: 'Thanks', actor: 'test', apiClientId: null, ...parsed }),
  );
  await continueBatch(opened, batchKeyOf(started));
  const batch = await storage.read(() => showBatch(batchKeyOf(started)));
  const { cards } = await storage.read(() =>
    listCardsOfBatch(ctx, batchKeyOf(batch), { from: 0, limit: 100, withCodes: false }),
  );
  return { batch, ids: cards.map(({ card }) => card.id) };
}

async function setState({ ctx, storage, store }: OpenStore, cardId: number, state: string): Promise<void> {
  await storage.write(() =>
    execute(sql`
      update email_deliveries set state = ${state}, next_at = null, code = null, ended_at = ${ctx.clock.now()}
      where store_id = ${store.id} and card_id = ${cardId} and next_at is not null`),
  );
}

/** Claims an email of each of some cards, as the worker does. */
async function claim({ ctx, storage, store }: OpenStore, cardIds: readonly number[]) {
  const now = ctx.clock.now();
  const emails = await storage.read(() => listStoreEmails(store.id, 100));
  const keys = emails.filter(({ cardId }) => cardIds.includes(cardId));
  return await storage.write(() =>
    claimEmails(keys, { lease: ctx.random.id(), now, firstAt: now, until: now + hourMs }),
  );
}

async function rejects(script: Promise<unknown>, code: Fault['code']): Promise<void> {
  await assert.rejects(script, (error) => error instanceof Fault && error.code === code);
}

export function testCampaigns(factory: StorageFactory): void {
  test('the figures of a batch count its cards by their newest email, views, and what was redeemed', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { batch, ids } = await issueBatch(opened, 7);
    const other = await issueBatch(opened, 1);
    const [sent = 0, bounced = 0, dead = 0, resent = 0, refunded = 0] = ids;
    for (const [id, state] of [
      [sent, 'sent'],
      [bounced, 'bounced'],
      [dead, 'dead'],
      [resent, 'bounced'],
    ] as const)
      // prettier-ignore
      await setState(opened, id, state);
    const sender = { store, actor: 'test', canSend: true };
    const failed = await storage.read(() => listUndeliveredCards(ctx, store, batchKeyOf(batch)));
    assert.deepEqual(
      new Set(failed.map(({ email: { cardId } }) => cardId)),
      new Set([bounced, dead, resent]),
    );
    const corrected = failed.flatMap(({ email: { id, cardId } }) =>
      cardId === resent ? [{ emailId: id, address: email('right@example.com') }] : [],
    );
    await storage.write(() => correctUndelivered(ctx, batchKeyOf(batch), corrected, sender));
    await setState(opened, resent, 'sent');
    for (const cardId of [sent, sent, other.ids[0] ?? 0])
      await storage.write(() => saveFirstView({ storeId: store.id, cardId }, ctx.clock.now()));
    const debited = { ...plain, store, partial: false };
    await storage.write(() => debit(ctx, { ...debited, cardId: sent, amount: money('7.50') }));
    await storage.write(() => debit(ctx, { ...debited, cardId: resent, amount: money('20') }));
    const { transfer } = await storage.write(() =>
      debit(ctx, { ...debited, cardId: refunded, amount: money('5') }),
    );
    await storage.write(() =>
      reverse(ctx, {
        store,
        transferId: transfer.id,
        amount: null,
        actor: 'test',
        scopes: ['redeem_gift_cards'],
        versionsOf: () => null,
      }),
    );
    await storage.write(() => debit(ctx, { ...debited, cardId: other.ids[0] ?? 0, amount: money('1') }));
    const figures = await storage.read(() => readCampaignFigures(batch));
    assert.deepEqual(Object.fromEntries(figures.emails), { sent: 2, bounced: 1, dead: 1, queued: 3 });
    assert.deepEqual([figures.viewed, figures.redeemed, figures.redeemedTotal], [1, 2, money('27.50')]);
  });

  test('cancelling what is unsent leaves what was sent and what is being sent, and happens once', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const { batch, ids } = await issueBatch(opened, 5);
    const other = await issueBatch(opened, 2);
    const [sent = 0, claimed = 0] = ids;
    await setState(opened, sent, 'sent');
    const [held] = await claim(opened, [claimed]);
    assert.ok(held);
    const cancelled = await storage.write(() => cancelUnsent(ctx, batchKeyOf(batch)));
    assert.deepEqual([cancelled.cancelled, cancelled.sent, cancelled.inProgress], [3, 1, 1]);
    const settled = await storage.write(() =>
      settleEmail(
        held,
        { state: 'sent', response: '250 ok', nextAt: null, startsOver: false },
        ctx.clock.now(),
      ),
    );
    assert.ok(settled);
    const again = await storage.write(() => cancelUnsent(ctx, batchKeyOf(batch)));
    assert.deepEqual([again.cancelled, again.sent, again.inProgress], [0, 2, 0]);
    const figures = await storage.read(() => readCampaignFigures(batch));
    assert.deepEqual(Object.fromEntries(figures.emails), { sent: 2, cancelled: 3 });
    const untouched = await storage.read(() => readCampaignFigures(other.batch));
    assert.deepEqual(Object.fromEntries(untouched.emails), { queued: 2 });
  });

  test('an email is cancelled or claimed, never both, however the two race', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    for (let round = 0; round < 5; round += 1) {
      const { batch, ids } = await issueBatch(opened, 6);
      const [cancelled, claims] = await Promise.all([
        storage.write(() => cancelUnsent(ctx, batchKeyOf(batch))),
        Promise.all(ids.map((id) => claim(opened, [id]))).then((all) => all.flat()),
      ]);
      assert.equal(cancelled.cancelled + claims.length, ids.length);
      const { emails } = await storage.read(() => readCampaignFigures(batch));
      assert.equal(emails.get('cancelled') ?? 0, cancelled.cancelled);
      const { claimed, count } = await storage.read(() => readUnsentEmails(ctx, batch));
      assert.deepEqual([claimed, count], [claims.length, claims.length]);
    }
  });

  test('another time applies to every email that is not sent, and never to a card that expires before', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { batch, ids } = await issueBatch(opened, 4, { send_on: '2026-12-24', expires_on: '2026-12-31' });
    const [cancelled = 0, claimed = 0] = ids;
    await setState(opened, cancelled, 'cancelled');
    const at = ctx.clock.now() + hourMs;
    const soon = { at, day: '2026-03-15' };
    const moved = await storage.write(() => rescheduleUnsent(ctx, batchKeyOf(batch), soon));
    assert.equal(moved.rescheduled, 3);
    const unsent = await storage.read(() => readUnsentEmails(ctx, batch));
    assert.deepEqual(unsent, { count: 3, claimed: 0, nextAt: at });
    await rejects(
      storage.write(() => rescheduleUnsent(ctx, batchKeyOf(batch), { at, day: '2027-01-01' })),
      'invalid-parameter',
    );
    ctx.clock.advance(2 * hourMs);
    assert.equal((await claim(opened, [claimed])).length, 1);
    const now = await storage.write(() => rescheduleUnsent(ctx, batchKeyOf(batch), soon));
    assert.equal(now.rescheduled, 2, 'the claimed email keeps its time');
    const emails = await storage.read(() => listStoreEmails(store.id, 10));
    assert.deepEqual(emails.map(({ state }) => state).toSorted(), [
      'cancelled',
      'queued',
      'queued',
      'queued',
    ]);
  });

  test('new codes go to failed addresses and to corrected ones, except for cards that cannot get any', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const key = (batch: Batch) => batchKeyOf(batch);
    const { batch, ids } = await issueBatch(opened, 5);
    const other = await issueBatch(opened, 1);
    for (const id of [...ids, ...other.ids]) await setState(opened, id, 'bounced');
    const [disabled = 0, suspended = 0, corrected = 0] = ids;
    await storage.write(() => update(ctx, updateCommand(store, disabled, { disable: true })));
    await storage.write(() =>
      suspendCard(ctx, { store, cardId: suspended, actor: 'test', versions: null, reason: null }),
    );
    const failed = await storage.read(() => listUndeliveredCards(ctx, store, key(batch)));
    assert.equal(failed.length, 3);
    assert.equal(failed[0]?.recipientName, 'Person 2');
    const foreign = await storage.read(() => listUndeliveredCards(ctx, store, key(other.batch)));
    const addresses = [...failed.filter(({ email: { cardId } }) => cardId === corrected), ...foreign].map(
      ({ email: { id } }) => ({ emailId: id, address: email('right@example.com') }),
    );
    const sender = { store, actor: 'test', canSend: true };
    const fixed = await storage.write(() => correctUndelivered(ctx, key(batch), addresses, sender));
    assert.deepEqual([fixed.resent, fixed.omitted], [1, 1], 'an email of another batch is left out');
    await rejects(
      storage.write(() => resendUndelivered(ctx, key(batch), { ...sender, canSend: false })),
      'no-mail',
    );
    const resent = await storage.write(() => resendUndelivered(ctx, key(batch), sender));
    assert.deepEqual([resent.resent, resent.omitted], [2, 0]);
    assert.deepEqual(await storage.read(() => listUndeliveredCards(ctx, store, key(batch))), []);
    const again = await storage.write(() => resendUndelivered(ctx, key(batch), sender));
    assert.deepEqual([again.resent, again.omitted], [0, 0]);
    const queued = await storage.read(() =>
      pageOfStoreEmails(
        store.id,
        { states: ['queued'], subject: { batchId: batch.id } },
        { from: null, isBackwards: false },
      ),
    );
    assert.deepEqual(queued.emails.map(({ email: { address } }) => address).toSorted(), [
      'person3@example.com',
      'person4@example.com',
      'right@example.com',
    ]);
  });

  test('the emails of a batch are listed page by page in both directions', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { batch } = await issueBatch(opened, 60, { email: 'buyer@example.com' });
    await issueBatch(opened, 3);
    const page = (position: EmailPosition, wanted = {}) =>
      storage.read(() =>
        pageOfStoreEmails(store.id, { ...wanted, subject: { batchId: batch.id } }, position),
      );
    const newest = await page({ from: null, isBackwards: false });
    const middle = await page({ from: newest.older, isBackwards: false });
    const oldest = await page({ from: middle.older, isBackwards: false });
    assert.deepEqual(
      [newest, middle, oldest].map(({ emails }) => emails.length),
      [50, 50, 20],
    );
    assert.equal(oldest.older, null);
    const ids = [newest, middle, oldest].flatMap(({ emails }) => emails.map(({ email: { id } }) => id));
    assert.deepEqual(
      ids,
      ids.toSorted((left, right) => right - left),
    );
    const back = await page({ from: oldest.newer, isBackwards: true });
    assert.deepEqual(back.emails, middle.emails);
    const receipts = await page({ from: null, isBackwards: false }, { kinds: ['receipt'] });
    assert.ok(receipts.emails.every(({ email: { kind } }) => kind === 'receipt'));
  });

  test('a running batch, and one of another store, cannot be changed', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { batch } = await issueBatch(opened, 1);
    await storage.write(() =>
      execute(
        sql`update batches set state = 'running', completed_at = null where store_id = ${store.id} and id = ${batch.id}`,
      ),
    );
    await rejects(
      storage.write(() => cancelUnsent(ctx, batchKeyOf(batch))),
      'precondition-failed',
    );
    const foreign = { storeId: store.id + 1, batchId: batch.id };
    await rejects(
      storage.write(() => cancelUnsent(ctx, foreign)),
      'not-found',
    );
  });

  test('only the first view of a card is recorded', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { card } = await opened.issue();
    const key = { storeId: store.id, cardId: card.id };
    const view = () => storage.read(() => findCardView(key));
    assert.deepEqual(await view(), { batchId: null, viewedAt: null });
    await storage.write(() => saveFirstView(key, 1_000));
    await storage.write(() => saveFirstView(key, 2_000));
    assert.deepEqual(await view(), { batchId: null, viewedAt: 1_000 });
  });
}
