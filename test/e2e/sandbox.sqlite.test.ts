/** No command makes a live database a sandbox, or a sandbox live. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { until } from '../support/delivering.ts';
import type { Environment } from '../support/engine-database.ts';
import { makeHome, type Home } from './largesse.ts';

const domain = 'flowers.example';

type Shown = { readonly token: string; readonly database: string };

/** The variables of a sandbox in a folder of its own, which shares the key file, as a mistake could. */
async function sandboxIn(home: Home): Promise<{ readonly on: Environment; readonly shown: Shown }> {
  const on = { DATABASE_URL: `file:${join(home.folder, 'sandbox.db')}`, KEYS_FILE: home.keysFile };
  const { code, output, errors } = await home.run(['sandbox', '--no-serve', '--json'], on);
  assert.equal(code, 0, errors);
  return { on, shown: JSON.parse(output) as Shown };
}

async function rejects(
  home: Home,
  args: readonly string[],
  { on, reason }: { readonly on?: Environment; readonly reason: RegExp },
): Promise<void> {
  const { code, output, errors } = await home.run(args, on);
  assert.deepEqual([code, output], [1, ''], errors);
  assert.match(errors, reason);
}

/** Whether a file is a sandbox; undefined: it has no such table. */
function marksIn(url: string): number | undefined {
  using database = new DatabaseSync(url.replace(/^file:/, ''), { readOnly: true });
  return database.prepare('select 1 from sandbox').all().length;
}

async function liveIn(home: Home): Promise<{ readonly url: string; readonly on: Environment }> {
  await home.json('store', 'create', domain, '--currency', 'USD');
  const url = home.database.environment['DATABASE_URL'] ?? assert.fail();
  return { url, on: { DATABASE_URL: url, KEYS_FILE: home.keysFile } };
}

test('a live database never becomes a sandbox, also before its first store', async () => {
  await using home = await makeHome();
  const heartbeat = 'update heartbeat set beaten_at = 1';
  assert.equal((await home.run(['migrate'])).code, 0);
  await home.database.meddle(heartbeat);
  await rejects(home, ['sandbox', '--no-serve'], { reason: /was served and is not a sandbox/ });
  const { url } = await liveIn(home);
  await rejects(home, ['sandbox', '--no-serve'], { reason: /has stores and is not a sandbox/ });
  assert.equal(marksIn(url), 0);
});

test('no database is copied or moved between a sandbox and a live one', async () => {
  await using home = await makeHome();
  const { url } = await liveIn(home);
  const { on } = await sandboxIn(home);
  const sandbox = on['DATABASE_URL'] ?? assert.fail();
  const target = `file:${join(home.folder, 'target.db')}`;
  const copies: readonly (readonly [string, string, RegExp])[] = [
    [sandbox, target, /the source is a sandbox/],
    [sandbox, url, /the source is a sandbox/],
    [url, sandbox, /the target is a sandbox/],
  ];
  const names = { FROM: '', TO: '', KEYS_FILE: home.keysFile };
  for (const [from, to, reason] of copies)
    await rejects(home, ['copy', '--from', 'env:FROM', '--to', 'env:TO'], {
      on: { ...names, FROM: from, TO: to },
      reason,
    });
  const moves: readonly (readonly [string, string, string, RegExp])[] = [
    [sandbox, url, 'sandbox.example', /the source is a sandbox/],
    [url, sandbox, domain, /the target is a sandbox/],
  ];
  for (const [from, to, store, reason] of moves)
    await rejects(home, ['copy', '--from', 'env:FROM', '--to', 'env:TO', '--store', store], {
      on: { ...names, FROM: from, TO: to },
      reason,
    });
  assert.deepEqual([marksIn(url), marksIn(sandbox)], [0, 1]);
});

test('a backup of a sandbox is one, and is not restored', async () => {
  await using home = await makeHome();
  const { url, on: onLive } = await liveIn(home);
  const { on } = await sandboxIn(home);
  const copy = join(home.folder, 'copy.db');
  assert.equal((await home.run(['backup', copy], on)).code, 0);
  assert.equal(marksIn(copy), 1);
  const reason = /it is of a sandbox, whose gift cards have no value: a sandbox is never restored/;
  const fresh = { DATABASE_URL: `file:${join(home.folder, 'fresh.db')}`, KEYS_FILE: home.keysFile };
  await rejects(home, ['restore', copy], { on: fresh, reason });
  assert.ok(!existsSync(join(home.folder, 'fresh.db')));
  await rejects(home, ['restore', copy, '--replace'], { on: onLive, reason });
  assert.equal(marksIn(url), 0);
});

test('a service on a sandbox is one, whatever starts it', async () => {
  await using home = await makeHome();
  const { on, shown } = await sandboxIn(home);
  const service = await home.serve({ ...on, NODE_ENV: 'development' });
  const lists = await fetch(`${service.url}/gift_cards`, {
    headers: { authorization: `Bearer ${shown.token}` },
  });
  assert.deepEqual([lists.status, lists.headers.get('largesse-sandbox')], [200, 'true']);
  await service.stop();
});

test('a sandbox that several processes serve is shown once', async () => {
  await using home = await makeHome();
  const url = `file:${join(home.folder, 'sandbox.db')}`;
  const program = home.start(['sandbox', '--json'], { DATABASE_URL: url, PROCESSES: '2' });
  await until(() => program.output().match(/"message":"largesse serves"/g)?.length === 2);
  assert.equal(program.output().match(/"token":/g)?.length, 1, program.output());
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
});

test('the export of a sandbox has no codes, and is not imported as gift cards', async () => {
  await using home = await makeHome();
  await liveIn(home);
  const { on, shown } = await sandboxIn(home);
  const exported = join(home.folder, 'cards.csv');
  assert.equal((await home.run(['card', 'export', '--output', exported], on)).code, 0);
  assert.doesNotMatch(
    readFileSync(exported, 'utf8'),
    /sandbox(?:empty|low1|expired|suspended|error500|slow)/,
  );
  await rejects(home, ['card', 'import', exported], { reason: /has an unknown column "id"/ });
  // Nor does an import make a card of a code that everyone knows.
  const codes = join(home.folder, 'codes.csv');
  writeFileSync(codes, 'initial_value,code\n5.00,sandboxslow\n');
  for (const each of [{}, on])
    await rejects(home, ['card', 'import', codes], { on: each, reason: /is a fixed code of sandboxes/ });
  assert.match(shown.token, /^lgx_/);
});
