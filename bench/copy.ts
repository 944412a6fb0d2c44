/**
 * `npm run bench:copy`: how long `largesse copy --store` takes, and for how long the store is closed.
 *
 *   --cards 100000       half of them with a customer and a message, a fifth with a debit
 *   --to postgres        or file
 *   --from file          or postgres
 *   --tree .             or a commit, or a folder with a working tree
 *   --profile <folder>   writes a processor profile of the command there
 *
 * The store is filled once, and kept in the temporary folder for the next run.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fillSampleDatabase } from '../test/e2e/sample-databases.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { openTree } from './tree.ts';

const { values } = parseArgs({
  options: {
    cards: { type: 'string', default: '100000' },
    from: { type: 'string', default: 'file' },
    to: { type: 'string', default: 'postgres' },
    tree: { type: 'string', default: '.' },
    profile: { type: 'string' },
  },
});
const domain = 'flowers.example';

/** A file with a store, and its key file. */
async function fill(): Promise<{ readonly file: string; readonly keys: string }> {
  const kept = join(tmpdir(), `largesse-bench-copy-${values.cards}`);
  if (!existsSync(kept)) {
    console.error(`filling ${values.cards} cards in ${kept}`);
    const made = mkdtempSync(`${kept}-`);
    await fillSampleDatabase(
      { DATABASE_URL: `file:${join(made, 'largesse.db')}`, KEYS_FILE: join(made, 'keys.json') },
      { cards: Number(values.cards) },
    );
    renameSync(made, kept);
  }
  return { file: join(kept, 'largesse.db'), keys: join(kept, 'keys.json') };
}

type Moved = {
  readonly copied: number;
  readonly seconds: { readonly copying: number; readonly closed: number; readonly all: number };
};

const filled = await fill();
const folder = mkdtempSync(join(tmpdir(), 'largesse-copy-'));
const keys = join(folder, 'keys.json');
copyFileSync(filled.keys, keys);
const tree = openTree(values.tree, { folder });
const program = join(tree.root, 'src/cli.ts');
const run = (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): string =>
  execFileSync(process.execPath, [...options, program, ...args], {
    env: { PATH: process.env['PATH'], KEYS_FILE: keys, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
try {
  const source = `file:${join(folder, 'source.db')}`;
  copyFileSync(filled.file, join(folder, 'source.db'));
  run(['migrate'], { DATABASE_URL: source });
  await using server =
    values.from === 'postgres' || values.to === 'postgres'
      ? await startPostgres({
          durable: true,
          settings: { shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'on' },
        })
      : null;
  const databaseOf = async (kind: string, name: string): Promise<string> => {
    if (kind === 'file') return `file:${join(folder, `${name}.db`)}`;
    await server?.query(`create database ${name}`);
    return server?.url(name) ?? '';
  };
  let from = source;
  if (values.from === 'postgres') {
    from = await databaseOf('postgres', 'source');
    run(['copy', '--from', 'env:FROM', '--to', 'env:TO', '--json'], { FROM: source, TO: from });
  }
  const to = await databaseOf(values.to, 'target');
  run(['store', 'create', 'oak.example', '--currency', 'EUR'], { DATABASE_URL: to });
  const profiled = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const moved = JSON.parse(
    run(
      ['copy', '--store', domain, '--from', 'env:FROM', '--to', 'env:TO', '--json'],
      { FROM: from, TO: to },
      profiled,
    ),
  ) as Moved;
  const { copying, closed, all } = moved.seconds;
  console.log(
    `${values.cards} cards, ${moved.copied} rows, ${values.from} to ${values.to}, ${tree.revision}: ` +
      `closed ${closed} s, copying ${copying} s, all ${all} s`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
