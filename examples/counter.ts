/**
 * A day at the counter: sells a gift card, redeems it in parts by its code, holds an amount for a
 * checkout and captures part of it, voids another hold, gives back part of a sale, and prints the
 * card's history.
 *
 *     node examples/counter.ts --url http://127.0.0.1:3000 [--token lgs_…]
 *
 * Amounts are decimal strings throughout and never become floating-point numbers.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

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
  transactions: Transaction[];
  hold: Hold;
}

interface Problem {
  type: string;
  errors: unknown;
}

const { values } = parseArgs({
  options: { url: { type: 'string', default: 'http://127.0.0.1:3000' }, token: { type: 'string' } },
});
const root = values.url.replace(/\/+$/, '');
/** Each run sells another card, so its Idempotency-Keys are its own. */
const run = randomUUID();
let requests = 0;

/** Sends a request. Every write has an Idempotency-Key, so that it can be retried. */
async function send(
  method: string,
  path: string,
  body?: object,
): Promise<{ ok: boolean; json: unknown; next?: string }> {
  requests += 1;
  const response = await fetch(root + path, {
    method,
    headers: {
      ...(values.token !== undefined && { authorization: `Bearer ${values.token}` }),
      ...(method === 'POST' && { 'idempotency-key': `counter-${run}-${requests}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return { ok: response.ok, json: await response.json(), ...(next !== undefined && { next }) };
}

/** Sends a request that must succeed. */
async function call(method: string, path: string, body?: object): Promise<Result> {
  const { ok, json } = await send(method, path, body);
  if (!ok) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
  return json as Result;
}

/** Sends a request that must fail. Returns the error's code and messages. */
async function callRejected(method: string, path: string, body: object): Promise<string> {
  const { ok, json } = await send(method, path, body);
  if (ok) throw new Error(`${method} ${path} was not rejected`);
  const { type, errors } = json as Problem;
  return `${type.split('/').at(-1)} ${JSON.stringify(errors)}`;
}

/** The whole history, newest first, page after page. */
async function historyOf(cardId: number): Promise<Transaction[]> {
  const history: Transaction[] = [];
  for (let path: string | undefined = `/gift_card/${cardId}/transactions?limit=4`; path !== undefined;) {
    const { ok, json, next } = await send('GET', path);
    if (!ok) throw new Error(`${path}: ${JSON.stringify(json)}`);
    history.push(...(json as Result).transactions);
    // A link is a path from the root of the host, of which `--url` may name a folder.
    path = next?.slice(new URL(root).pathname.replace(/\/$/, '').length);
  }
  return history;
}

/** The exact sum of decimal strings of one currency. */
function sum(amounts: readonly string[]): string {
  const decimals = amounts[0]?.split('.')[1]?.length ?? 0;
  const total = amounts.reduce((minor, amount) => minor + BigInt(amount.replace('.', '')), 0n);
  const sign = total < 0n ? '-' : '';
  const digits = String(total)
    .replace('-', '')
    .padStart(decimals + 1, '0');
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

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

const history = await historyOf(id);
console.log(`\nThe history of the card, newest first`);
table(history);
const total = sum(history.map(({ amount }) => amount));
if (total !== rest.gift_card.balance) throw new Error(`the history adds up to ${total}`);
console.log(`\nIt adds up to ${total} ${fresh.currency}, the balance of the card.`);
