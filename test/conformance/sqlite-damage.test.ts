/** The inspection of a file names the table with overwritten bytes, wherever SQLite finds the damage. */

import assert from 'node:assert/strict';
import { closeSync, copyFileSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { withIdempotencyKey } from '../../src/core/requests/service/idempotency.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';

import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import { inspectFile } from '../../src/database/sqlite/inspection.ts';
import { email, issueCommand, money, newStore, testContext, updateCommand } from '../support/fixtures.ts';
import { seeded } from '../support/seeded.ts';
import { createSqliteDatabase, openEngine, sqliteFactory } from '../support/sqlite.ts';

const seed = Number(process.env['DAMAGE_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const pageBytes = 4_096;

/** Creates a file in which every table of cards has leaves, and closes it to empty the log. */
async function fill(file: string): Promise<void> {
  await using storage = openEngine(file);
  await storage.migrate(sqliteFactory.migrations);
  const ctx = testContext();
  await storage.write(() => checkKeys(ctx));
  const store = await storage.write(() => createStore(ctx, newStore()));
  await storage.write(() => createToken(ctx, { store, name: 'till', scopes: ['read_gift_cards'] }));
  const secret = generateSigningSecret(ctx.random);
  const webhook = { storeId: store.id, url: 'https://receiver.example/', patterns: ['*'], secret };
  await storage.write(() => addWebhook(ctx, webhook));
  const issueAndHold = async (number: number): Promise<void> => {
    const owner = { storeId: store.id, apiClientId: 3, key: `key-${number}` };
    const use = { owner, request: JSON.stringify([number]) };
    await storage.write(() =>
      withIdempotencyKey(ctx, use, function* () {
        const { card } = yield* issue(ctx, {
          ...issueCommand(store, {
            customer: email(`customer-${number}@example.com`),
            recipient: email(`recipient-${number}@example.com`),
            expiresOn: '2030-12-31',
          }),
          emails: { sendAt: null },
        });
        const cardId = card.id;
        const movement = {
          store,
          cardId,
          versions: null,
          actor: 'test',
          reference: null,
          note: null,
          orderId: null,
        };
        yield* placeHold(ctx, { ...movement, amount: money('2'), seconds: 600 });
        yield* update(ctx, updateCommand(store, cardId, { balance: money('20') }));
        return { status: 201, headers: {}, body: '{}' };
      }),
    );
  };
  await Promise.all(Array.from({ length: 300 }, (_, number) => issueAndHold(number)));
}

/** A tree of the file: a table or an index. */
type Tree = { readonly name: string; readonly table: string; readonly leaves: readonly number[] };

function treesOf(file: string): readonly Tree[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const rows = database
    .prepare(
      `select d.name, s.tbl_name as "table", d.pageno from dbstat d join sqlite_schema s on s.name = d.name
       where d.pagetype = 'leaf' and d.ncell > 0 order by d.name, d.pageno`,
    )
    .all();
  return Array.from(
    Map.groupBy(rows, ({ name }) => String(name)),
    ([name, leaves]) => ({
      name,
      table: String(leaves[0]?.['table']),
      leaves: leaves.map(({ pageno }) => Number(pageno)),
    }),
  );
}

/** Returns the text that SQLite's command line would print. */
function integrityOf(file: string): string {
  try {
    using database = new DatabaseSync(file, { readOnly: true });
    return database
      .prepare('pragma integrity_check')
      .all()
      .map((row) => String(row['integrity_check']))
      .join('\n');
  } catch (error) {
    return String(error);
  }
}

function overwrite(file: string, position: number, bytes: Uint8Array): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, position);
  closeSync(descriptor);
}

function readPage(file: string, page: number): Uint8Array {
  const descriptor = openSync(file, 'r');
  const bytes = new Uint8Array(pageBytes);
  readSync(descriptor, bytes, 0, pageBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
  return bytes;
}

const noise = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.between(0, 255));

/** The kinds of damage to a leaf: lost writes, misplaced writes and bit rot. */
const kinds: Readonly<Record<string, (file: string, page: number, otherPage: number) => void>> = {
  'a leaf of zeros': (file, page) => overwrite(file, (page - 1) * pageBytes, new Uint8Array(pageBytes)),
  'a leaf of noise': (file, page) => overwrite(file, (page - 1) * pageBytes, noise(pageBytes)),
  'noise at the start of a leaf': (file, page) => overwrite(file, (page - 1) * pageBytes + 8, noise(64)),
  'noise at the end of a leaf': (file, page) => overwrite(file, page * pageBytes - 100, noise(100)),
  "another tree's leaf": (file, page, otherPage) =>
    overwrite(file, (page - 1) * pageBytes, readPage(file, otherPage)),
};

test('damage that SQLite finds in any tree is found, and its table or index is named', async (t) => {
  t.diagnostic(`seed ${seed} (DAMAGE_SEED)`);
  await using database = createSqliteDatabase();
  await fill(database.file);
  assert.deepEqual(inspectFile(database.file), []);
  const trees = treesOf(database.file).filter(({ table }) => !table.startsWith('sqlite_'));
  const counts = { damaged: 0, harmless: 0 };
  for (const [place, { name, table, leaves }] of trees.entries()) {
    for (const [kind, damage] of Object.entries(kinds)) {
      const file = join(database.folder, 'damaged.db');
      copyFileSync(database.file, file);
      const page = leaves[random.between(0, leaves.length - 1)] ?? 0;
      const [otherPage = 0] = trees[(place + 1) % trees.length]?.leaves ?? [];
      damage(file, page, otherPage);
      const integrity = integrityOf(file);
      if (integrity === 'ok') {
        // No constraint or index depends on the content of the damaged row.
        counts.harmless += 1;
        continue;
      }
      counts.damaged += 1;
      const problems = inspectFile(file);
      const message = `${kind} of ${name}, page ${page}: ${integrity}\n${problems.join('\n')}`;
      assert.ok(
        problems.some((problem) => problem.startsWith(`${table}: `)),
        message,
      );
    }
  }
  t.diagnostic(`${trees.length} trees, ${JSON.stringify(counts)}`);
  assert.ok(trees.length >= 24, `${trees.length} trees`);
  assert.ok(counts.damaged >= 3 * trees.length, JSON.stringify(counts));
});

test('a truncated file is not reported as sound', async () => {
  await using database = createSqliteDatabase();
  await fill(database.file);
  for (const share of [0.99, 0.5, 0.01]) {
    const file = join(database.folder, 'cut.db');
    copyFileSync(database.file, file);
    const descriptor = openSync(file, 'r+');
    ftruncateSync(descriptor, Math.floor((statSync(file).size * share) / pageBytes) * pageBytes);
    closeSync(descriptor);
    assert.notDeepEqual(inspectFile(file), [], `${share} of the file`);
  }
});

test('rows with missing references are found, by table', async () => {
  await using database = createSqliteDatabase();
  await fill(database.file);
  {
    using connection = new DatabaseSync(database.file, { enableForeignKeyConstraints: false });
    connection.exec('delete from webhooks');
  }
  const problems = inspectFile(database.file);
  assert.equal(problems.length, 1, problems.join('\n'));
  assert.match(
    problems[0] ?? '',
    /^webhook_deliveries: \d+ rows refer to a row of webhooks that does not exist$/,
  );
});

test('inspecting a file that does not exist fails', async () => {
  await using database = createSqliteDatabase();
  assert.throws(() => inspectFile(join(database.folder, 'none.db')), /unable to open/);
});

test('a file is inspected while another connection writes to it', async () => {
  await using database = createSqliteDatabase();
  await fill(database.file);
  using connection = new DatabaseSync(database.file);
  connection.exec('begin immediate; update heartbeat set beaten_at = 2');
  assert.deepEqual(inspectFile(database.file), []);
  connection.exec('commit');
  assert.deepEqual(inspectFile(database.file), []);
});
