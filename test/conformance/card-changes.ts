/** Changes of cards that are not money: what is recorded, the chains, and that the rows cannot be changed. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { credit, debit } from '../../src/core/money/service/spend.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { eraseChangeTexts, listChanges } from '../../src/core/cards/storage/change.ts';
import { all, execute, sql, type Script, type Statement } from '../../src/database/sql/sql.ts';
import { findStorePast, timeZoneAt } from '../../src/core/stores/storage/change.ts';
import type { StorageFactory } from '../support/database.ts';
import { money, updateCommand } from '../support/fixtures.ts';
import { interrupted } from '../support/interleave.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const all1 = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

async function changesOf({ storage, store }: OpenStore) {
  return await storage.read(() => listChanges(store.id, all1));
}

async function assertSound({ storage }: OpenStore): Promise<void> {
  assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
}

/** A card that was changed in every way, by two callers. */
async function changedCard(factory: StorageFactory) {
  const opened = await openStore(factory, { undoWindowMinutes: 15 });
  const { storage, ctx, store } = opened;
  const { card } = await opened.issue({ note: 'first', expiresOn: '2026-12-31' });
  const change = async (changes: Parameters<typeof updateCommand>[2], actor: string) => {
    ctx.clock.advance(1_000);
    return await storage.write(() => update(ctx, updateCommand(store, card.id, changes, { actor })));
  };
  await change({ expiresOn: '2027-06-30', note: 'second' }, 'api_client:1');
  const rotated = await storage.write(() =>
    rotateCode(ctx, { store, cardId: card.id, actor: 'api_client:2', versions: null }),
  );
  await change({ disable: true }, 'api_client:1');
  await storage.write(() =>
    reenableCard(ctx, { store, cardId: card.id, actor: 'api_client:2', versions: null }),
  );
  const last = await change({ note: null, balance: money('10') }, 'api_client:1');
  return { ...opened, card, rotated: rotated.card, last, change };
}

