/** `largesse checkpoint`, and the verifier of examples/ as its own process against a service. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { readCheckpoint } from '../../examples/verify-ledger.ts';
import { openEngine } from '../support/sqlite.ts';
import { runProgram } from '../support/programs.ts';
import { chainHash, listTransfers } from '../../src/core/money/storage/transfer.ts';
import { ask, cardOf, makeHome, type Home, type Served } from './largesse.ts';

const verifier = join(import.meta.dirname, '../../examples/verify-ledger.ts');
const domain = 'flowers.example';

type Checkpoint = { readonly id: number; readonly size: number; readonly note: string };

async function openHome(): Promise<{ readonly home: Home; readonly token: string }> {
  const home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', domain);
  return { home, token };
}

/** Issues a card and debits it. */
async function spend({ url }: Served, token: string, debits: number): Promise<number> {
  const { id } = cardOf(await ask(`${url}/gift_card`, { token, json: { initial_value: 25 } }), 201);
  for (let count = 0; count < debits; count += 1)
    assert.equal(
      (await ask(`${url}/gift_card/${id}/debit`, { token, json: { amount: '1.00' } })).status,
      201,
    );
  return id;
}

function verifyWith(
  home: Home,
  { url }: Served,
  { token, cards = [] }: { readonly token: string; readonly cards?: readonly number[] },
) {
  const named = cards.flatMap((id) => ['--card', String(id)]);
  return runProgram(process.execPath, [verifier, '--url', url, '--keep', 'kept.json', ...named], {
    environment: { TOKEN: token },
    folder: home.folder,
  });
}

test('checkpoints are created, listed and exported, and keys are printed', async () => {
  const { home, token } = await openHome();
  await using _ = home;
  const none = await home.run(['checkpoint', 'export']);
  assert.deepEqual([none.code, none.errors], [1, 'largesse: flowers.example has no checkpoints\n']);
  assert.match((await home.run(['checkpoint', 'list'])).output, /^flowers\.example has no checkpoints\.$/m);
  const service = await home.serve();
  await spend(service, token, 2);
  await service.stop();
  const made = await home.json<Checkpoint>('checkpoint', 'create');
  assert.equal(made.size, 3);
  assert.equal((await home.json<Checkpoint>('checkpoint', 'create')).id, made.id);
  assert.deepEqual(await home.json('checkpoint', 'list'), [made]);
  const [{ key } = { key: '' }] = await home.json<{ readonly key: string }[]>('checkpoint', 'keys');
  for (const args of [[], ['--id', String(made.id)]]) {
    const { output } = await home.run(['checkpoint', 'export', ...args]);
    assert.equal(output, made.note);
    assert.equal(readCheckpoint(output, [key]).size, 3);
  }
  assert.equal((await home.run(['checkpoint', 'export', '--id', '7'])).code, 1);
  assert.equal((await home.run(['checkpoint', 'export', '--id', 'x'])).code, 2);
  assert.match((await home.run(['checkpoint', 'create'])).output, /^size +3$/m);
  assert.match((await home.run(['checkpoint', 'list'])).output, /^ID +SIZE +ROOT +CREATED AT +DAY\n\d+ +3 /m);
  assert.match((await home.run(['checkpoint', 'keys'])).output, /\+[0-9a-f]{8}\+/);
});

