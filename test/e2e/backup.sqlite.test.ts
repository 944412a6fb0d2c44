/** `largesse backup` beside a running service. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { ask, cardOf, makeHome, type Served } from './largesse.ts';

const domain = 'flowers.example';

async function issue({ url }: Served, token: string): Promise<void> {
  cardOf(await ask(`${url}/gift_card`, { token, json: { initial_value: 25 } }), 201);
}

test('a backup of a running service is whole, and takes the place of nothing', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
  const service = await home.serve();
  await issue(service, token);
  const copy = join(home.folder, 'copy.db');
  assert.deepEqual(await home.json('backup', 'copy.db'), { backup: copy });
  const bytes = readFileSync(copy);

  await issue(service, token);
  const refused = await home.run(['backup', copy]);
  assert.deepEqual([refused.code, refused.output], [1, '']);
  assert.match(refused.errors, /^largesse: \S+copy\.db is there already\n$/);
  assert.ok(readFileSync(copy).equals(bytes), 'the first backup is as it was');
  const nowhere = await home.run(['backup', 'nowhere/copy.db']);
  assert.deepEqual({ code: nowhere.code, output: nowhere.output }, { code: 1, output: '' });
  assert.match(nowhere.errors, /^largesse: the folder \/\S+nowhere does not exist\n$/);
  const onKeys = await home.run(['backup', home.keysFile]);
  assert.deepEqual([onKeys.code, onKeys.output], [1, '']);
  assert.match(onKeys.errors, /^largesse: \S+largesse\.keys\.json is there already\n$/);

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
  assert.ok(!existsSync(join(home.folder, 'none.json')), 'no key file is made for a database that has one');

  await service.stop();
  const restored = await home.serve(onCopy);
  await issue(restored, token);
});