export function testCardChanges(factory: StorageFactory): void {
  test('each change is recorded once with its caller, and hashed in the documented format', async () => {
    await using opened = await changedCard(factory);
    const { store, card, rotated } = opened;
    const chain = await changesOf(opened);
    const at = (place: number) => chain[place]?.createdAt;
    const texts = chain.map((change) =>
      change.texts === null ? null : (JSON.parse(change.texts) as unknown),
    );
    const [first, , , , fifth] = texts as { note: [string, string | null, string | null] }[];
    assert.deepEqual(first?.note.slice(1), ['first', 'second']);
    assert.deepEqual(fifth?.note.slice(1), ['second', null]);
    const commitment = (salt: string | undefined, value: string) =>
      createHash('sha256')
        .update(Buffer.from(salt ?? '', 'base64'))
        .update(JSON.stringify(value))
        .digest('base64');
    const [one, five] = [first?.note[0], fifth?.note[0]];
    const expected = [
      [
        'api_client:1',
        [
          ['expires_on', '2026-12-31', '2027-06-30'],
          ['note', commitment(one, 'first'), commitment(one, 'second')],
        ],
      ],
      ['api_client:2', [['code', card.lastCharacters, rotated.lastCharacters]]],
      ['api_client:1', [['disabled_at', null, at(2)]]],
      ['api_client:2', [['disabled_at', at(2), null]]],
      ['api_client:1', [['note', commitment(five, 'second'), null]]],
    ];
    assert.deepEqual(
      chain.map(({ actor, fields }) => [actor, JSON.parse(fields) as unknown]),
      expected,
    );
    assert.deepEqual(
      chain.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5],
    );
    let previous: Uint8Array = new Uint8Array(32);
    for (const [place, { id, createdAt, salt, hash }] of chain.entries()) {
      const [actor, fields] = expected[place] ?? [];
      const salted = place === 0 ? Buffer.from(salt ?? []).toString('base64') : null;
      const content = JSON.stringify([
        'change/1',
        store.id,
        card.id,
        place + 1,
        id,
        createdAt,
        actor,
        fields,
        salted,
      ]);
      assert.deepEqual(Buffer.from(hash), createHash('sha256').update(previous).update(content).digest());
      previous = hash;
    }
    await assertSound(opened);
  });

  test('creations, debits, credits, holds and updates without an effect record no change', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ note: 'kept', expiresOn: '2026-12-31' });
    const movement = {
      store, cardId: card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null,
    }; // prettier-ignore
    await storage.write(() => debit(ctx, { ...movement, amount: money('1'), partial: false }));
    await storage.write(() => credit(ctx, { ...movement, amount: money('1') }));
    await storage.write(() => placeHold(ctx, { ...movement, amount: money('1'), seconds: 60 }));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { balance: money('9') })));
    await storage.write(() =>
      update(ctx, updateCommand(store, card.id, { note: 'kept', expiresOn: '2026-12-31', disable: false })),
    );
    assert.deepEqual(await changesOf(opened), []);
    await assertSound(opened);
  });

  test('a text can be erased with its salt, and nothing else of a change can be updated or deleted', async () => {
    await using opened = await changedCard(factory);
    const { storage, store } = opened;
    const chain = await changesOf(opened);
    const [id = 0, plain = 0] = chain.map((change) => change.id);
    const rejected: readonly Statement[] = [
      sql`update card_changes set fields = '[]' where id = ${id}`,
      sql`update card_changes set actor = 'x' where id = ${id}`,
      sql`update card_changes set created_at = created_at + 1 where id = ${id}`,
      sql`update card_changes set hash = salt where id = ${id}`,
      sql`update card_changes set texts = '{}' where id = ${plain}`,
      sql`update card_changes set texts = texts where id = ${id}`,
      sql`update card_changes set texts = replace(texts, 'second', 'other') where id = ${id}`,
      sql`update card_changes set texts = replace(texts, 'note', 'message') where id = ${id}`,
      sql`update card_changes set texts = null, actor = 'x' where id = ${id}`,
      sql`update card_changes set salt = null, texts = null where id = ${id}`,
      sql`delete from card_changes where id = ${id}`,
    ];
    for (const statement of rejected)
      await assert.rejects(
        storage.write(() => execute(statement)),
        /append-only/,
        statement.strings.join('?'),
      );
    assert.deepEqual(await changesOf(opened), chain);
    await storage.write(() => eraseChangeTexts({ storeId: store.id, id }, ['message']));
    assert.deepEqual(await changesOf(opened), chain);
    await storage.write(() => eraseChangeTexts({ storeId: store.id, id }, ['note']));
    assert.deepEqual(await changesOf(opened), [{ ...chain[0], texts: null }, ...chain.slice(1)]);
    await assertSound(opened);
  });

  test('a change that does not follow the last one of its card is rejected', async () => {
    await using opened = await changedCard(factory);
    const { storage } = opened;
    const chain = await changesOf(opened);
    const copyOf = (place: number, id: number): Statement => {
      const from = chain[place]?.id ?? 0;
      return sql`
        insert into card_changes (store_id, id, card_id, sequence, previous_id, created_at, actor, fields, salt, hash)
        select store_id, ${id}, card_id, sequence, previous_id, created_at, actor, fields, salt, hash
        from card_changes where id = ${from}`;
    };
    for (const place of [0, 1, 4])
      await assert.rejects(
        storage.write(() => execute(copyOf(place, 1 + place))),
        /a change must follow the last change of its gift card/,
        `place ${place}`,
      );
    assert.deepEqual(await changesOf(opened), chain);
    const [end] = await storage.read(() =>
      all(
        sql<{
          last_change_id: bigint;
          change_count: bigint;
        }>`select last_change_id, change_count from gift_cards`,
      ),
    );
    assert.deepEqual({ ...end }, { last_change_id: BigInt(chain[4]?.id ?? 0), change_count: 5n });
  });

  test('changes of the time zone of a store are recorded, and past instants have the zone of that time', async () => {
    await using opened = await openStore(factory, { timeZone: 'Europe/Berlin' });
    const { storage, ctx, store } = opened;
    const changed: number[] = [];
    for (const timeZone of ['America/New_York', 'America/New_York', 'Asia/Tokyo']) {
      ctx.clock.advance(60_000);
      await storage.write(() => changeStore(ctx, store.domain, { timeZone, name: 'x' }));
      changed.push(ctx.clock.now());
    }
    const past = await storage.read(() => findStorePast(store.id));
    assert.equal(past.changesFrom, 0);
    const [toNewYork = 0, , toTokyo = 0] = changed;
    const zoneAt = (instant: number) => timeZoneAt('Asia/Tokyo', past, instant);
    assert.deepEqual([0, toNewYork - 1, toNewYork, toTokyo - 1, toTokyo, toTokyo + 1].map(zoneAt), [
      'Europe/Berlin',
      'Europe/Berlin',
      'America/New_York',
      'America/New_York',
      'Asia/Tokyo',
      'Asia/Tokyo',
    ]);
    await assertSound(opened);
    for (const statement of [sql`update store_changes set old_value = 'UTC'`, sql`delete from store_changes`])
      await assert.rejects(
        storage.write(() => execute(statement)),
        /append-only/,
      );
  });

  test('concurrent updates of one card by two processes are all recorded, each after the one before', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store, database } = opened;
    const other = database.open();
    const { card } = await opened.issue({ note: 'n0' });
    const notes = Array.from({ length: 40 }, (_, index) => `n${index + 1}`);
    await Promise.all(
      notes.map((note, index) =>
        (index % 2 === 0 ? storage : other).write(() => update(ctx, updateCommand(store, card.id, { note }))),
      ),
    );
    const chain = await changesOf(opened);
    assert.deepEqual(chain.map(({ sequence }) => sequence), notes.map((_, index) => index + 1));
    const values = chain.map(({ texts }) => (JSON.parse(texts ?? '') as { note: string[] }).note.slice(1));
    assert.deepEqual(values.map(([old]) => old), ['n0', ...values.slice(0, -1).map(([, next]) => next)]);
    assert.deepEqual(new Set(values.map(([, next]) => next)), new Set(notes));
    await assertSound(opened);
  });

  test('an update that another change interrupts before it writes is recorded once', async () => {
    const started = new Set<string>();
    for (const name of ['update', 'rotate', 'debit', 'disable'] as const) {
        await using opened = await openStore(factory, { undoWindowMinutes: 15 });
        const { storage, ctx, store } = opened;
        const { card } = await opened.issue({ note: 'before' });
        let interruptions = 0;
        const scripts = {
          update: () => update(ctx, updateCommand(store, card.id, { note: `by ${interruptions}` })),
          rotate: () => rotateCode(ctx, { store, cardId: card.id, actor: 'other', versions: null }),
          debit: () =>
            debit(ctx, {
              store, cardId: card.id, actor: 'other', reference: null, note: null, orderId: null, versions: null,
              amount: money('1'), partial: true,
            }),
          disable: () => update(ctx, updateCommand(store, card.id, { disable: true })),
        } as const;
        const by = function* (): Script<void> {
          interruptions += 1;
          if (interruptions === 1) yield* scripts[name]();
        };
        const own = () => update(ctx, updateCommand(store, card.id, { note: 'own', expiresOn: null }));
        await storage.write(() => interrupted(own(), { after: 1, by }));
        if (interruptions > 0) started.add(name);
        const fields = (await changesOf(opened)).map(({ fields: json }) => (JSON.parse(json) as string[][])[0]?.[0]);
        const others = { update: 'note', rotate: 'code', debit: null, disable: 'disabled_at' }[name];
        // A retry takes the interruption back.
        const alone = JSON.stringify(['note']);
        const both = JSON.stringify(others === null ? ['note'] : [others, 'note']);
        assert.ok([alone, both].includes(JSON.stringify(fields)), `${name}: ${JSON.stringify(fields)}`);
        const [present] = await storage.read(() =>
          all(sql<{ note: string }>`select note from gift_cards where id = ${card.id}`),
        );
        assert.equal(present?.note, 'own');
        await assertSound(opened);
      }
    assert.equal(started.size, 4);
  });
} // prettier-ignore
