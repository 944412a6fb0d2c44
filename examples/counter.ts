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
import {
  addAmounts,
  createClient,
  type SpendableGiftCard,
  type Transaction,
} from '../packages/client/src/index.ts';
import { rejected } from './rejected.ts';

const { values } = parseArgs({
  options: { url: { type: 'string', default: 'http://127.0.0.1:3000' }, token: { type: 'string' } },
});
const { cards, holds, transactions } = createClient({ url: values.url, token: values.token });

function say(
  what: string,
  { balance, held, available }: Pick<SpendableGiftCard, 'balance' | 'held' | 'available'>,
): void {
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

const { gift_card: sold } = await cards.create({ initial_value: '50.00', note: 'Sold at the counter' });
const { code, id } = sold;
const { gift_card: fresh } = await cards.lookup({ code });
say(`Sold a card of ${fresh.balance} ${fresh.currency}`, fresh);

const first = await cards.redeem({ code, amount: '12.50', reference: 'receipt-1001' });
say('Redeemed 12.50 by its code', first.gift_card);
const second = await cards.redeem({ code, amount: '7.25', reference: 'receipt-1002' });
say('Redeemed 7.25 by its code', second.gift_card);

const held = await cards.hold(id, { amount: '20.00', reference: 'checkout-77' });
say('Held 20.00 for a checkout', held.gift_card);
console.log(`10.26 more is rejected: ${await rejected(cards.redeem({ code, amount: '10.26' }))}`);
const captured = await holds.capture(held.hold.id, { amount: '18.40' });
say(`Captured ${captured.hold.captured_amount} of it, released the rest`, captured.gift_card);

const other = await cards.hold(id, { amount: '5.00', expires_in: 600 });
say('Held 5.00 for another checkout', other.gift_card);
const voided = await holds.void(other.hold.id);
say(`The checkout was abandoned: ${voided.hold.status}`, voided.gift_card);

const back = await transactions.reverse(first.transaction.id, { amount: '2.50', note: 'One item returned' });
say('Refunded 2.50 of the first sale', back.gift_card);
const rest = await cards.redeem({ code, amount: '40.00', partial: true, reference: 'receipt-1003' });
say(`Requested 40.00, debited the rest: ${rest.transaction.amount}`, rest.gift_card);

const history: Transaction[] = [];
for await (const entry of cards.listTransactions(id, { limit: 4 })) history.push(entry);
console.log(`\nThe history of the card, newest first`);
table(history);
const total = addAmounts(...history.map(({ amount }) => amount));
if (total !== rest.gift_card.balance) throw new Error(`the history adds up to ${total}`);
console.log(`\nIt adds up to ${total} ${fresh.currency}, the balance of the card.`);
