/** The commands of a store's books: VAT, names of accounts, and the sums of closed days. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { closeDays } from '../../src/features/books/service/closing.ts';
import { makeHome, type Home } from './largesse.ts';

const domain = 'flowers.example';

test('the VAT of new cards and the names of accounts are set, changed and removed', async () => {
  await using home = await makeHome();
  const names = ['--account', 'liability_active=1600 Gift cards', '--account', 'sales=4000'];
  await home.json('store', 'create', domain, '--currency', 'EUR', '--vat', 'single_purpose:19', ...names);
  const shown = () => home.json<Record<string, unknown>>('store', 'show', domain);
  const { vat, account_liability_active: liability, account_sales: sales } = await shown();
  assert.deepEqual(
    { vat, liability, sales },
    { vat: 'single_purpose 19', liability: '1600 Gift cards', sales: '4000' },
  );

  await home.json('store', 'update', domain, '--vat', 'multi_purpose', '--account', 'sales=');
  const changed = await shown();
  assert.equal(changed['vat'], 'multi_purpose');
  assert.equal(changed['account_liability_active'], '1600 Gift cards');
  assert.equal('account_sales' in changed, false);

  await home.json('store', 'update', domain, '--vat', 'none');
  assert.equal((await shown())['vat'], null);

  for (const [option, value] of [
    ['--vat', '19'],
    ['--vat', 'single_purpose'],
    ['--vat', 'single_purpose:101'],
    ['--vat', 'single_purpose:19:7'],
    ['--account', 'cash=1000'],
    ['--account', 'sales'],
    ['--account', `sales=${'x'.repeat(101)}`],
    ['--account', 'sales=two\nlines'],
  ] as const) {
    const { code, output } = await home.run(['store', 'update', domain, option, value]);
    assert.deepEqual({ code, output }, { code: 2, output: '' }, `${option} ${value}`);
  }
  assert.deepEqual(await shown(), { ...changed, vat: null });
});

/** Closes the finished days of a demonstration of a year. */
async function closedDemonstration(): Promise<Home> {
  const home = await makeHome();
  await home.json('demo', 'load');
  await using database = await openDatabase(readDatabaseConfig(home.database.environment), { prepare: true });
  await closeDays(database, 10_000);
  return home;
}

test('reports rebuild restores the sums of days that verify finds wrong', async () => {
  await using home = await closedDemonstration();
  const [rebuilt] = await home.json<readonly { readonly store: string; readonly days: number }[]>(
    'reports',
    'rebuild',
  );
  assert.ok(rebuilt && rebuilt.days > 300, `${rebuilt?.days} days`);
  assert.equal((await home.run(['verify'])).code, 0);

  await home.database.meddle(
    'update store_days set raised = raised + 1 where day = (select min(day) from store_days)',
  );
  const found = await home.run(['verify']);
  assert.equal(found.code, 1);
  assert.match(found.output + found.errors, /day/);
  assert.deepEqual(await home.json('reports', 'rebuild', rebuilt.store), [rebuilt]);
  assert.equal((await home.run(['verify'])).code, 0);

  const unknown = await home.run(['reports', 'rebuild', 'unknown.example']);
  assert.equal(unknown.code, 1);
  assert.match(unknown.errors, /there is no store unknown.example/);
});
