/**
 * A day at the counter: sells a gift card, redeems it in parts by its code, holds an amount for a
 * checkout and captures part of it, voids another hold, gives back part of a sale, and prints the
 * card's history.
 *
 *     node examples/counter.ts --url http://127.0.0.1:3000 [--token lgs_…]
 *
 * Amounts are decimal strings throughout and never become floating-point numbers.
 */
import { parseArgs } from 'node:util';
import { openApi, sum } from './request.ts';

interface Card {
  id: number;
  balance: string;
  currency: string;
  held: string;
  available: string;
  code: string;
}

interface Transaction {
  id: number;
  kind: string;
  amount: string;
  balance_after: string;
  reference: string | null;
  note: string | null;
  reverses: number | null;
  created_at: string;
}

interface Hold {
  id: number;
  status: string;
  captured_amount: string;
}

interface Result {
  gift_card: Card;
  transaction: Transaction;
  hold: Hold;
}

const { values } = parseArgs({
  options: { url: { type: 'string', default: 'http://127.0.0.1:3000' }, token: { type: 'string' } },
});
const { call, callRejected, listAll } = openApi<Result>({ url: values.url, token: values.token });

function say(what: string, { balance, held, available }: Card): void {
  console.log(`${what.padEnd(44)} balance ${balance}  held ${held}  available ${available}`);
}

function table(history: readonly Transaction[]): void {
  const rows = history.map(({ id, created_at, kind, amount, balance_after, reference, note, reverses }) => [
    String(id),
    created_at,
    kind,
    amount,
    balance_after,
    reference ?? '-',
    reverses === null ? (note ?? '-') : `${note ?? ''} (of ${reverses})`.trim(),
  ]);
  const all = [['id', 'time', 'kind', 'amount', 'balance', 'reference', 'note'], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  const isAmount = (column: number): boolean => column === 3 || column === 4;
  for (const row of all) {
    const cells = row.map((cell, column) =>
      isAmount(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

const { gift_card: sold } = await call('POST', '/gift_card', {
  initial_value: '50.00',
  note: 'Sold at the counter',
});
const { code, id } = sold;
const { gift_card: fresh } = await call('POST', '/gift_card/lookup', { code });
say(`Sold a card of ${fresh.balance} ${fresh.currency}`, fresh);

const first = await call('POST', '/gift_card/redeem', { code, amount: '12.50', reference: 'receipt-1001' });
say('Redeemed 12.50 by its code', first.gift_card);
const second = await call('POST', '/gift_card/redeem', { code, amount: '7.25', reference: 'receipt-1002' });
say('Redeemed 7.25 by its code', second.gift_card);

const held = await call('POST', `/gift_card/${id}/holds`, { amount: '20.00', reference: 'checkout-77' });
say('Held 20.00 for a checkout', held.gift_card);
const rejection = await callRejected('POST', '/gift_card/redeem', { code, amount: '10.26' });
console.log(`10.26 more is rejected: ${rejection}`);
const captured = await call('POST', `/holds/${held.hold.id}/capture`, { amount: '18.40' });
say(`Captured ${captured.hold.captured_amount} of it, released the rest`, captured.gift_card);

const other = await call('POST', `/gift_card/${id}/holds`, { amount: '5.00', expires_in: 600 });
say('Held 5.00 for another checkout', other.gift_card);
const voided = await call('POST', `/holds/${other.hold.id}/void`);
say(`The checkout was abandoned: ${voided.hold.status}`, voided.gift_card);

const back = await call('POST', `/transactions/${first.transaction.id}/reverse`, {
  amount: '2.50',
  note: 'One item returned',
});
say('Refunded 2.50 of the first sale', back.gift_card);
const rest = await call('POST', '/gift_card/redeem', {
  code,
  amount: '40.00',
  partial: true,
  reference: 'receipt-1003',
});
say(`Requested 40.00, debited the rest: ${rest.transaction.amount}`, rest.gift_card);

const history = await listAll<Transaction>(`/gift_card/${id}/transactions?limit=4`, 'transactions');
console.log(`\nThe history of the card, newest first`);
table(history);
const total = sum(history.map(({ amount }) => amount));
if (total !== rest.gift_card.balance) throw new Error(`the history adds up to ${total}`);
console.log(`\nIt adds up to ${total} ${fresh.currency}, the balance of the card.`);
