/**
 * `npm run bench:pages -- --cards 1000000`: the processor time of each page for staff with many cards on SQLite. The owner
 * signs in, and requests every page that is reached by links, and the lists that read most.
 *
 *   --cards 1000000     fill a new database through the API
 *   --database <file>   measure a database that exists instead, with --keys <file>; both are changed: use a copy
 *   --requests 15       of each page
 *
 * A figure is the lower quartile of the processor time of all threads of the service in a request, because other programs
 * can only add to it. A report without limits, because the times depend on the machine. `?` marks pages without a link.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadPages } from '../src/start/routes.ts';
import { createFile, prepare, stop } from './fixture.ts';
import { countOf, markdown } from './format.ts';
import { readCommand } from './options.ts';
import { largesse, startService, type Environment, type Server } from './processes.ts';
import { lowerQuartile } from './statistics.ts';
import { thisTree } from './tree.ts';
import { addBatch, signIn, type Visit } from './visit.ts';

const { values } = parseArgs({
  options: {
    cards: { type: 'string', default: '1000000' },
    database: { type: 'string' },
    keys: { type: 'string' },
    requests: { type: 'string', default: '15' },
  },
});
const requestsPerPage = Number(values.requests);
/** The first requests compile the page. */
const warmUpRequests = 5;
/** A stream does not end; the others lead to another page. */
const omitted = new Set(['/live', '/setup']);

/** Lists that no page links to, or that read most. */
const lists = [
  '/cards?sort=balance',
  '/cards?sort=-balance',
  '/cards?sort=expires_on',
  '/cards?sort=-expires_on',
  '/cards?text=nothing-has-this',
  '/cards?tag=nothing-has-this',
  '/cards?last_characters=zzzz',
  '/cards?email=unknown%40example.com',
  '/cards?order_id=1',
  '/cards?email_status=bounced',
  '/cards?balance_min=1&balance_max=2',
  '/cards?created_at_min=2020-01-01&sort=balance',
  ...['active', 'disabled', 'expired', 'empty', 'scheduled'].map((state) => `/cards?state=${state}`),
];

/** The reports of a year, and the lists of emails. */
const longest = [
  ...['sent', 'failed', 'scheduled'].map((state) => `/emails?state=${state}`),
  '/emails?kind=gift_card',
  '/emails?state=sent&kind=reminder',
];

function reportsOf(today: string): readonly string[] {
  const from = Temporal.PlainDate.from(today).subtract({ days: 365 }).toString();
  const days = `from=${from}&to=${today}`;
  return [
    `/books/liability?as_of=${from}`,
    `/books/journal?${days}`,
    `/books/activity?${days}&by=month`,
    `/books/activity?${days}&by=day`,
  ];
}

/** The pages of the till about a card and its redemption, which are reached by forms. */
function pagesOfTill(card: string, entry: string): readonly string[] {
  return [
    `/till/card/${card}`,
    `/till/refund/card/${card}`,
    `/till/refund/card/${card}/add`,
    `/till/refund/entry/${entry}`,
    `/till/receipts/${entry}`,
    `/till/undo/${entry}`,
  ];
}

const laterPage = /[?&](?:cursor|history|before)=/;

type Page = {
  readonly row: readonly string[];
  readonly links: readonly string[];
  readonly location: string;
};

