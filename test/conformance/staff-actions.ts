/** Changes by people on the pages: each action has its permission, read in its transaction, and its audit entry. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { changedDetails } from '../../src/core/cards/domain/field-values.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import type { Hold } from '../../src/core/money/domain/hold.ts';
import type { Role, StaffMember } from '../../src/core/staff/domain/staff.ts';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import { changeEmailSettings } from '../../src/core/emails/service/email.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import {
  issueBatch,
  recordBatchCheck,
  recordCodesRead,
} from '../../src/features/batches/service/staff-batch.ts';
import {
  adjustBalance,
  disableCard,
  editCard,
  emailNewCode,
  enableCard,
  printNewCode,
  recordCardExport,
  releaseHoldOf,
} from '../../src/features/card-pages/service/card.ts';
import { resumeCardBy, suspendCardBy } from '../../src/features/card-pages/service/suspension.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { redeem } from '../../src/features/till/service/redemption.ts';
import { findEntry, refundEntry } from '../../src/features/till/service/refund.ts';
import { issueCard, topUpCard } from '../../src/features/till/service/sale.ts';
import { addStock, readStockCodes, voidStockBy } from '../../src/features/stock/service/staff-stock.ts';
import { enrollTill, revokeTill, unlockPinOf } from '../../src/features/till/service/staff-till.ts';
import { inviteStaff } from '../../src/core/staff/service/staff.ts';
import { continueStock, startStock, stockKeyOf } from '../../src/features/stock/service/stock.ts';
import { listStaffActions, type StaffAction } from '../../src/core/staff/storage/action.ts';
import { execute, sql, type Script } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money } from '../support/fixtures.ts';
import { countRows, openStore, type OpenStore } from '../support/open-store.ts';

async function memberOf(
  { storage, ctx, store }: OpenStore,
  role: Role,
  saleLimit: StaffMember['saleLimit'] = null,
): Promise<StaffMember> {
  const address = email(`${role}-${ctx.random.id()}@example.com`);
  const fields = { name: role, email: address, role, saleLimit, refundLimit: money('8'), locationIds: null };
  return (await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }))).member;
}

type Place = OpenStore & {
  /** A card of 50.00, of which 10.00 were redeemed, with a hold of 5.00. */
  readonly card: Card;
  readonly hold: Hold;
  readonly redemptionId: number;
  /** The stock of two printed cards. */
  readonly stockId: number;
};

const printed = { fixedValue: money('25'), minimumValue: null, maximumValue: null, validMonths: null };

async function prepare(factory: StorageFactory): Promise<Place> {
  const opened = await openStore(factory, { undoWindowMinutes: 60 });
  const { storage, ctx, store } = opened;
  await storage.write(() => changeEmailSettings(ctx, store.id, { enabled: true }));
  const issued = await opened.issue({ value: money('50'), note: 'blue' });
  const plain = { reference: null, note: null, orderId: null, versions: null };
  const command = { store, cardId: issued.card.id, actor: 'test', ...plain };
  const { transfer } = await storage.write(() =>
    debit(ctx, { ...command, amount: money('10'), partial: false }),
  );
  const { hold, card } = await storage.write(() =>
    placeHold(ctx, { ...command, amount: money('5'), seconds: 3_600 }),
  );
  const stock = await storage.write(() =>
    startStock(ctx, { store, name: null, actor: 'test', apiClientId: null, terms: printed, codes: 2 }),
  );
  await continueStock(opened, stockKeyOf(stock));
  return { ...opened, card, hold, redemptionId: transfer.id, stockId: stock.id };
}

function actionsOf({ storage, store }: Place): Promise<readonly StaffAction[]> {
  return storage.read(() => listStaffActions(store.id, { before: Number.MAX_SAFE_INTEGER, limit: 50 }));
}

type Listed = readonly [action: StaffAction['action'], details: StaffAction['details']];

type Action = {
  /** A role that may do it, and one that may not. */
  readonly role: Role;
  readonly without: Role;
  readonly run: (place: Place, by: ByStaff) => Script<unknown>;
  /** Its entry in the audit log, without the id. */
  readonly entry: Listed;
};

const newCard = {
  value: money('20'),
  details: noDetails,
  customer: null,
  recipient: null,
  isEmailed: false,
  sendAt: null,
};

