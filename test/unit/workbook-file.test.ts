/** Workbooks that are exported: typed cells, the rules of the format, and many rows. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { workbookOf } from '../../src/pages/kit/table-file.ts';
import type { ShownColumn, ShownTable, ExportRow } from '../../src/core/tables/domain/export-table.ts';
import { attributeIn, xmlEvents } from '../../src/core/tables/domain/xml.ts';
import { openArchive } from '../../src/platform/zip.ts';
import { readTableFile } from '../../src/features/batches/service/table-file.ts';

const columns = [
  { name: 'amount', heading: 'Betrag & <x>', kind: 'text' },
  { name: 'day', heading: 'Tag', kind: 'day' },
  { name: 'month', heading: 'Monat', kind: 'month' },
  { name: 'time', heading: 'Zeit', kind: 'time' },
  { name: 'count', heading: 'Anzahl', kind: 'count' },
  { name: 'text', heading: 'Text', kind: 'text' },
] as const satisfies readonly ShownColumn[];

async function* partsOf(...parts: readonly (readonly ExportRow[])[]): ShownTable['parts'] & AsyncGenerator {
  yield* parts;
}

async function bytesOf(table: ShownTable, title = 'Karten', rowsMax?: number): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(workbookOf(table, title, rowsMax)));
}

function tableOf(...parts: readonly (readonly ExportRow[])[]): ShownTable {
  return { columns, parts: partsOf(...parts), timeZone: 'Europe/Berlin' };
}

const limits = { entriesMax: 100, bytesMax: 2 ** 26, ratioMax: 1_000 };

async function partOf(bytes: Buffer, name: string): Promise<string> {
  const part = (await (await openArchive(bytes, limits)).read(name)) ?? assert.fail(name);
  return Buffer.from(part).toString('utf8');
}

/** The attributes of a cell, and what it has. */
async function cellsOf(bytes: Buffer, sheet = 1): Promise<ReadonlyMap<string, string>> {
  const xml = await partOf(bytes, `xl/worksheets/sheet${sheet}.xml`);
  const cells = new Map<string, string>();
  let place = '';
  for (const event of xmlEvents([xml])) {
    if (event.kind === 'open' && event.name === 'c') {
      place = attributeIn(event.attributes, 'r') ?? assert.fail('no place');
      assert.ok(!cells.has(place), place);
      cells.set(place, `${attributeIn(event.attributes, 't') ?? 'n'} `);
    } else if (event.kind === 'text' && place !== '') cells.set(place, `${cells.get(place)}${event.text}`);
  }
  return cells;
}

