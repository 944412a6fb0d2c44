/** Compares the content of a database to the records of clients. */

import assert from 'node:assert/strict';
import type { EngineDatabase } from './engine-database.ts';
import { publicIdsOf } from './public-ids.ts';
import { afterwards, type KnownCard, type OpenRequest, type LoadClient } from './load-client.ts';

export type Stored = Pick<EngineDatabase, 'query' | 'keysFile'> & {
  /** Default: all stores. */
  readonly storeId?: number;
};

/** Every card of a database or a store, by its public id. Amounts have two decimals. */
export async function storedCards(database: Stored): Promise<ReadonlyMap<number, KnownCard>> {
  const rows = await database.query(
    // Transfers are counted first: no index finds those of one card, so a join would compare each card to each
    // transfer.
    `select g.id, g.balance, g.disabled_at, g.note, g.version, coalesce(t.transfers, 0) as transfers
     from gift_cards g
     left join (select store_id, card_id, count(*) as transfers from transfers group by store_id, card_id) t
       on t.store_id = g.store_id and t.card_id = g.id
     where ${database.storeId === undefined ? 'true' : `g.store_id = ${database.storeId}`}`,
  );
  const ids = publicIdsOf(database.keysFile);
  return new Map(
    rows.map((row) => {
      const id = ids.of(Number(row['id']));
      const balance = (Number(row['balance']) / 100).toFixed(2);
      const isDisabled = row['disabled_at'] !== null;
      const { note, version, transfers } = row;
      const card = {
        id,
        balance,
        isDisabled,
        note: String(note),
        version: Number(version),
        transfers: Number(transfers),
      };
      return [id, card];
    }),
  );
}

/**
 * Asserts that a database has every known card, that each open request was executed completely or not at all,
 * and that there is nothing else. Returns the open requests that were executed.
 */
export async function assertHolds(
  database: Stored,
  clients: readonly Pick<LoadClient, 'cards' | 'open'>[],
): Promise<ReadonlySet<OpenRequest>> {
  const cards = await storedCards(database);
  const rest = new Map(cards);
  const done = new Set<OpenRequest>();
  const byNote = new Map([...cards.values()].map((card) => [card.note, card]));
  for (const { cards: known, open } of clients) {
    for (const card of known.values()) {
      const held = rest.get(card.id);
      assert.ok(held, `the acknowledged card ${card.id} is lost`);
      rest.delete(card.id);
      if (open?.before?.id === card.id && held.version !== card.version) {
        assert.deepEqual(held, afterwards(open, card.id), 'an update was partly executed');
        done.add(open);
      } else assert.deepEqual(held, card);
    }
    if (open && !open.before) {
      const held = byNote.get(open.key);
      if (!held) continue;
      assert.deepEqual(held, afterwards(open, held.id), 'a creation was partly executed');
      rest.delete(held.id);
      done.add(open);
    }
  }
  assert.deepEqual([...rest.values()], [], 'cards that no client requested');
  return done;
}
