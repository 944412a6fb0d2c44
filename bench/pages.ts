/**
 * `npm run bench:pages -- --cards 1000000`: how long the pages for staff take with many cards on SQLite: each page that
 * needs no parameters, a card, and the steps of the till. A report without limits, because the times depend on the machine.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { consoleRoutes } from '../src/console/routes.ts';
import { createFile, domain, prepare, start, stop } from './fixture.ts';
import { countOf, markdown } from './format.ts';
import { readCommand } from './options.ts';
import { largesse } from './processes.ts';
import { thisTree } from './tree.ts';

const { values } = parseArgs({
  options: {
    cards: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '30' },
  },
});
const requestsPerPage = Number(values.requests);
/** Streams and files do not end within a page's time. */
const omitted = new Set(['/live', '/cards/export', '/setup']);
const password = 'correct horse battery';

type Visit = (path: string, form?: Readonly<Record<string, string>>) => Promise<Response>;

/** Signs a new owner in with a link. */
async function signIn(port: number, link: string): Promise<Visit> {
  const origin = `http://localhost:${port}`;
  const cookies = new Map<string, string>();
  const visit: Visit = async (path, form) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        origin: `http://127.0.0.1:${port}`,
        cookie: Array.from(cookies, (pair) => pair.join('=')).join('; '),
      },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  const joined = await visit(new URL(link, origin).pathname, { password });
  if (joined.status !== 303) throw new Error(`joining returned ${joined.status}`);
  return visit;
}

async function measurePage(visit: Visit, path: string): Promise<readonly string[]> {
  const durations: number[] = [];
  let status = 0;
  let bytes = 0;
  for (let count = 0; count < requestsPerPage; count += 1) {
    const startedAt = performance.now();
    const response = await visit(path);
    bytes = (await response.arrayBuffer()).byteLength;
    durations.push(performance.now() - startedAt);
    ({ status } = response);
  }
  // Before sorting: the first request also compiles the page.
  const [first = 0] = durations;
  const sorted = durations.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return [path, `${status}`, `${bytes}`, ...[first, at(0.5), at(1)].map((ms) => ms.toFixed(1))];
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-pages-'));
try {
  const { plan } = readCommand(['--quick']);
  await using database = createFile(folder);
  const fixture = await prepare({ plan, folder }, { tree: thisTree, database, cards: Number(values.cards) });
  const invite = ['staff', 'invite', 'owner@bench.example', '--role', 'owner', '--store', domain];
  const { link } = largesse(thisTree, fixture.environment, invite) as { readonly link: string };
  // In production, pages need PUBLIC_URL.
  const service = await start({
    ...fixture,
    environment: { ...fixture.environment, NODE_ENV: 'development' },
  });
  const visit = await signIn(service.port, link);
  const id = fixture.population.anyId();
  const pages = consoleRoutes
    .filter(({ method, path, access }) => method === 'GET' && access !== 'anyone' && !omitted.has(path))
    .map(({ path }) => path.replace(/^\/(cards|till\/card)\/:id/, `/$1/${id}`))
    .filter((path) => !path.includes(':'));
  // No card has this state, so the list searches for one as long as it may.
  const searches = pages.includes('/cards') ? ['/cards?state=disabled'] : [];
  const rows: (readonly string[])[] = [];
  for (const path of [...pages, ...searches]) rows.push(await measurePage(visit, path));
  await stop(service);
  console.log(
    markdown({
      title: `Pages with ${countOf(Number(values.cards))} cards`,
      headings: ['page', 'status', 'bytes', 'first, ms', 'median, ms', 'slowest, ms'],
      rows,
    }),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
