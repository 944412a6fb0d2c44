/**
 * Compares the record of `load.ts` with what a service returns. Exits with 1 if an acknowledged change is missing, or
 * was made twice.
 *
 *     node check-load.ts --url <url> [--token-file <file>] --record <file> [--since <time>]
 *       [--until <time> [--none-after <time>]]
 *
 * `--since` limits the longest time without an acknowledgment to those after a time.
 *
 * With `--until`, the database was restored to that time: each change that was acknowledged before it must exist, and no
 * change that was sent after it can exist. Those in between can. `--none-after` is a later time for the second condition.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readRecord, type Change } from './record.ts';

const requestsAtOnce = 8;
const problemsShownMax = 20;

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    'token-file': { type: 'string' },
    record: { type: 'string' },
    since: { type: 'string' },
    until: { type: 'string' },
    'none-after': { type: 'string' },
  },
});
const { url, record: file } = values;
assert.ok(url !== undefined && file !== undefined, '--url and --record are required');
const tokenFile = values['token-file'];
const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, 'utf8').trim();
const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
const until = timeOf(values.until) ?? Number.POSITIVE_INFINITY;
const since = timeOf(values.since) ?? 0;
const noneAfter = timeOf(values['none-after']) ?? until;

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  assert.ok(!Number.isNaN(time), `${text} is not a time such as 2026-11-21T06:57:02.503Z`);
  return time;
}

type Transaction = { readonly id: number; readonly kind: string; readonly amount: string };

type Page = { readonly transactions: readonly Transaction[] };

/** The transactions of a card; undefined if it does not exist. */
async function transactionsOf(card: number): Promise<readonly Transaction[] | undefined> {
  const found: Transaction[] = [];
  let next: string | undefined = `${url}/gift_card/${card}/transactions?limit=250`;
  while (next !== undefined) {
    const response: Response = await fetch(next, { headers });
    if (response.status === 404) return undefined;
    const text = await response.text();
    assert.equal(response.status, 200, text);
    found.push(...(JSON.parse(text) as Page).transactions);
    const [, link] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    next = link === undefined ? undefined : new URL(link, next).href;
  }
  return found;
}

async function json<T>(path: string): Promise<T> {
  const response = await fetch(`${url}${path}`, { headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as T;
}

const { cardsBefore, changes } = readRecord(file);
const problems: string[] = [];
const counts = { required: 0, present: 0, absent: 0, between: 0 };
let cardsPresent = 0;

/** Checks one change, which exists or not. */
function note({ key, sentAt, acknowledgedAt }: Change, exists: boolean): void {
  if (exists) counts.present += 1;
  else counts.absent += 1;
  if (acknowledgedAt <= until) {
    counts.required += 1;
    if (!exists) problems.push(`lost: ${key}, acknowledged at ${new Date(acknowledgedAt).toISOString()}`);
  } else if (sentAt > noneAfter) {
    if (exists) problems.push(`too new: ${key}, sent at ${new Date(sentAt).toISOString()}`);
  } else counts.between += 1;
}

async function checkCard(card: number, made: readonly Change[]): Promise<void> {
  const ledger = await transactionsOf(card);
  if (ledger) cardsPresent += 1;
  const ids = new Set(ledger?.map(({ id }) => id));
  for (const change of made)
    note(change, ledger !== undefined && (!change.transaction || ids.has(change.transaction.id)));
  if (!ledger) return;
  const known = new Set(made.map(({ transaction }) => transaction?.id));
  const others = ledger.filter(({ id, kind }) => kind !== 'issue' && !known.has(id));
  for (const { id } of others)
    problems.push(`made without a record, or twice: the transaction ${id} of ${card}`);
  const issues = ledger.filter(({ kind }) => kind === 'issue').length;
  if (issues !== 1) problems.push(`the card ${card} was issued ${issues} times`);
  const { gift_card: shown } = await json<{ gift_card: { balance: string } }>(`/gift_card/${card}/balance`);
  const sum = ledger.reduce((cents, { amount }) => cents + centsOf(amount), 0);
  if (centsOf(shown.balance) !== sum)
    problems.push(`the balance of ${card} is ${shown.balance}, not ${sum} cents`);
}

function centsOf(amount: string): number {
  return Number(amount.replace('.', ''));
}

if (changes.length === 0) problems.push('the record contains no change');
const transactions = changes.flatMap(({ transaction }) => (transaction ? [transaction.id] : []));
if (new Set(transactions).size !== transactions.length)
  problems.push('one transaction was the response to several requests');
const issued = changes.filter(({ transaction }) => !transaction).map(({ card }) => card);
if (new Set(issued).size !== issued.length) problems.push('one card was the response to several requests');

const queue = [...Map.groupBy(changes, ({ card }) => card)];
await Promise.all(
  Array.from({ length: requestsAtOnce }, async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await checkCard(...next);
  }),
);
// `/gift_cards/count` stops at 10,000.
const { liability } = await json<{ readonly liability: { readonly cards: number } }>('/reports/liability');
if (liability.cards !== cardsBefore + cardsPresent)
  problems.push(
    `the store has ${liability.cards} cards, and ${cardsBefore + cardsPresent} are known: a card was issued twice`,
  );

const sorted = changes
  .map(({ acknowledgedAt }) => acknowledgedAt)
  .filter((at) => at >= since)
  .toSorted((one, other) => one - other);
if (counts.required === 0) problems.push('no change was acknowledged before the time');
let pause = { ms: 0, from: 0 };
for (const [place, at] of sorted.entries()) {
  const from = sorted[place - 1] ?? at;
  if (at - from > pause.ms) pause = { ms: at - from, from };
}

for (const problem of problems.slice(0, problemsShownMax)) console.log(problem);
console.log(
  `${changes.length} changes acknowledged; ${counts.present} exist` +
    (values.until === undefined
      ? ''
      : `; ${counts.required} before the time, ${counts.between} in between, ${counts.absent} undone`),
);
console.log(
  `longest time without an acknowledgment: ${(pause.ms / 1_000).toFixed(1)} s, from ${new Date(pause.from).toISOString()}`,
);
const lost = problems.filter((problem) => problem.startsWith('lost')).length;
console.log(
  problems.length === 0 ? '0 lost, 0 made twice' : `${lost} lost, ${problems.length - lost} other problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
