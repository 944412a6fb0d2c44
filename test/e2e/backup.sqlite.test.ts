/** `largesse backup` of a running service, and of a damaged file. */

import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { ask, cardOf, makeHome, type Served } from './largesse.ts';

const domain = 'flowers.example';

async function issue({ url }: Served, token: string): Promise<void> {
  cardOf(await ask(`${url}/gift_card`, { token, json: { initial_value: 25 } }), 201);
}

test('a backup of a running service is complete, and never replaces a file', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
  const service = await home.serve();
  await issue(service, token);
  const copy = join(home.folder, 'copy.db');
  assert.deepEqual(await home.json('backup', 'copy.db'), { backup: copy });
  const bytes = readFileSync(copy);

  await issue(service, token);
  const rejected = await home.run(['backup', copy]);
  assert.deepEqual([rejected.code, rejected.output], [1, '']);
  assert.match(rejected.errors, /^largesse: \S+copy\.db already exists\n$/);
  assert.ok(readFileSync(copy).equals(bytes), 'the first backup is unchanged');
  const nowhere = await home.run(['backup', 'nowhere/copy.db']);
  assert.deepEqual({ code: nowhere.code, output: nowhere.output }, { code: 1, output: '' });
  assert.match(nowhere.errors, /^largesse: the folder \/\S+nowhere does not exist\n$/);
  const onKeys = await home.run(['backup', home.keysFile]);
  assert.deepEqual([onKeys.code, onKeys.output], [1, '']);
  assert.match(onKeys.errors, /^largesse: \S+largesse\.keys\.json already exists\n$/);

  const onCopy = { DATABASE_URL: `file:${copy}`, KEYS_FILE: home.keysFile };
  const verified = await home.run(['verify', '--json'], onCopy);
  assert.equal(verified.code, 0, verified.errors);
  assert.equal(
    (JSON.parse(verified.output) as { readonly stores: readonly { readonly cards: number }[] }).stores[0]
      ?.cards,
    1,
  );

  const keyless = await home.run(['verify'], { ...onCopy, KEYS_FILE: join(home.folder, 'none.json') });
  assert.equal(keyless.code, 1);
  assert.ok(
    !existsSync(join(home.folder, 'none.json')),
    'a key file is not created for a database that has keys',
  );

  await service.stop();
  const restored = await home.serve(onCopy);
  await issue(restored, token);
});

test('after a restore, the ETag of an undone change matches no later state', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
  const authorization = `Bearer ${token}`;
  const service = await home.serve();
  const { id } = cardOf(await ask(`${service.url}/gift_card`, { token, json: { initial_value: 25 } }), 201);
  const copy = join(home.folder, 'copy.db');
  await home.json('backup', copy);
  const debit = async ({ url }: Served, amount: number): Promise<string> => {
    const response = await ask(`${url}/gift_card/${id}/debit`, { token, json: { amount } });
    assert.equal(response.status, 201);
    return response.headers.get('etag') ?? '';
  };
  const undone = await debit(service, 20);
  await service.stop();
  const restored = await home.serve({ DATABASE_URL: `file:${copy}`, KEYS_FILE: home.keysFile });
  const card = `${restored.url}/gift_card/${id}`;
  const current = await debit(restored, 5);
  assert.notEqual(current, undone);
  const get = (tag: string) => fetch(card, { headers: { authorization, 'if-none-match': tag } });
  const put = (tag: string) =>
    fetch(card, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json', 'if-match': tag },
      body: '{"balance": 0}',
    });
  const [stale, fresh] = [await get(undone), await get(current)];
  assert.deepEqual([stale.status, fresh.status], [200, 304]);
  assert.equal(((await stale.json()) as { gift_card: { balance: string } }).gift_card.balance, '20.00');
  assert.equal((await put(undone)).status, 412);
  assert.equal((await put(current)).status, 200);
});

/** Overwrites the leaves of a table or index with zeros. */
function damage(file: string, tree: string): void {
  const leaves = pagesOf(file, tree);
  assert.ok(leaves.length > 0);
  const descriptor = openSync(file, 'r+');
  for (const page of leaves) writeSync(descriptor, new Uint8Array(4_096), 0, 4_096, (page - 1) * 4_096);
  closeSync(descriptor);
}

function pagesOf(file: string, tree: string): readonly number[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const pages = database.prepare("select pageno from dbstat where name = ? and pagetype = 'leaf'").all(tree);
  return pages.map(({ pageno }) => Number(pageno));
}

for (const { tree, table } of [
  { tree: 'sqlite_autoindex_idempotency_records_1', table: 'idempotency_records' },
  { tree: 'gift_card_codes', table: 'gift_card_codes' },
]) {
  test(`a copy of a file with a damaged ${table} fails, and leaves no file with the name of the backup`, async () => {
    await using home = await makeHome();
    await home.json('store', 'create', domain, '--currency', 'EUR');
    const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
    const service = await home.serve();
    const headers = { 'idempotency-key': 'key' };
    cardOf(await ask(`${service.url}/gift_card`, { token, json: { initial_value: 25 }, headers }), 201);
    await service.stop();
    damage(join(home.folder, 'largesse.db'), tree);

    const found = await home.run(['verify']);
    assert.equal(found.code, 1, found.errors);
    assert.match(found.output, new RegExp(`^${table}: `, 'm'));
    const json = await home.run(['verify', '--json']);
    assert.equal(json.code, 1);
    const { ok, mismatches } = JSON.parse(json.output) as {
      readonly ok: boolean;
      readonly mismatches: readonly { readonly store: string | null; readonly problem: string }[];
    };
    assert.equal(ok, false);
    assert.ok(mismatches.some(({ store, problem }) => store === null && problem.startsWith(`${table}: `)));

    const rejected = await home.run(['backup', 'copy.db']);
    assert.deepEqual([rejected.code, rejected.output], [1, '']);
    assert.match(rejected.errors, new RegExp(`^${table}: `, 'm'));
    assert.match(
      rejected.errors,
      /^largesse: the copy is damaged and remains at \S+copy\.db\.unverified: .*\n$/m,
    );
    assert.ok(!existsSync(join(home.folder, 'copy.db')));
  });
}

test('verify names the damage of a file that cannot be opened because of it', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  damage(join(home.folder, 'largesse.db'), 'key_checks');
  const { code, output, errors } = await home.run(['verify']);
  assert.deepEqual([code, errors], [1, '']);
  assert.match(output, /^key_checks: .*\nThe database is damaged\.\n$/m);
});

test('a backup leaves one file, even after an earlier one was killed', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const before = readdirSync(home.folder);
  for (const rest of ['', '-wal', '-shm', '-journal'])
    writeFileSync(join(home.folder, `copy.db.unverified${rest}`), 'half a copy');
  await home.json('backup', 'copy.db');
  assert.deepEqual(readdirSync(home.folder).toSorted(), [...before, 'copy.db'].toSorted());
});
