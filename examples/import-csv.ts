/**
 * Issues every gift card of a CSV file, checks the result, and retrieves, searches, updates and disables cards.
 * After a crash, run it again with the same --out: nothing is issued twice.
 *
 *     node examples/import-csv.ts --url http://127.0.0.1:3000 --tokens tokens.json \
 *       [--csv examples/gift-cards.csv] [--out issued.csv] [--issue-only]
 *
 * Exit code 0: every card is exactly what its row says. 1: it is not, and each such row was named.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createClient } from '../packages/client/src/index.ts';
import { RowProblem, isRecord } from './checked-card.ts';
import { openIssuedFile } from './issued.ts';
import { formatUnits, readRows } from './rows.ts';
import type { Row } from './rows.ts';
import { countOutstanding, disable, find, issue, retrieve, startStore, update } from './steps.ts';
import type { StoreImport } from './steps.ts';

const concurrency = 16;
/** An import waits for a service that restarts or is over its limit of requests. */
const retry = { attemptsMax: 20, totalMs: 10 * 60_000 };

interface Summary {
  store: StoreImport;
  issueSeconds: number;
  seconds: number;
}

async function main(): Promise<boolean> {
  const { values: options } = parseArgs({
    options: {
      url: { type: 'string' },
      tokens: { type: 'string' },
      csv: { type: 'string', default: join(import.meta.dirname, 'gift-cards.csv') },
      out: { type: 'string', default: 'issued.csv' },
      'issue-only': { type: 'boolean', default: false },
    },
  });
  const { url, tokens: tokensPath } = options;
  if (url === undefined || !URL.canParse(url)) throw new Error('--url: the root of the service, http://…');
  if (tokensPath === undefined) throw new Error('--tokens: a JSON file, {"<store>": "<access token>", …}');

  const tokens = readTokens(await readFile(tokensPath, 'utf8'));
  const rows = readRows(await readFile(options.csv), { stores: new Set(tokens.keys()) });
  await using issued = await openIssuedFile(options.out);
  const problems: string[] = [];
  const summaries: Summary[] = [];
  for (const [domain, token] of tokens) {
    const store = startStore(domain, createClient({ url, token, retry }), issued);
    const ofStore = rows.filter((row) => row.store === domain);
    summaries.push(await importStore(store, { rows: ofStore, issueOnly: options['issue-only'], problems }));
  }
  console.log(`${rows.length} gift cards of ${options.csv}; their codes are in ${options.out}\n`);
  console.log(renderSummaries(summaries));
  if (problems.length > 0)
    console.error(`\nNot everything is as its row says: problems: ${problems.length}, see above.`);
  return problems.length === 0;
}

/** One step after the other for all cards of a store; a card that fails a step takes no part in the next. */
async function importStore(
  store: StoreImport,
  { rows, issueOnly, problems }: { rows: Row[]; issueOnly: boolean; problems: string[] },
): Promise<Summary> {
  async function forEachCard<Card extends { row: Row }, Result>(
    cards: readonly Card[],
    step: (store: StoreImport, card: Card) => Promise<Result>,
  ): Promise<Result[]> {
    const results: Result[] = [];
    await inParallel(cards, async (card) => {
      try {
        results.push(await step(store, card));
      } catch (error) {
        if (!(error instanceof RowProblem)) throw error;
        const problem = `row ${card.row.number} (${store.domain}), ${step.name}: ${error.message}`;
        console.error(problem);
        problems.push(problem);
      }
    });
    return results;
  }

  const startedAt = performance.now();
  const issued = await forEachCard(
    rows.map((row) => ({ row })),
    issue,
  );
  const issuedAt = performance.now();
  let known = await forEachCard(issued, retrieve);
  await forEachCard(known, find);
  if (!issueOnly) {
    known = await forEachCard(known, update);
    known = await forEachCard(known, disable);
  }
  await forEachCard(known, countOutstanding);
  return {
    store,
    issueSeconds: (issuedAt - startedAt) / 1000,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

/** Works on a few at a time. After the first error nothing new is begun, and what is under way is waited for. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  let failed = false;
  async function worker(): Promise<void> {
    for (const item of queue) {
      if (failed) return;
      await work(item).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

function readTokens(json: string): Map<string, string> {
  const tokens: unknown = JSON.parse(json);
  if (!isRecord(tokens)) throw new Error('the tokens file must hold one JSON object');
  return new Map(
    Object.entries(tokens).map(([store, token]) => {
      if (typeof token !== 'string') throw new Error(`the token of ${store} is not a string`);
      return [store, token] as const;
    }),
  );
}

function renderSummaries(summaries: readonly Summary[]): string {
  const counts = ['issued', 'replayed', 'recorded', 'found', 'updated', 'disabled'] as const;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  /** Returns the line of one store, or of all together: then without an amount, since the currencies differ. */
  const line = (name: string, some: readonly Summary[], outstanding: string): string[] => {
    const perCount = counts.map((count) => sum(some.map(({ store }) => store.count[count])));
    const requested = sum(some.map(({ store }) => store.count.issued + store.count.replayed));
    const rate = requested === 0 ? '-' : (requested / sum(some.map((one) => one.issueSeconds))).toFixed(0);
    const seconds = sum(some.map((one) => one.seconds)).toFixed(2);
    return [name, ...perCount.map(String), outstanding, seconds, rate];
  };
  const table = [
    ['store', ...counts, 'outstanding', 'seconds', 'cards/s'],
    ...summaries.map((one) => line(one.store.domain, [one], formatOutstanding(one.store))),
    line('all stores', summaries, ''),
  ];
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((cells) => cells[at]?.length ?? 0)));
  return table
    .map((cells) =>
      cells
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

function formatOutstanding({ money, outstanding }: StoreImport): string {
  return money === undefined ? '-' : `${formatUnits(outstanding, money)} ${money.currency}`;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
