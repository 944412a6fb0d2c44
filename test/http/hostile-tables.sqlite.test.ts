/** Uploads of files that are made to be expensive: each is a page with a reason, and others are served. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { postFiles, type Browser } from '../support/browser.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { hostileTables } from '../support/hostile-tables.ts';

const path = '/cards/batches';

/** One of each kind; the soak reads all of them. */
const chosen: Readonly<Record<string, RegExp>> = {
  'workbook: escapes in a cell': /not a table that can be read/,
  'workbook: escapes in many shared texts': /more than 4 MB/,
  'workbook: references in an attribute': /not a table that can be read/,
  'workbook: 900 attributes in tags': /not a table that can be read/,
  'workbook: a tag of 31 MiB': /not a table that can be read/,
  'workbook: rows 1 and 1,048,576': /more than 100,000 lines, with the empty ones/,
  'workbook: a part twice': /not a table that can be read/,
  'CSV: quotation marks only': /more than 100,000 characters/,
  'CSV: semicolons in lines': /more than 1\d+,000 lines/,
};

async function openBatch(manager: Browser): Promise<string> {
  const page = await manager.post(`${path}/new`, { kind: 'equal', count: '1', value: '25' });
  const form = { ...formOf(page, `${path}/issue`), expected_count: '1', expected_total: '25' };
  return (await manager.post(`${path}/issue`, form)).headers.get('location') ?? assert.fail('no batch');
}

test('an expensive file is a page with a reason in both forms, and the service responds', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const at = await openBatch(manager);
  for (const [name, reason] of Object.entries(chosen)) {
    const file = hostileTables.find((table) => table.name === name)?.bytes() ?? assert.fail(name);
    for (const form of [`${path}/new`, `${at}/addresses`]) {
      const page = await postFiles(manager, form, { fields: { kind: 'file' }, files: { file } });
      assert.equal(page.status, 422, `${name} at ${form}`);
      assert.match(textOfPage(page), reason, `${name} at ${form}`);
    }
    assert.equal((await shop.service.request('/healthz')).status, 200);
  }
});

test('a second file of a store is rejected while the first is read, and can be sent afterwards', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const forms = [`${path}/new`, `${await openBatch(manager)}/addresses`];
  const slow = hostileTables.find(({ name }) => name === 'workbook: readings of texts')?.bytes();
  const send = async (file: Uint8Array, form = `${path}/new`) =>
    await postFiles(manager, form, { fields: { kind: 'file' }, files: { file } });
  const pages = await Promise.all(
    [...forms, ...forms].map(async (form) => await send(slow ?? assert.fail(), form)),
  );
  const statuses = pages.map(({ status }) => status).toSorted((left, right) => left - right);
  assert.deepEqual(statuses, [422, 429, 429, 429]);
  for (const page of pages) {
    if (page.status !== 429) continue;
    assert.equal(page.headers.get('retry-after'), '5');
    assert.match(textOfPage(page), /Another file of this store is being read.*send this one again/s);
  }
  assert.match(textOfPage(await send(Buffer.from('a\nb\n'))), /1 column to decide|column/);
});

test('a form of pasted cells has a page of all its characters', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  // Line ends of a browser, characters that HTML escapes, and halves of a character at the ends of steps.
  const rows = `Amount,Message\r\n${'25.00,"<&😀> ""x"""\r\n'.repeat(5_000)}`;
  const page = await postFiles(manager, `${path}/new`, {
    fields: { kind: 'file', rows },
    files: { file: null },
  });
  assert.equal(page.status, 200);
  const form = formOf(page, `${path}/issue`);
  assert.equal(form['rows'], rows.replaceAll('\r\n', '\n'));
});
