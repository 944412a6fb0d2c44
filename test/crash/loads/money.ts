/**
 * Customers who use every operation on money, on their own and on shared cards. No movement is lost or made twice, and a
 * request without a response is executed once when it is sent again.
 */

import assert from 'node:assert/strict';
import { openMoneyClient, type MoneyClient } from '../../money/client.ts';
import { newCustomer, nothingAcknowledged, type Acknowledged } from '../../money/customer.ts';
import type { QueryRow } from '../../support/engine-database.ts';
import { publicIdsOf } from '../../support/public-ids.ts';
import { isRejected, persist, type OpenLoad, type World } from '../killing.ts';

const customerCount = 10;
const sharedCards = 3;

const counted = {
  transactions: ['debit', 'credit', 'capture', 'reversal'],
  adjustments: ['adjustment'],
} as const;

async function issueShared(client: MoneyClient, { balances }: Acknowledged): Promise<readonly number[]> {
  for (let made = 0; made < sharedCards; made += 1) {
    const { card } = await client({ line: 'POST /gift_card', json: { initial_value: '1000.00' } });
    assert(card);
    balances.set(card.id, card.balance);
  }
  return [...balances.keys()];
}

type Stored = Readonly<Record<'cards' | 'transfers' | 'holds', readonly QueryRow[]>>;

async function read({ database }: World, storeId: number): Promise<Stored> {
  const of = (text: string) => database.query(`${text} where store_id = ?`, storeId);
  return {
    cards: await of('select id, balance, disabled_at from gift_cards'),
    transfers: await of(
      "select id, kind, case credit_account when 'card' then amount else -amount end as effect from transfers",
    ),
    holds: await of('select id, status from holds'),
  };
}

/**
 * Asserts that what is stored has every acknowledged movement, and at most as many others as requests are open. `verify` shows
 * that none of them is partly executed.
 */
function assertNothingLost(
  { cards, transfers, holds }: Stored,
  acknowledged: Acknowledged,
  { open, publicId }: { readonly open: number; readonly publicId: (row: QueryRow) => number },
): void {
  const effects = new Map(transfers.map((row) => [publicId(row), BigInt(Number(row['effect']))]));
  for (const [id, { card, amount }] of acknowledged.transactions)
    assert.equal(effects.get(id), amount, `lost: transaction ${id} of ${amount} on the card ${card}`);
  const count = (kinds: readonly string[]): number =>
    transfers.filter(({ kind }) => kinds.includes(String(kind))).length;
  const others = [
    count(counted.transactions) - acknowledged.transactions.size,
    count(counted.adjustments) - acknowledged.adjustments,
    cards.length - acknowledged.balances.size,
    holds.length - acknowledged.holds.size,
  ];
  const sum = others.reduce((total, more) => total + more, 0);
  assert(
    others.every((more) => more >= 0) && sum <= open,
    `${others.join()} more transactions, adjustments, cards and holds than acknowledged, and ${open} open requests`,
  );
}

/** Asserts the exact state of each card and hold, which is known while no request is open. */
function assertExact(
  { cards, holds }: Stored,
  acknowledged: Acknowledged,
  publicId: (row: QueryRow) => number,
): void {
  const statuses = new Map(holds.map((row) => [publicId(row), row['status']]));
  for (const [id, status] of acknowledged.holds) assert.equal(statuses.get(id), status, `the hold ${id}`);
  const byId = new Map(cards.map((row) => [publicId(row), row]));
  for (const [id, balance] of acknowledged.balances) {
    const card = byId.get(id);
    assert.equal(Number(card?.['balance']), Number(balance), `the balance of the card ${id}`);
    assert.equal(
      card?.['disabled_at'] !== null,
      acknowledged.disabled.has(id),
      `whether the card ${id} is disabled`,
    );
  }
}

export const openMoney: OpenLoad = async (world) => {
  const { database, url, random, openStore } = world;
  const { token, storeId } = await openStore('money.example');
  const plain = openMoneyClient(url, token);
  const acknowledged = nothingAcknowledged();
  const complaints: string[] = [];
  const complain = (complaint: string): void => void complaints.push(complaint);
  const shared = await issueShared(plain, acknowledged);
  const customers = Array.from({ length: customerCount }, (_, place) =>
    newCustomer(`customer-${place}`, { shared, acknowledged, random, complain }),
  );
  const ids = publicIdsOf(database.keysFile);
  const publicId = (row: QueryRow): number => ids.of(Number(row['id']));
  const totals = { open: 0, done: 0 };
  const check = async (): Promise<void> => {
    assert.deepEqual(complaints, []);
    const open = customers.filter((customer) => customer.open()).length;
    const stored = await read(world, storeId);
    assertNothingLost(stored, acknowledged, { open, publicId });
    if (open === 0) assertExact(stored, acknowledged, publicId);
  };
  return {
    name: 'money',
    count: () => acknowledged.requests,
    async work(isOver) {
      const client: MoneyClient = async (request, key) => {
        const reply = await plain(request, key);
        // A process that ends rejects requests.
        if (reply.status !== 503) return reply;
        if (!isRejected(reply, isOver)) complain(`a 503 from a running service: ${request.line}`);
        throw new Error('503');
      };
      await Promise.all(
        customers.map(async (customer) => {
          while (!isOver()) {
            await customer.work(client);
            await persist(isOver, () => customer.decide(client));
          }
        }),
      );
      assert.deepEqual(complaints, []);
    },
    async checkRestarted() {
      totals.open += customers.filter((customer) => customer.open()).length;
      await check();
      const decided = await Promise.all(customers.map((customer) => customer.decide(plain)));
      totals.done += decided.filter(Boolean).length;
      await check();
    },
    summary: () => `${totals.open} requests had no response, of which ${totals.done} had been executed`,
  };
};