const atOffice = { role: 'manager', without: 'cashier' } as const;

const actions: Readonly<Record<string, Action>> = {
  redeem: {
    role: 'cashier',
    without: 'accountant',
    run: ({ ctx, card }, by) =>
      redeem(ctx, by, { cardId: card.id, amount: money('3'), reference: 'A1', note: 'gift' }),
    entry: ['card-redeemed', { amount: '3.00' }],
  },
  'issue a card': {
    role: 'cashier',
    without: 'accountant',
    run: ({ ctx }, by) => issueCard(ctx, by, newCard),
    entry: ['card-issued', { amount: '20.00', emailed: false }],
  },
  'add money': {
    ...atOffice,
    run: ({ ctx, card }, by) => topUpCard(ctx, by, { cardId: card.id, amount: money('2') }),
    entry: ['card-credited', { amount: '2.00' }],
  },
  'refund an entry': {
    ...atOffice,
    run: ({ ctx, redemptionId }, by) =>
      refundEntry(ctx, by, { transferId: redemptionId, amount: money('4'), note: 'broken' }),
    entry: ['card-refunded', { amount: '4.00' }],
  },
  'adjust a balance': {
    ...atOffice,
    run: ({ ctx, card }, by) =>
      adjustBalance(ctx, by, {
        cardId: card.id,
        balance: money('45'),
        reason: 'counted',
        version: versionTagOf(card),
      }),
    entry: ['card-changed', { before: '40.00', balance: '45.00' }],
  },
  'edit details': {
    ...atOffice,
    run: ({ ctx, card }, by) =>
      editCard(ctx, by, {
        cardId: card.id,
        changes: changedDetails({ note: 'red', recipient_name: null, tags: 'b,a' }),
        version: versionTagOf(card),
      }),
    entry: ['card-changed', { fields: 'note, tags' }],
  },
  'disable a card': {
    ...atOffice,
    run: ({ ctx, card }, by) => disableCard(ctx, by, { cardId: card.id, releaseHolds: true }),
    entry: ['card-disabled', { balance: '40.00', holdsReleased: true }],
  },
  'suspend a card': {
    ...atOffice,
    run: ({ ctx, card }, by) => suspendCardBy(ctx, by, { cardId: card.id, reason: 'disputed' }),
    entry: ['card-suspended', {}],
  },
  'release a hold': {
    ...atOffice,
    run: ({ ctx, hold }, by) => releaseHoldOf(ctx, by, hold),
    entry: ['hold-released', { amount: '5.00' }],
  },
  'email a new code': {
    ...atOffice,
    run: ({ ctx, card }, by) =>
      emailNewCode(ctx, by, { cardId: card.id, address: email('ada@example.com'), canSend: true }),
    entry: ['code-sent', { how: 'email' }],
  },
  'print a new code': {
    ...atOffice,
    run: ({ ctx, card }, by) => printNewCode(ctx, by, card.id),
    entry: ['code-sent', { how: 'print' }],
  },
  'export cards': {
    role: 'accountant',
    without: 'cashier',
    run: ({ ctx }, by) => recordCardExport(ctx, by, { state: 'active', filters: ['email', 'tag'] }),
    entry: ['cards-exported', { state: 'active', filters: 'email, tag' }],
  },
  'check a batch': {
    ...atOffice,
    run: ({ ctx }, by) => recordBatchCheck(ctx, by, 7),
    entry: ['batch-checked', { codes: 7 }],
  },
  'issue a batch': {
    ...atOffice,
    run: ({ ctx }, by) =>
      issueBatch(ctx, by, {
        name: 'Spring',
        cards: [{ ...newCard, storefrontCustomerId: null, code: null }],
        total: money('20'),
        lines: null,
        file: { key: 'spring ', decided: { headings: ['Gruß'], columns: ['message'] } },
      }),
    entry: ['batch-issued', { amount: '20.00' }],
  },
  'read the codes of a batch': {
    ...atOffice,
    run: ({ ctx }, by) => recordCodesRead(ctx, by),
    entry: ['batch-codes-read', { amount: null }],
  },
  'add printed cards': {
    ...atOffice,
    run: ({ ctx }, by) => addStock(ctx, by, { name: 'Counter', terms: printed, codes: 3 }),
    entry: ['stock-added', { codes: 3 }],
  },
  'read the codes of printed cards': {
    ...atOffice,
    run: ({ ctx, stockId }, by) => readStockCodes(ctx, by, stockId),
    entry: ['stock-codes-read', { codes: 2 }],
  },
  'void printed cards': {
    ...atOffice,
    run: ({ ctx, stockId }, by) => voidStockBy(ctx, by, stockId, null),
    entry: ['stock-voided', { codes: 2 }],
  },
  'enroll a till': {
    ...atOffice,
    run: ({ ctx }, by) => enrollTill(ctx, by, { name: 'Counter', replaced: null, session: null }),
    entry: ['till-enrolled', { name: 'Counter' }],
  },
};

