/** `verify` names what was tampered with in the changes of cards and stores. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import { listChanges } from '../../src/core/cards/storage/change.ts';
import { sql, type Statement } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

type Rows = OpenStore & {
  /** Changed four times: expiry and note, code, disabled, re-enabled with another note. */
  readonly card: Card;
  /** Never changed. */
  readonly untouched: Card;
  readonly other: Card;
  /** Issued suspended, resumed, and suspended with a reason. */
  readonly suspended: Card;
  /** The ids of the changes of `card`. */
  readonly ids: readonly number[];
};

async function openRows(factory: StorageFactory): Promise<Rows> {
  const opened = await openStore(factory, { undoWindowMinutes: 15 });
  const { storage, ctx, store } = opened;
  const { card } = await opened.issue({ note: 'one', expiresOn: '2027-01-01' });
  const { card: untouched } = await opened.issue({ expiresOn: '2027-02-02' });
  const { card: other } = await opened.issue({ note: 'mine' });
  const on = { store, cardId: card.id, actor: 'test', versions: null };
  const change = (cardId: number, changes: Parameters<typeof updateCommand>[2]) =>
    storage.write(() => update(ctx, updateCommand(store, cardId, changes)));
  await change(card.id, { expiresOn: '2028-01-01', note: 'two' });
  await storage.write(() => rotateCode(ctx, on));
  await change(card.id, { disable: true });
  await storage.write(() => reenableCard(ctx, on));
  await change(other.id, { note: 'yours' });
  const { card: suspended } = await opened.issue({ isSuspended: true });
  const suspension = { ...on, cardId: suspended.id };
  await storage.write(() => resumeCard(ctx, suspension));
  await storage.write(() => suspendCard(ctx, { ...suspension, reason: 'disputed' }));
  await storage.write(() => changeStore(ctx, store.domain, { timeZone: 'Asia/Tokyo' }));
  const present = await change(card.id, { note: 'three' });
  const chain = await storage.read(() => listChanges(store.id, { after: 0, upTo: card.id }));
  const ids = chain.map(({ id }) => id);
  assert.equal(ids.length, 5);
  return { ...opened, card: present, untouched, other, suspended, ids, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
} // prettier-ignore

type Damage = {
  readonly what: string;
  readonly statements: (rows: Rows) => readonly Statement[];
  readonly found: RegExp;
  /** The card that is named; null: none. */
  readonly of?: 'untouched' | 'other' | 'suspended' | null;
};

const first = ({ ids }: Rows): number => ids[0] ?? 0;
const second = ({ ids }: Rows): number => ids[1] ?? 0;
const last = ({ ids }: Rows): number => ids.at(-1) ?? 0;

const hash = new Uint8Array(32).fill(1);

const damages: readonly Damage[] = [
  { what: 'an actor', statements: (on) => [sql`update card_changes set actor = 'else' where id = ${second(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'a time', statements: (on) => [sql`update card_changes set created_at = created_at + 1 where id = ${second(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'the salt of a chain', statements: (on) => [sql`update card_changes set salt = ${new Uint8Array(16)} where id = ${first(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'a hash', statements: (on) => [sql`update card_changes set hash = ${hash} where id = ${second(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'the hash of the last change', statements: (on) => [sql`update card_changes set hash = ${hash} where id = ${last(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'a value', statements: (on) => [sql`update card_changes set fields = replace(fields, '2028', '2029') where id = ${first(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'the JSON of values', statements: (on) => [sql`update card_changes set fields = '[["note"]]' where id = ${first(on)}`], found: /^change \d+ cannot be read/ },
  { what: 'an unknown field', statements: (on) => [sql`update card_changes set fields = '[["secret",1,2]]' where id = ${second(on)}`], found: /^change \d+ cannot be read/ },
  { what: 'a text', statements: (on) => [sql`update card_changes set texts = replace(texts, 'two', 'ten') where id = ${first(on)}`], found: /^the note of change \d+ was changed/ },
  { what: 'a text with another field', statements: (on) => [sql`update card_changes set texts = replace(texts, 'note', 'message') where id = ${first(on)}`], found: /^change \d+ cannot be read/ },
  { what: 'a text with another spelling of its salt', statements: (on) => [sql`update card_changes set texts = replace(texts, '=="', '=!"') where id = ${first(on)}`], found: /^change \d+ cannot be read/ },
  { what: 'a sequence number', statements: (on) => [sql`update card_changes set sequence = 9 where id = ${last(on)}`], found: /^change \d+ has the sequence number 9, not 5/ },
  { what: 'a link to another change', statements: (on) => [sql`update card_changes set previous_id = ${first(on)} where id = ${on.ids[2] ?? 0}`], found: /^change \d+ is not part of its chain/ },
  { what: 'a change that belongs to another card', statements: (on) => [sql`update card_changes set card_id = ${on.untouched.id} where id = ${second(on)}`], found: /^change \d+ is a change of another card/ },
  { what: 'a missing last change', statements: (on) => [sql`delete from card_changes where id = ${last(on)}`], found: /^has another last change than the end of its chain/ },
  { what: 'a missing change in the middle', statements: (on) => [sql`delete from card_changes where id = ${second(on)}`], found: /^change \d+ has the sequence number/ },
  { what: 'a missing first change', statements: (on) => [sql`delete from card_changes where id = ${first(on)}`], found: /^the hash of change \d+ does not match/ },
  { what: 'the removal of all changes of a card', statements: ({ card }) => [sql`delete from card_changes where card_id = ${card.id}`], found: /^has another last change than the end of its chain/ },
  { what: 'the removal of all changes of a card with its end', statements: ({ card }) => [
    sql`delete from card_changes where card_id = ${card.id}`,
    sql`update gift_cards set last_change_id = null, change_count = 0, change_hash = null where id = ${card.id}`,
  ], found: /^differs from what was issued, but has no changes/ },
  { what: 'the removal of the last change with an end before it', statements: (on) => [
    sql`delete from card_changes where id = ${last(on)}`,
    sql`update gift_cards set last_change_id = ${on.ids[3] ?? 0}, change_count = 4,
        change_hash = (select hash from card_changes where store_id = ${on.store.id} and id = ${on.ids[3] ?? 0})
        where store_id = ${on.store.id} and id = ${on.card.id}`,
  ], found: /^has another note than after its last change/ },
  { what: 'the hash at the end', statements: ({ card }) => [sql`update gift_cards set change_hash = ${hash} where id = ${card.id}`], found: /^has another last change than the end of its chain/ },
  { what: 'the length at the end', statements: ({ card }) => [sql`update gift_cards set change_count = 4 where id = ${card.id}`], found: /^has another last change than the end of its chain/ },
  { what: 'the last change at the end', statements: (on) => [sql`update gift_cards set last_change_id = ${second(on)} where id = ${on.card.id}`], found: /^has another last change than the end of its chain/ },
  { what: 'the ends of two cards that are swapped', statements: ({ card, other, store }) => [
    sql`update gift_cards set last_change_id = (
        select g.last_change_id from gift_cards g where g.store_id = ${store.id} and g.id = ${other.id})
        where store_id = ${store.id} and id = ${card.id}`,
  ], found: /^change \d+ is a change of another card/ },
  { what: 'the expiry of a changed card', statements: ({ card }) => [sql`update gift_cards set expires_on = '2030-01-01' where id = ${card.id}`], found: /^has another expires_on than after its last change/ },
  { what: 'the note of a changed card', statements: ({ card }) => [sql`update gift_cards set note = 'four' where id = ${card.id}`], found: /^has another note than after its last change/ },
  { what: 'the disabling of a changed card', statements: ({ card }) => [sql`update gift_cards set disabled_at = 5 where id = ${card.id}`], found: /^has another disabled_at than after its last change/ },
  { what: 'the last characters of a card with another code', statements: ({ card }) => [sql`update gift_cards set last_characters = 'zzzz' where id = ${card.id}`], found: /^has another code than after its last change/ },
  { what: 'the first code of a card with another code', statements: ({ card }) => [sql`update gift_cards set code_lookup = null where id = ${card.id}`], found: /^has a code that does not match its changes/ },
  { what: 'the expiry of a card without changes', statements: ({ untouched }) => [sql`update gift_cards set expires_on = null where id = ${untouched.id}`], found: /^differs from what was issued, but has no changes/, of: 'untouched' },
  { what: 'the disabling of a card without changes', statements: ({ untouched }) => [sql`update gift_cards set disabled_at = 5 where id = ${untouched.id}`], found: /^differs from what was issued, but has no changes/, of: 'untouched' },
  { what: 'the expiry of a card with other changes', statements: ({ other }) => [sql`update gift_cards set expires_on = '2030-01-01' where id = ${other.id}`], found: /^has another expires_on than it was issued with/, of: 'other' },
  { what: 'the disabling of a card with other changes', statements: ({ other }) => [sql`update gift_cards set disabled_at = 5 where id = ${other.id}`], found: /^is disabled, but has no change of disabled_at/, of: 'other' },
  { what: 'the suspension of a changed card', statements: ({ card }) => [sql`update gift_cards set suspended_at = 5 where id = ${card.id}`], found: /^is suspended, but has no change of suspended_at/ },
  { what: 'the resumption of a suspended card', statements: ({ suspended }) => [sql`update gift_cards set suspended_at = null, suspend_reason = null where id = ${suspended.id}`], found: /^has another suspended_at than after its last change/, of: 'suspended' },
  { what: 'the reason of a suspended card', statements: ({ suspended }) => [sql`update gift_cards set suspend_reason = 'else' where id = ${suspended.id}`], found: /^has another suspend_reason than after its last change/, of: 'suspended' },
  { what: 'the suspension of a card without changes', statements: ({ untouched }) => [sql`update gift_cards set suspended_at = 5 where id = ${untouched.id}`], found: /^differs from what was issued, but has no changes/, of: 'untouched' },
  { what: 'the suspension of a card with other changes', statements: ({ other }) => [sql`update gift_cards set suspended_at = 5, suspend_reason = 'x' where id = ${other.id}`], found: /^is suspended, but has no change of suspended_at/, of: 'other' },
  { what: 'the time zone of a store', statements: () => [sql`update stores set time_zone = 'UTC'`], found: /^store_changes: the change \d+ leads to another time zone/, of: null },
  { what: 'a past time zone', statements: () => [sql`update store_changes set new_value = 'UTC'`], found: /^store_changes: the change \d+ leads to another time zone/, of: null },
]; // prettier-ignore

export function testVerifiedChanges(factory: StorageFactory): void {
  test('unchanged changes are verified without a problem', async () => {
    await using rows = await openRows(factory);
    assert.deepEqual((await rows.storage.read(() => verify(50))).mismatches, []);
  });

  for (const { what, statements, found, of } of damages)
    test(`${what}: verify finds that it was changed, and names the card`, async () => {
      await using rows = await openRows(factory);
      await rows.database.tamper(...statements(rows));
      const { mismatches } = await rows.storage.read(() => verify(50));
      const expected = of === null ? null : rows[of ?? 'card'].id;
      const named = mismatches.filter(({ cardId, problem }) => cardId === expected && found.test(problem));
      assert.ok(named.length > 0, JSON.stringify(mismatches));
    });

  test('changes of a card that does not exist are found', async () => {
    await using rows = await openRows(factory);
    const { untouched, other } = rows;
    await rows.database.tamper(
      sql`update card_changes set card_id = ${other.id + 1} where card_id = ${other.id}`,
      sql`update gift_cards set last_change_id = null, change_count = 0, change_hash = null, note = ${untouched.note} where id = ${other.id}`,
    );
    const { mismatches } = await rows.storage.read(() => verify(50));
    assert.ok(
      mismatches.some(({ cardId, problem }) => cardId === other.id + 1 && /has changes, but the card does not exist/.test(problem)),
      JSON.stringify(mismatches),
    );
  });
} // prettier-ignore
