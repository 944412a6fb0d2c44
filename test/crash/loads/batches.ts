/** Batches of cards. Each is made once and becomes complete, and each of its cards is issued once. */

import assert from 'node:assert/strict';
import { until } from '../../support/delivering.ts';
import { send } from '../../support/http-client.ts';
import { isRejected, persist, type OpenLoad } from '../killing.ts';

const rows = 120;

/** The values of the cards of a batch, in minor units. */
const values = Array.from({ length: rows }, (_, row) => (row + 1) * 100);
const total = values.reduce((sum, value) => sum + value, 0);

type Batch = {
  readonly id: number;
  readonly state: string;
  readonly issued: number;
  readonly failed: number;
};

export const openBatches: OpenLoad = async ({ database, url, openStore, count }) => {
  const { token, storeId } = await openStore('batches.example');
  /** The ids of the batches in responses, by their place; undefined: no response yet. */
  const batches: (number | undefined)[] = [];
  let halfway = 0;

  const create = async (place: number, isOver: () => boolean): Promise<void> => {
    const cards = values.map((value, row) => ({
      initial_value: value / 100,
      note: `batch ${place} row ${row}`,
    }));
    const response = await send(`${url}/batches`, {
      method: 'POST',
      token,
      json: { cards, expected_count: rows, expected_total: (total / 100).toFixed(2) },
      headers: { 'idempotency-key': `batch-${place}` },
    });
    if (isRejected(response, isOver)) return;
    assert.equal(response.status, 202, response.text);
    batches[place] = (response.json as { readonly batch: Batch }).batch.id;
  };
  const show = async (id: number): Promise<Batch> => {
    const { json, text } = await send(`${url}/batches/${id}`, { token });
    return (json as { readonly batch?: Batch }).batch ?? assert.fail(text);
  };

  return {
    name: 'batches',
    count: () => batches.length,
    async work(isOver) {
      while (!isOver()) {
        const place = batches.length;
        batches.push(undefined);
        await persist(isOver, () => create(place, isOver));
        // The next one begins at once, up to the limit of running batches.
        await until(async () => {
          if (isOver()) return true;
          const id = batches[place];
          return id === undefined || (await persist(isOver, () => show(id)))?.state === 'complete';
        }, 120_000);
      }
    },
    async whileDown() {
      halfway += await count(
        'select count(*) from batches where store_id = ? and issued > 0 and issued < ?',
        storeId,
        rows,
      );
    },
    async checkRestarted() {
      for (const place of batches.keys())
        while (batches[place] === undefined) await create(place, () => false);
    },
    async checkEnd() {
      for (const id of batches) {
        assert(id !== undefined);
        await until(async () => (await show(id)).state === 'complete', 60_000);
        const { issued, failed } = await show(id);
        assert.deepEqual([issued, failed], [rows, 0]);
      }
      const [sums] = await database.query(
        `select count(*) as cards, count(distinct note) as notes, sum(initial_value) as total,
           (select count(*) from batches where store_id = ?) as batches,
           (select sum(issued_total) from batches where store_id = ?) as issued,
           (select count(*) from batch_parts where store_id = ? and lines is not null) as lines
         from gift_cards where store_id = ?`,
        storeId,
        storeId,
        storeId,
        storeId,
      );
      const made = batches.length;
      assert.deepEqual(
        Object.fromEntries(Object.entries(sums ?? {}).map(([name, value]) => [name, Number(value)])),
        {
          cards: made * rows,
          notes: made * rows,
          total: made * total,
          batches: made,
          issued: made * total,
          lines: 0,
        },
      );
    },
    summary: () => `${halfway} kills were halfway in a batch`,
  };
};