test('cells of a workbook are numbers, days and texts, and never formulas', async () => {
  const bytes = await bytesOf(
    tableOf([
      {
        amount: { decimal: '-1234.50' },
        day: '2026-11-26',
        month: '2026-11',
        time: '2026-11-26T20:30:15Z',
        count: 12_345,
        text: '=SUM(A1)',
      },
      { amount: { decimal: '12345678901234567.89' }, day: '1899-12-31', count: 0, text: '0012' },
      { amount: { decimal: '0.005' }, text: 8_856_451_884_966_566 },
      { amount: null, text: '' },
      { text: '+1' },
      { text: '-1' },
      { text: '@a' },
    ]),
  );
  const cells = await cellsOf(bytes);
  assert.deepEqual(Object.fromEntries(cells), {
    A1: 'inlineStr Betrag & <x>',
    B1: 'inlineStr Tag',
    C1: 'inlineStr Monat',
    D1: 'inlineStr Zeit',
    E1: 'inlineStr Anzahl',
    F1: 'inlineStr Text',
    A2: 'n -1234.50',
    B2: 'n 46352',
    C2: 'n 46327',
    // 21:30:15 in Berlin.
    D2: `n ${46_352 + (21 * 3600 + 30 * 60 + 15) / 86_400}`,
    E2: 'n 12345',
    F2: 'inlineStr =SUM(A1)',
    // A number of more than 15 digits would be rounded.
    A3: 'inlineStr 12345678901234567.89',
    B3: 'inlineStr 1899-12-31',
    E3: 'n 0',
    F3: 'inlineStr 0012',
    A4: 'n 0.005',
    F4: 'inlineStr 8856451884966566',
    F6: 'inlineStr +1',
    F7: 'inlineStr -1',
    F8: 'inlineStr @a',
  });
  assert.doesNotMatch(await partOf(bytes, 'xl/worksheets/sheet1.xml'), /<f[ >]/);
  const { text, sheet } = await readTableFile(bytes, { decimalSign: ',' });
  assert.equal(sheet, 'Karten');
  assert.match(text, /-1234,5".2026-11-26.2026-11-01.2026-11-26 21:30.12345.=SUM\(A1\)/);
});

test('texts that XML cannot have are escaped, and long ones are cut', async () => {
  const text = 'a\0\u0001\u001F\uFFFE _x0041_ ]]> "<&>" \r\n\uD800 ü 🎁';
  const bytes = await bytesOf(tableOf([{ text, amount: 'x'.repeat(40_000) }]));
  const xml = await partOf(bytes, 'xl/worksheets/sheet1.xml');
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(xml.slice(60), /[\0-\x08\x0B-\x1F\uFFFE\uFFFF]/);
  const escaped = 'a_x0000__x0001__x001F__xFFFE_ _x005F_x0041_ ]]> "<&>" \n\uFFFD ü 🎁';
  const cells = await cellsOf(bytes);
  assert.equal(cells.get('F2'), `inlineStr ${escaped}`);
  assert.equal(cells.get('A2')?.length, 'inlineStr '.length + 32_767);
  const read = await readTableFile(bytes, { decimalSign: '.' });
  assert.ok(read.text.includes('_x0041_') && !read.text.includes('_x005F_'));
});

/** The parts that are declared, related and present are the same: otherwise a spreadsheet offers to repair the file. */
async function assertPackage(bytes: Buffer, sheets: readonly string[]): Promise<void> {
  const types = await partOf(bytes, '[Content_Types].xml');
  const relations = await partOf(bytes, 'xl/_rels/workbook.xml.rels');
  const book = await partOf(bytes, 'xl/workbook.xml');
  const styles = await partOf(bytes, 'xl/styles.xml');
  assert.match(await partOf(bytes, '_rels/.rels'), /officeDocument" Target="xl\/workbook\.xml"/);
  const declared = [...types.matchAll(/PartName="\/([^"]+)"/g)].map(([, name = '']) => name);
  const parts = sheets.map((_, index) => `xl/worksheets/sheet${index + 1}.xml`);
  assert.deepEqual(declared.toSorted(), ['xl/styles.xml', 'xl/workbook.xml', ...parts].toSorted());
  for (const name of declared) await partOf(bytes, name);
  const targets = new Map(
    [...relations.matchAll(/Id="(rId\d+)"[^>]*Target="([^"]+)"/g)].map(([, id = '', to = '']) => [id, to]),
  );
  const listed = [...book.matchAll(/<sheet name="([^"]*)" sheetId="(\d+)" r:id="([^"]+)"\/>/g)];
  assert.deepEqual(
    listed.map(([, name, number, id = '']) => [name, number, targets.get(id)]),
    sheets.map((name, index) => [name, String(index + 1), `worksheets/sheet${index + 1}.xml`]),
  );
  assert.equal(targets.size, sheets.length + 1);
  const cellStyles = /<cellXfs count="(\d+)">(.*)<\/cellXfs>/.exec(styles) ?? assert.fail(styles);
  assert.equal(cellStyles[2]?.split('<xf ').length, Number(cellStyles[1]) + 1);
  for (const part of parts) {
    const xml = await partOf(bytes, part);
    const order = [...xml.matchAll(/<(sheetViews|cols|sheetData)>/g)].map(([, name]) => name);
    assert.deepEqual(order, ['sheetViews', 'cols', 'sheetData']);
    assert.match(xml, /<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"\/>/);
    for (const [, style] of xml.matchAll(/ s="(\d+)"/g)) assert.ok(Number(style) < Number(cellStyles[1]));
    const rows = [...xml.matchAll(/<row r="(\d+)"/g)].map(([, number]) => Number(number));
    assert.deepEqual(
      rows,
      Array.from(rows, (_, index) => index + 1),
    );
  }
}

test('rows above those of a sheet are in further sheets, each with the header', async () => {
  const row = (count: number): ExportRow => ({ count, text: `row ${count}` });
  const parts = [[row(1), row(2), row(3)], [], [row(4), row(5)]];
  const bytes = await bytesOf(tableOf(...parts), "A [long]: title/of 'cards' * with 31 or more", 3);
  const name = 'A long title of cards with 31';
  await assertPackage(bytes, [`${name} o`, `${name} 2`, `${name} 3`]);
  const found = [1, 2, 3].map(async (sheet) => (await cellsOf(bytes, sheet)).get('E2'));
  assert.deepEqual(await Promise.all(found), ['n 1', 'n 3', 'n 5']);
  // A full sheet without further rows is the last one.
  await assertPackage(await bytesOf(tableOf([row(1), row(2)]), 'T', 3), ['T']);
  await assertPackage(await bytesOf(tableOf(), '', 3), ['Table']);
});

test('a workbook that is not read until its end ends the reads of its table', async () => {
  let hasEnded = false;
  async function* endless(): AsyncGenerator<readonly ExportRow[], void> {
    try {
      for (;;) yield [{ text: String(Math.random()).repeat(100) }];
    } finally {
      hasEnded = true;
    }
  }
  const table = { columns, parts: endless(), timeZone: 'UTC' };
  let read = 0;
  for await (const chunk of workbookOf(table, 'T')) {
    read += chunk.length;
    if (read > 100_000) break;
  }
  assert.ok(hasEnded);
});

test('a workbook that is left while it waits for rows of the next sheet ends the reads of its table', async () => {
  const [asked, more] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let hasEnded = false;
  async function* waiting(): AsyncGenerator<readonly ExportRow[], void> {
    try {
      yield [{ text: 'a' }];
      asked.resolve();
      await more.promise;
      for (;;) yield [{ text: 'b' }];
    } finally {
      hasEnded = true;
    }
  }
  for await (const chunk of workbookOf({ columns, parts: waiting(), timeZone: 'UTC' }, 'T', 2)) {
    assert.ok(chunk.length > 0);
    await asked.promise;
    setImmediate(more.resolve);
    break;
  }
  assert.ok(hasEnded);
});

test('a workbook of a table that cannot be read is an error', async () => {
  async function* failing(): AsyncGenerator<readonly ExportRow[], void> {
    yield [{ text: 'a' }];
    throw new Error('the connection ended');
  }
  await assert.rejects(bytesOf({ columns, parts: failing(), timeZone: 'UTC' }), /the connection ended/);
});