export function testStaffActions(factory: StorageFactory): void {
  for (const [name, { role, run, entry }] of Object.entries(actions))
    test(`${name}: allowed by the role, and listed with the person`, async () => {
      await using place = await prepare(factory);
      const { storage, store } = place;
      const member = await memberOf(place, role);
      const before = await actionsOf(place);
      await storage.write(() => run(place, { store, member, tillId: null }));
      const added = (await actionsOf(place)).filter(({ id }) => before.every((each) => each.id !== id));
      const [only] = added;
      assert.ok(only && added.length === 1);
      const { entry: _entry, refunds: _refunds, ...details } = only.details;
      assert.deepEqual([only.action, details], entry);
      assert.deepEqual([only.staffId, only.tillId], [member.id, null]);
    });

  for (const [name, { role, without, run }] of Object.entries(actions))
    test(`${name}: nothing changes without the role, or after the person was disabled`, async () => {
      await using place = await prepare(factory);
      const { storage, store, ctx, card } = place;
      const member = await memberOf(place, role);
      const write = () => storage.write(() => run(place, { store, member, tillId: null }));
      const stateOf = async () => ({
        actions: (await actionsOf(place)).length,
        rows: await storage.read(() => countRows()),
        card: (await storage.read(() => loadCard(ctx, { storeId: store.id, cardId: card.id }))).card,
      });
      const before = await stateOf();
      await storage.write(() => execute(sql`update staff set role = ${without} where id = ${member.id}`));
      await assert.rejects(write(), { code: 'insufficient-scope' });
      await storage.write(() => execute(sql`update staff set disabled_at = 1 where id = ${member.id}`));
      await assert.rejects(write(), { code: 'unauthenticated' });
      assert.deepEqual(await stateOf(), before);
    });

  test('a card is enabled again after it was disabled, and its page finds its entries only', async () => {
    await using place = await prepare(factory);
    const { storage, ctx, store, card, redemptionId } = place;
    const by = { store, member: await memberOf(place, 'manager'), tillId: null };
    await storage.write(() => disableCard(ctx, by, { cardId: card.id, releaseHolds: true }));
    await storage.write(() => enableCard(ctx, by, card.id));
    assert.equal((await actionsOf(place))[0]?.action, 'card-reenabled');
    await assert.rejects(
      storage.write(() => enableCard(ctx, by, card.id)),
      { code: 'undo-window-closed' },
    );
    const find = (cardId: number) => () => findEntry({ storeId: store.id, cardId }, redemptionId);
    assert.equal((await storage.read(find(card.id))).left.minor, 1_000n);
    const other = await place.issue();
    await assert.rejects(storage.read(find(other.card.id)), { code: 'not-found' });
  });

  test('a suspended card is resumed by the role only, and what changes nothing is not listed', async () => {
    await using place = await prepare(factory);
    const { storage, ctx, store, card } = place;
    const by = { store, member: await memberOf(place, 'manager'), tillId: null };
    const cashier = { ...by, member: await memberOf(place, 'cashier') };
    const read = async () =>
      (await storage.read(() => loadCard(ctx, { storeId: store.id, cardId: card.id }))).card;
    const listed = async () => {
      const found = await actionsOf(place);
      return found
        .filter(({ subjectId }) => subjectId === card.id)
        .map(({ action, details }) => [action, details]);
    };
    const before = await listed();
    await storage.write(() => suspendCardBy(ctx, by, { cardId: card.id, reason: 'disputed' }));
    await storage.write(() => suspendCardBy(ctx, by, { cardId: card.id, reason: 'lost' }));
    assert.equal((await read()).suspendReason, 'disputed');
    await assert.rejects(
      storage.write(() => resumeCardBy(ctx, cashier, card.id)),
      { code: 'insufficient-scope' },
    );
    assert.notEqual((await read()).suspendedAt, null);
    await storage.write(() => resumeCardBy(ctx, by, card.id));
    await storage.write(() => resumeCardBy(ctx, by, card.id));
    const { suspendedAt, suspendReason } = await read();
    assert.deepEqual([suspendedAt, suspendReason], [null, null]);
    assert.deepEqual(await listed(), [['card-resumed', {}], ['card-suspended', {}], ...before]);
    await storage.write(() => disableCard(ctx, by, { cardId: card.id, releaseHolds: true }));
    for (const run of [
      () => suspendCardBy(ctx, by, { cardId: card.id, reason: null }),
      () => resumeCardBy(ctx, by, card.id),
    ])
      await assert.rejects(storage.write(run), { code: 'card-disabled' });
  });

  test('an edit without a change is not listed, and one of an older version changes nothing', async () => {
    await using place = await prepare(factory);
    const { storage, ctx, store, card } = place;
    const by = { store, member: await memberOf(place, 'manager'), tillId: null };
    const edit = (note: string) => {
      const changes = changedDetails({ note });
      return storage.write(() =>
        editCard(ctx, by, { cardId: card.id, changes, version: versionTagOf(card) }),
      );
    };
    const before = (await actionsOf(place)).length;
    await edit('blue');
    assert.equal((await actionsOf(place)).length, before);
    await edit('red');
    await assert.rejects(edit('green'), { code: 'precondition-failed' });
    assert.equal((await actionsOf(place)).length, before + 1);
  });

  test('the limit of a person applies to each card of a batch, and to what an adjustment adds', async () => {
    await using place = await prepare(factory);
    const { storage, ctx, store, card } = place;
    const by = { store, member: await memberOf(place, 'manager', money('20')), tillId: null };
    const cards = ['20', '20.01'].map((value) => ({
      ...newCard,
      value: money(value),
      storefrontCustomerId: null,
      code: null,
    }));
    const issued = (count: number) => () =>
      issueBatch(ctx, by, { name: null, cards: cards.slice(0, count), total: money('20'), lines: null });
    const above = { code: 'invalid-parameter', extensions: { sale_limit: '20.00' } };
    await storage.write(issued(1));
    await assert.rejects(storage.write(issued(2)), above);
    const adjusted = (balance: string) => () =>
      adjustBalance(ctx, by, {
        cardId: card.id,
        balance: money(balance),
        reason: 'counted',
        version: versionTagOf(card),
      });
    await assert.rejects(storage.write(adjusted('60.01')), above);
    await storage.write(adjusted('60'));
  });

  test('a revoked till and an unlocked PIN are listed once', async () => {
    await using place = await prepare(factory);
    const { storage, ctx, store } = place;
    const owner = await memberOf(place, 'owner');
    const by = { store, member: owner, tillId: null };
    const device = { name: 'Counter', replaced: null, session: null };
    const { till } = await storage.write(() => enrollTill(ctx, by, device));
    await storage.write(() => revokeTill(ctx, by, till.id));
    assert.equal(await storage.write(() => revokeTill(ctx, by, till.id)), false);
    await storage.write(() =>
      execute(sql`update staff set pin = ${'hash'}, pin_failures = 5 where id = ${owner.id}`),
    );
    const manager = { ...by, member: await memberOf(place, 'manager') };
    await assert.rejects(
      storage.write(() => unlockPinOf(ctx, manager, owner.id)),
      {
        code: 'insufficient-scope',
      },
    );
    await storage.write(() => unlockPinOf(ctx, by, owner.id));
    await storage.write(() => unlockPinOf(ctx, by, owner.id));
    const count = async (name: StaffAction['action']) =>
      (await actionsOf(place)).filter(({ action }) => action === name).length;
    assert.deepEqual([await count('till-revoked'), await count('pin-unlocked')], [1, 1]);
  });
}
