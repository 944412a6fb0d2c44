/**
 * Callers who race for printed cards and repeat external ids. A code becomes at most one gift card, and an external id makes
 * at most one object, whether a request got its response or not.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../support/delivering.ts';
import { send } from '../../support/http-client.ts';
import { isRejected, type OpenLoad } from '../killing.ts';

const callers = 6;
const codesMax = 600;
const kinds = ['card', 'debit', 'hold'] as const;
const members = { activation: 'gift_card', card: 'gift_card', debit: 'transaction', hold: 'hold' } as const;

/** The requests of two callers at about the same time, and again after a kill. */
type Request = {
  readonly kind: keyof typeof members;
  readonly path: string;
  readonly json: object;
  /** The ids in responses of success. */
  readonly ids: Set<number>;
  /** Whether a request had no response. */
  isOpen: boolean;
};

/** The requests in their order: printed cards as long as there are some, and objects with external ids. */
function requestAt(place: number, codes: readonly string[], cardId: number): Request {
  const code = place % 2 === 0 ? codes[place / 2] : undefined;
  const rest = { ids: new Set<number>(), isOpen: false };
  if (code !== undefined)
    return { kind: 'activation', path: '/gift_card', json: { code, initial_value: '25.00' }, ...rest };
  const external_id = `order-${place}`;
  const kind = kinds[place % kinds.length] ?? 'card';
  if (kind === 'card')
    return { kind, path: '/gift_card', json: { initial_value: '5.00', external_id }, ...rest };
  const path = `/gift_card/${cardId}/${kind === 'debit' ? 'debit' : 'holds'}`;
  return { kind, path, json: { amount: '0.01', external_id }, ...rest };
}

function idIn(body: unknown, kind: Request['kind']): number {
  return (
    (body as Readonly<Record<string, { readonly id: number }>>)[members[kind]]?.id ?? assert.fail('no id')
  );
}

export const openPrintedCards: OpenLoad = async ({ url, openStore, count }) => {
  const { token, storeId } = await openStore('printed.example');
  const post = (path: string, json: object) => send(`${url}${path}`, { method: 'POST', token, json });

  const codes = Array.from({ length: codesMax }, (_, place) => `KILLED-${String(place).padStart(6, '0')}`);
  const made = await post('/stocks', { codes, fixed_value: '25.00' });
  assert.equal(made.status, 202, made.text);
  const stock = (made.json as { readonly stock: { readonly id: number } }).stock.id;
  await until(async () => (await send(`${url}/stocks/${stock}`, { token })).text.includes('"complete"'));
  const cardId = idIn((await post('/gift_card', { initial_value: '500.00' })).json, 'card');
  const requests: Request[] = [];
  let responses = 0;
  let cut = 0;

  /** @returns whether the request was decided. A process that ends rejects requests. */
  const ask = async (request: Request, isOver: () => boolean): Promise<boolean> => {
    const response = await post(request.path, request.json).catch(() => undefined);
    if (!response || isRejected(response, isOver)) {
      request.isOpen = true;
      return false;
    }
    const { status, json, text } = response;
    if (request.kind === 'activation' && status === 422) assert.match(text, /\/already-activated"/);
    else {
      assert.ok(status === 201 || (status === 200 && request.kind !== 'activation'), text);
      request.ids.add(idIn(json, request.kind));
    }
    responses += 1;
    return true;
  };

  return {
    name: 'printed cards and external ids',
    count: () => responses,
    async work(isOver) {
      let taken = 2 * requests.length;
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (!isOver()) {
            const place = Math.floor(taken / 2);
            taken += 1;
            requests[place] ??= requestAt(place, codes, cardId);
            const request = requests[place];
            // No process listens for a moment after each was killed.
            if (!(await ask(request, isOver))) await wait(20);
          }
        }),
      );
    },
    async checkRestarted() {
      // Requests without a response are sent again, by two callers.
      const open = requests.filter(({ isOpen }) => isOpen);
      cut += open.length;
      for (const request of open) request.isOpen = false;
      for (const request of open) {
        const decided = await Promise.all([request, request].map((each) => ask(each, () => false)));
        assert.ok(decided.every(Boolean));
      }
    },
    async checkEnd() {
      for (const { ids, json } of requests) assert.ok(ids.size <= 1, JSON.stringify(json));
      const sent = (kind: Request['kind']): number => requests.filter((each) => each.kind === kind).length;
      const rows = (table: string, where = 'true') =>
        count(`select count(*) from ${table} where store_id = ? and ${where}`, storeId);
      const [activations, cards, debits, holds] = [
        sent('activation'),
        sent('card'),
        sent('debit'),
        sent('hold'),
      ];
      assert.deepEqual(
        {
          cards: await rows('gift_cards'),
          externalIds: await rows('external_ids'),
          debits: await rows('transfers', "kind = 'debit'"),
          holds: await rows('holds'),
          sold: await rows('stock_codes', 'sold_at is not null'),
          soldCards: await count(
            `select count(distinct k.card_id) from stock_codes c
               join gift_card_codes k on k.store_id = c.store_id and k.lookup = c.lookup
             where c.store_id = ?`,
            storeId,
          ),
        },
        {
          cards: 1 + activations + cards,
          externalIds: cards + debits + holds,
          debits,
          holds,
          sold: activations,
          soldCards: activations,
        },
      );
    },
    summary: () => `${requests.length} requests, ${cut} of which had no response`,
  };
};