async function measurePage(
  service: Server,
  visit: Visit,
  path: string,
  form?: Readonly<Record<string, string>>,
): Promise<Page> {
  const micros: number[] = [];
  let [status, body, location] = [0, '', ''];
  for (let count = -warmUpRequests; count < requestsPerPage; count += 1) {
    const before = service.usage().micros;
    const response = await visit(path, form);
    body = await response.text();
    if (count >= 0) micros.push(service.usage().micros - before);
    ({ status } = response);
    location = response.headers.get('location') ?? '';
  }
  const links = body.matchAll(/ (?:href|action)="(\/[^"#]*)"/g);
  return {
    row: [
      form ? `POST ${path}` : path,
      String(status),
      countOf(body.length),
      (lowerQuartile(micros) / 1_000).toFixed(1),
    ],
    links: Array.from(links, ([, link = '']) => link.replaceAll('&amp;', '&')),
    location,
  };
}

/** The pages without parameters, the lists, and a page of each other route to which one of them has a link. */
async function measurePages(
  service: Server,
  visit: Visit,
  known: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const { routes: all } = await loadPages();
  const routes = all.filter(
    ({ method, path, access }) => method === 'GET' && access !== 'anyone' && !omitted.has(path),
  );
  const [linked, plain] = [true, false].map((isLinked) =>
    routes.flatMap(({ path }) => (path.includes(':') === isLinked ? [path] : [])),
  );
  const unseen = new Map(
    (linked ?? []).map((path) => [path, new RegExp(`^${path.replaceAll(/:\w+/g, String.raw`\w+`)}$`)]),
  );
  // `/cards/new` has the form of `/cards/:id`.
  const isPath = (link: string, form: RegExp): boolean => {
    const [path = ''] = link.split('?', 1);
    return form.test(path) && plain?.includes(path) !== true;
  };
  const waiting = [...(plain ?? []), ...lists, ...longest, ...reportsOf(todayInUtc()), ...known];
  const rows: (readonly string[])[] = [];
  for (const path of waiting) {
    const { row, links, location } = await measurePage(service, visit, path);
    rows.push(row);
    // The page adds the key of its form.
    if (location.startsWith(`${path}?`)) waiting.push(location);
    for (const [pattern, form] of unseen) {
      const link = links.find((each) => isPath(each, form));
      if (link === undefined) continue;
      unseen.delete(pattern);
      waiting.push(link);
    }
    const [, card, entry] = /^\/cards\/(\d+)\/entries\/(\d+)\//.exec(path) ?? [];
    if (card !== undefined && entry !== undefined)
      for (const each of pagesOfTill(card, entry)) {
        waiting.push(each);
        for (const [pattern, form] of unseen) if (isPath(each, form)) unseen.delete(pattern);
      }
    // The next page of the list, and the older part of a history.
    const next = links.find((link) => laterPage.test(link));
    if (next !== undefined && !laterPage.test(path) && !waiting.includes(next)) waiting.push(next);
  }
  return [...rows, ...Array.from(unseen.keys(), (path) => [path, '?', '', ''])];
}

function todayInUtc(): string {
  return Temporal.Now.plainDateISO('UTC').toString();
}

/**
 * Adds a card with an email, a redemption and a hold, so that pages have links to them.
 * @returns the code of the card
 */
async function addActivity(service: Server, environment: Environment, store: string): Promise<string> {
  const { token } = largesse(thisTree, environment, ['token', 'create', '--store', store]) as {
    readonly token: string;
  };
  const call = async (path: string, body: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${service.port}${path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return await response.json();
  };
  const emailed = { initial_value: 25, recipient_email: 'grace@bench.example' };
  const { gift_card: card } = (await call('/gift_card', emailed)) as {
    readonly gift_card: { readonly id: number; readonly code: string };
  };
  await call(`/gift_card/${card.id}/debit`, { amount: 5 });
  await call(`/gift_card/${card.id}/holds`, { amount: 5 });
  return card.code;
}

/** Issues a batch. @returns its page, and that of its sheets */
async function issuedBatch(visit: Visit): Promise<readonly string[]> {
  const path = await addBatch(visit, { count: 500, value: 10 });
  for (let waits = 0; waits < 600; waits += 1) {
    if ((await (await visit(path)).text()).includes('codes.csv')) return [path, `${path}/print`];
    await setTimeout(100);
  }
  throw new Error('the cards of the batch were not issued in a minute');
}

async function report(environment: Environment, log: string, title: string): Promise<void> {
  const stores = largesse(thisTree, environment, ['store', 'list']) as readonly { readonly domain: string }[];
  const [store] = stores;
  if (!store) throw new Error('the database has no store');
  const email = `owner-${Date.now()}@bench.example`;
  const invite = ['staff', 'invite', email, '--role', 'owner', '--store', store.domain];
  const { link } = largesse(thisTree, environment, invite) as { readonly link: string };
  // In production, pages need PUBLIC_URL.
  const settings = { ...environment, NODE_ENV: 'development', LOG_LEVEL: 'warn' };
  const service = await startService(thisTree, { environment: settings, log });
  const visit = await signIn(service, link);
  const batch = await issuedBatch(visit);
  // The last card, which the lists have first.
  const code = await addActivity(service, environment, store.domain);
  const rows = [...(await measurePages(service, visit, batch))];
  // A recipient has no session, and sends the code in a form.
  for (const path of ['/b', '/b/card']) rows.push((await measurePage(service, visit, path)).row);
  for (const typed of [code, 'zzzzzzzzzzzzzzzz'])
    rows.push((await measurePage(service, visit, '/b', { code: typed })).row);
  await stop(service);
  console.log(markdown({ title, headings: ['page', 'status', 'characters', 'processor time, ms'], rows }));
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-pages-'));
try {
  const log = join(folder, 'service.log');
  if (values.database !== undefined && values.keys !== undefined) {
    const environment = { DATABASE_URL: `file:${values.database}`, KEYS_FILE: values.keys };
    await report(environment, log, `Pages of ${values.database}`);
  } else {
    const { plan } = readCommand(['--quick']);
    await using database = createFile(folder);
    const given = { tree: thisTree, database, cards: Number(values.cards) };
    const { environment } = await prepare({ plan, folder }, given);
    await report(environment, log, `Pages with ${countOf(given.cards)} cards`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