test('the example verifies cards and follows a key rotation', async () => {
  const { home, token } = await openHome();
  await using _ = home;
  const first = await home.serve();
  const id = await spend(first, token, 2);
  await ask(`${first.url}/checkpoints`, { method: 'POST', token });
  const cards = [id];
  const begun = await verifyWith(home, first, { token, cards });
  assert.deepEqual([begun.code, begun.errors], [0, ''], begun.output);
  assert.match(
    begun.output,
    /^gift card \d+: balance 23\.00 EUR; the log contains its 3 transactions and 0 changes$/m,
  );
  await first.stop();

  const { keys } = JSON.parse(readFileSync(home.keysFile, 'utf8')) as { readonly keys: readonly object[] };
  const fresh = { id: 'fresh', secret: Buffer.alloc(32, 5).toString('base64') };
  writeFileSync(home.keysFile, JSON.stringify({ keys: [fresh, ...keys] }));
  await home.run(['checkpoint', 'create']);
  const second = await home.serve();
  await spend(second, token, 1);
  await ask(`${second.url}/checkpoints`, { method: 'POST', token });
  const continued = await verifyWith(home, second, { token, cards });
  assert.deepEqual([continued.code, continued.errors], [0, ''], continued.output);
  assert.match(continued.output, /^checkpoint: 5 entries, continues the kept one$/m);
  const kept = JSON.parse(readFileSync(join(home.folder, 'kept.json'), 'utf8')) as {
    readonly keys: readonly string[];
  };
  assert.equal(kept.keys.length, 2);
  await second.stop();
});

test('the example rejects an older copy, and a history that was rewritten with the keys', async () => {
  const { home, token } = await openHome();
  await using _ = home;
  const first = await home.serve();
  const id = await spend(first, token, 2);
  await ask(`${first.url}/checkpoints`, { method: 'POST', token });
  await home.json('backup', 'old.db');
  await spend(first, token, 3);
  await ask(`${first.url}/checkpoints`, { method: 'POST', token });
  assert.equal((await verifyWith(home, first, { token, cards: [id] })).code, 0);
  const kept = readFileSync(join(home.folder, 'kept.json'), 'utf8');
  await first.stop();

  const old = await home.serve({ DATABASE_URL: `file:${join(home.folder, 'old.db')}` });
  const older = await verifyWith(home, old, { token });
  assert.equal(older.code, 1, older.output);
  assert.match(older.errors, /^REJECTED: the log has become smaller: 3 entries, 7 before$/m);
  // New entries hide the size, but not what is missing.
  await spend(old, token, 9);
  await ask(`${old.url}/checkpoints`, { method: 'POST', token });
  const grown = await verifyWith(home, old, { token });
  assert.equal(grown.code, 1, grown.output);
  assert.match(grown.errors, /^REJECTED: the log with 13 entries does not begin with the 7 entries before$/m);
  await old.stop();

  // The last debit of the card is attributed to another actor; chain, log and checkpoints are computed again.
  const file = (home.database.environment['DATABASE_URL'] ?? '').slice('file:'.length);
  {
    await using storage = openEngine(file);
    const [row] = await home.database.query('select store_id from logs');
    const chain = await storage.read(() =>
      listTransfers(Number(row?.['store_id']), { after: 0, upTo: Number.MAX_SAFE_INTEGER }),
    );
    const [before, last] = chain.filter(({ chainOf }) => chainOf === chain[0]?.chainOf).slice(-2);
    assert.ok(before && last);
    const hash = Buffer.from(chainHash(before.hash, { ...last.transfer, actor: 'nobody' }, last)).toString(
      'hex',
    );
    await home.database.meddle(`
      drop trigger transfers_are_not_updated; drop trigger checkpoints_are_not_deleted;
      delete from events where type = 'checkpoint.created';
      update transfers set actor = 'nobody', hash = x'${hash}' where id = ${last.transfer.id};
      update gift_cards set chain_hash = x'${hash}' where last_transfer_id = ${last.transfer.id};
      delete from checkpoints`);
  }
  const forged = await home.serve();
  await ask(`${forged.url}/checkpoints`, { method: 'POST', token });
  const verified = await home.run(['verify']);
  assert.equal(verified.code, 0, 'nothing in the database shows it');
  const rejected = await verifyWith(home, forged, { token, cards: [id] });
  assert.equal(rejected.code, 1, rejected.output);
  assert.match(
    rejected.errors,
    /^REJECTED: the log with 7 entries does not begin with the 7 entries before$/m,
  );
  assert.equal(readFileSync(join(home.folder, 'kept.json'), 'utf8'), kept, 'what was kept is unchanged');
  await forged.stop();
});
