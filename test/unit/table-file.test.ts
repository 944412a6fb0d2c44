/** Uploaded tables: what a workbook says as text, what is rejected before it is read, and how long other requests wait. */

import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import fc from 'fast-check';
import { resultOf, stepLength, type Paused } from '../../src/core/domain/paused.ts';
import { doubtsOf, fileAlone, parseBatchFile } from '../../src/features/batches/domain/table.ts';
import {
  cellsOfLines,
  readHead,
  readTable,
  repairedTable,
} from '../../src/features/batches/domain/columns.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import {
  linesMax,
  MalformedTable,
  rowLengthMax,
  withLineFeeds,
} from '../../src/core/tables/domain/table-text.ts';
import { dayOfSerial, numberStyleOf, textOfNumber } from '../../src/core/tables/domain/workbook-cells.ts';
import { xmlEvents, MalformedXml } from '../../src/core/tables/domain/xml.ts';
import { readCorrections } from '../../src/features/emails/domain/corrections.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { readTableFile, type TableOrder } from '../../src/features/batches/service/table-file.ts';
import { readTableBytes } from '../../src/features/batches/service/table-reader.ts';
import { createTableTurns, withPauses } from '../../src/features/batches/service/table-turns.ts';
import { archiveOf, workbookOf, workbookParts, type WorkbookCell } from '../support/workbook.ts';
import { storeWith } from './samples.ts';

const german = { decimalSign: ',' } as const;
const place = {
  store: storeWith({ currency: currencyOf('EUR') }),
  now: Date.UTC(2026, 2, 15, 12),
  canSend: true,
};

async function textOf(bytes: Uint8Array): Promise<string> {
  return (await readTableBytes(bytes, german)).text;
}

async function rejection(bytes: Uint8Array): Promise<string> {
  try {
    await textOf(bytes);
  } catch (error) {
    assert.ok(error instanceof MalformedTable, String(error));
    return error.message;
  }
  return assert.fail('the file was accepted');
}

const notTable = 'belongs to a file that is not a table: save it as XLSX or CSV';

/** Digits that cannot be packed, so that the file is not rejected for its ratio. */
function unpackable(length: number): string {
  const stream = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16));
  return stream
    .update(Buffer.alloc(Math.ceil(length / 2)))
    .toString('hex')
    .slice(0, length);
}

test('a workbook of LibreOffice is read with its amounts, days, line breaks and the rows of its lines', async () => {
  const file = readFileSync(join(import.meta.dirname, 'files/customers.xlsx'));
  const { text, sheet } = await readTableFile(file, german);
  assert.equal(sheet, 'Kunden');
  const parsed = resultOf(
    parseBatchFile(text, { ...place, now: Date.UTC(2031, 9, 1) }, { decimalSign: null, dayOrder: null }),
  );
  assert.ok(parsed.ok, JSON.stringify(parsed.ok ? '' : parsed.errors));
  assert.deepEqual(
    parsed.cards.map(({ value, details, customer, emails }, index) => [
      parsed.lines[index],
      value.minor,
      details.recipientName,
      customer?.address,
      details.message,
      emails?.sendAt === null ? null : typeof emails?.sendAt,
    ]),
    [
      [2, 2_500n, 'Ida Rhodes', 'ida@example.org', 'Danke für 10 Jahre!\nAlles Gute', 'number'],
      [3, 123_450n, 'Jürgen Groß', 'juergen@example.de', 'Schöne & „frohe“ Grüße', 'number'],
      [4, 2_500n, 'Mary Keller', 'mary@example.com', null, null],
    ],
  );
});

test('texts of cells survive, and so do the lines of their rows', async () => {
  // Without what an apostrophe or a code of a character means.
  const text = fc.stringMatching(/^[ -&(-^`-~äß€\n]{1,12}$/).filter((cell) => cell.trim() !== '');
  const cell = fc.oneof(text, fc.integer({ min: 0, max: 99_999 }), fc.constant(null));
  const rows = fc
    .array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 6 })
    .filter((cells) => cells.flat().some((each) => each !== null));
  await fc.assert(
    fc.asyncProperty(rows, async (cells) => {
      const table = await textOf(workbookOf([['a', 'b', 'c'], ...cells]));
      const read = resultOf(readTable(table, { columns: [null, null, null] }));
      const kept = cells.flatMap((row, index) =>
        row.every((each) => each === null) ? [] : [[index + 2, ...row.map((each) => String(each ?? ''))]],
      );
      assert.deepEqual(
        read.rows.map(({ line, cells: own }) => [line, ...own]),
        kept,
      );
    }),
    { numRuns: 100, examples: [[[['a;b|"c"', 'two\nlines', 5]]]] },
  );
});

test('days have the system of their workbook, and numbers the digits that a spreadsheet shows', async () => {
  assert.equal(dayOfSerial(46_375, 1900), '2026-12-19');
  assert.equal(dayOfSerial(46_375 - 1_462, 1904), '2026-12-19');
  assert.equal(dayOfSerial(46_375.4375, 1900), '2026-12-19 10:30');
  assert.equal(dayOfSerial(61, 1900), '1900-03-01');
  for (const serial of [0, 60, -1, 1e9, Number.NaN]) assert.equal(dayOfSerial(serial, 1900), undefined);
  for (const [is1904, day] of [
    [false, '2026-12-19'],
    [true, '2030-12-20'],
  ] as const)
    assert.match(
      await textOf(
        workbookOf(
          [
            ['a', 'b'],
            [{ day: 46_375 }, 1],
          ],
          { is1904 },
        ),
      ),
      new RegExp(day),
    );
  for (const [value, shown] of [
    [25, '25'],
    [25.5, '25,5'],
    [0.1 + 0.2, '0,3'],
    // It cannot be read as thousands.
    [1.125, '1,1250'],
    [1e-7, '0,0000001'],
    [-3.5, '-3,5'],
    [123_456_789_012_345, '123456789012345'],
    [1_234_567_890_123_456, '1.234567890123456E+15'],
  ] as const)
    assert.equal(textOfNumber(value, ','), shown);
  for (const [id, code, kind] of [
    [14, undefined, 'day'],
    [9, undefined, 'percent'],
    [2, undefined, 'number'],
    [164, '#,##0.00\\ "€"', 'number'],
    [164, '_-* #,##0.00\\ [$€-407]_-', 'number'],
    [164, '[$-407]d/\\ mmmm\\ yyyy;@', 'day'],
    [164, 'mmm yy', 'day'],
    [164, 'hh:mm', 'number'],
    [164, '"day" 0', 'number'],
    [164, '0.0%', 'percent'],
    [164, '00000', 'digits'],
  ] as const)
    assert.equal(numberStyleOf(id, code).kind, kind, code ?? String(id));
  // A pattern of it would take time in proportion to the square of its length.
  assert.equal(numberStyleOf(164, '[y'.repeat(200)).kind, 'number');
});

test('a workbook with parts whose names begin with a slash, or have backslashes, is read', async () => {
  const parts = workbookParts([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  for (const rename of [
    (name: string) => `/${name}`,
    (name: string) => name.replaceAll('/', '\\'),
    (name: string) => `\\${name}`,
  ]) {
    const renamed = parts.map((part) => ({ ...part, name: rename(part.name) }));
    assert.match(await textOf(archiveOf(renamed)), /a.b\n.*c.d/s);
  }
});

test('a file that is not a table is rejected, whatever is in it', async () => {
  const parts = workbookParts([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  const books = new Set(['xl/workbook.xml', 'xl/_rels/workbook.xml.rels']);
  const bomb = '<worksheet>'.padEnd(30 * 2 ** 20, ' ');
  const laughs = '<!DOCTYPE sst [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>';
  const files: Readonly<Record<string, Uint8Array>> = {
    'a directory that is cut off': archiveOf(parts).subarray(0, 900),
    'an archive without a workbook': archiveOf(parts.filter(({ name }) => !books.has(name))),
    'too many parts': archiveOf([
      ...parts,
      ...Array.from({ length: 1_000 }, (_, index) => ({ name: `${index}`, content: '' })),
    ]),
    'a ratio of a bomb': workbookOf([], { sheet: bomb }),
    'more bytes than the directory says': archiveOf(
      parts.map((part) => ({ ...part, ...(part.name.includes('sheet1') && { size: 10 }) })),
    ),
    'fewer bytes than the directory says': archiveOf(
      parts.map((part) => ({ ...part, ...(part.name.includes('sheet1') && { size: 2_000 }) })),
    ),
    entities: workbookOf([['a']], { texts: laughs }),
    'an external entity': workbookOf([['a']], {
      texts: '<!DOCTYPE sst [<!ENTITY a SYSTEM "file:///etc/passwd">]><sst><si><t>&a;</t></si></sst>',
    }),
    'an unknown reference': workbookOf([['a']], { texts: '<sst><si><t>&a;</t></si></sst>' }),
    depth: workbookOf([], { sheet: '<a>'.repeat(40) + '</a>'.repeat(40) }),
    'a row twice': workbookOf([], {
      sheet: '<worksheet><row r="2"><c><v>1</v></c></row><row r="2"><c><v>1</v></c></row></worksheet>',
    }),
    'a text longer than that of any cell': workbookOf([['a']], {
      texts: `<sst><si><t>${unpackable(230_001)}</t></si></sst>`,
    }),
    'many texts': workbookOf([['a']], {
      texts: `<sst>${'<si/>'.repeat(200_001)}<pad>${unpackable(20_000)}</pad></sst>`,
    }),
    'not UTF-8': archiveOf(
      parts.map((part) =>
        part.name === 'xl/workbook.xml' ? { ...part, content: Buffer.of(0xff, 0xfe, 0x3c) } : part,
      ),
    ),
  };
  for (const [name, bytes] of Object.entries(files)) assert.equal(await rejection(bytes), notTable, name);
});

test('a table above a limit is rejected by its row, and a text that cells share does not multiply', async () => {
  const rows = (count: number): WorkbookCell[][] => Array.from({ length: count }, () => ['x', 1]);
  assert.match(await rejection(workbookOf(rows(10_002))), /above the limit of 10,000 gift cards/);
  assert.match(await rejection(workbookOf([Array.from({ length: 65 }, () => 'x')])), /at most 64 cells/);
  assert.match(
    await rejection(workbookOf(Array.from({ length: 600 }, () => ['y'.repeat(9_000)]))),
    /more than 4 MiB/,
  );
  await assert.rejects(readTableFile(Buffer.alloc(4 * 2 ** 20 + 1, 'a'), german), /more than 4 MiB/);
});

test('the columns of a table with vertical bars, and of UTF-16 without a mark, are found', async () => {
  const bytes = Buffer.from('Betrag|Name\n25,50|Ada\n', 'utf16le');
  assert.equal(await textOf(bytes), 'Betrag|Name\n25,50|Ada\n');
  assert.equal(await textOf(Buffer.from(bytes).swap16()), 'Betrag|Name\n25,50|Ada\n');
  assert.deepEqual(resultOf(readTable('Betrag|Name\n25,50|Ada\n')).columns, [
    'initial_value',
    'recipient_name',
  ]);
});

test('a damaged file is never an error of the service', async () => {
  const file = workbookOf([
    ['Name', 'Betrag'],
    ['Ada', 25],
  ]);
  const change = fc.record({ at: fc.nat(file.length - 1), byte: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const bytes = Buffer.from(file);
      for (const { at, byte } of changes) bytes[at] = byte;
      await textOf(bytes).catch((error: unknown) => {
        assert.ok(error instanceof MalformedTable, String(error));
      });
    }),
    { numRuns: 200 },
  );
});

test('the worst XML takes time in proportion to its length', () => {
  for (const unit of ['<', '<a', '<a ', '<a b="', ' ', '&', '<!--', '<a></a>', '<a b="c"/>', '"']) {
    const text = `<r ${unit.repeat(Math.floor(2 ** 18 / unit.length))}`;
    for (const xml of [text, `<r>${text}`])
      try {
        for (const _ of xmlEvents([xml]));
      } catch (error) {
        assert.ok(error instanceof MalformedXml, String(error));
      }
  }
});

test('10,000 rows are read in a thread, and parsed with pauses after amounts of text', async () => {
  const head = ['Name', 'E-Mail', 'Betrag', 'Nachricht'];
  const people = Array.from({ length: 10_000 }, (_, index): readonly WorkbookCell[] => [
    `Person ${index}`,
    `person${index}@example.com`,
    25.5,
    `Danke für ${index} Jahre!`,
  ]);
  const { text } = await readTableFile(workbookOf([head, ...people]), german);
  assert.equal(text.split('\n').length, 10_002);
  const works: Readonly<Record<string, () => Paused<unknown>>> = {
    parseBatchFile: () => parseBatchFile(text, place, fileAlone),
    readHead: () => readHead(text, {}),
    doubtsOf: () => doubtsOf(text, place.store, {}),
    cellsOfLines: () => cellsOfLines(text, new Set([2])),
    repairedTable: () => repairedTable(text, new Map([[2, new Map([[0, 'x']])]])),
    withLineFeeds: () => withLineFeeds(text.replaceAll('\n', '\r\n')),
  };
  for (const [name, work] of Object.entries(works)) {
    const steps = stepsOf(work());
    // A step reads `stepLength`, and the rest of a row, which has less than 100 characters.
    assert.ok(steps > text.length / (stepLength + 100), `${name} has ${steps} steps`);
  }
  const parsed = await withPauses(parseBatchFile(text, place, fileAlone));
  assert.ok(parsed.ok && parsed.cards.length === 10_000);
});

/** The number of steps of work, which may end with the error of a table. */
function stepsOf(work: Paused<unknown>): number {
  let steps = 1;
  try {
    while (work.next().done !== true) steps += 1;
  } catch (error) {
    assert.ok(error instanceof MalformedTable, String(error));
  }
  return steps;
}

test('lines without content and long rows are read with pauses, up to a limit of each', () => {
  const longest = `"${'x'.repeat(rowLengthMax - 2)}"`;
  const texts: Readonly<Record<string, readonly [text: string, error: RegExp | null]>> = {
    'empty lines': ['\n'.repeat(90_000), null],
    'too many empty lines': [`a\n${'\n'.repeat(linesMax)}b`, /above the limit of 100,000 lines/],
    'lines in cells': [`a\n"${'\n'.repeat(50_000)}"\n"${'\n'.repeat(50_000)}"\nb`, /100,000 lines/],
    'the longest rows': [`a\n${`${longest}\n`.repeat(20)}`, null],
    'a longer cell': [`a\n${'x'.repeat(rowLengthMax + 1)}`, /at most 100,000 characters/],
    'a longer cell in quotation marks': [`a\n${longest.replace('x', 'xxx')}`, /at most 100,000 characters/],
    'a longer row of cells': [`a\n${`${'x'.repeat(2_000)},`.repeat(51)}`, /at most 100,000 characters/],
  };
  for (const [name, [text, expected]] of Object.entries(texts)) {
    const steps = stepsOf(readCorrections(text, new Set()));
    const read = stepsOf(readTable(text, { columns: [null] }));
    assert.ok(Math.max(steps, read) >= Math.min(text.length, 90_000) / (stepLength + rowLengthMax), name);
    const find = (): unknown => resultOf(readTable(text, { columns: [null] }));
    if (expected) assert.throws(find, { name: 'MalformedTable', message: expected }, name);
  }
});

test('an XML document is read a window at a time', () => {
  const part = '<row><c><v>1</v></c></row>'.repeat(100);
  let given = 0;
  function* parts(): Generator<string> {
    yield '<worksheet>';
    for (let count = 0; count < 500; count += 1) {
      given += part.length;
      yield part;
    }
    yield '</worksheet>';
  }
  let used = 0;
  for (const event of xmlEvents(parts())) {
    if (event.kind === 'close' && event.name === 'row') used += part.length / 100;
    // The longest markup, and the part that completes it.
    assert.ok(given - used <= 40_000 + 2 * part.length, `${given} characters were read for ${used}`);
  }
  assert.equal(used, given);
});

/** A thread that does something else than the reader. */
function threadOf(code: string, limits: ResourceLimits = {}) {
  const begin = "require('node:worker_threads').parentPort.postMessage({ kind: 'begun' });";
  return (order: TableOrder): Worker =>
    new Worker(begin + code, { eval: true, workerData: order, resourceLimits: limits });
}

test('whatever happens to the thread of a file is an error about the file', async () => {
  const small = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
  const threads = {
    'a loop without end': threadOf('for (;;);'),
    'a pattern without end': threadOf("/^(a+)+$/.test('a'.repeat(60) + 'b');"),
    'too much memory': threadOf(
      'const all = []; for (;;) all.push({ number: all.length, text: `x${all.length}` });',
      small,
    ),
    'too many calls': threadOf('const call = () => call() + 1; call();'),
    'an end without a result': threadOf('process.exit(0);'),
    'an error': threadOf("throw new TypeError('x is not a function');"),
  };
  for (const [name, start] of Object.entries(threads))
    await assert.rejects(
      readTableFile(Buffer.from('a\n1\n'), german, { start, processorMsMax: 100 }),
      { name: 'MalformedTable', message: /^belongs to a file that needs too much memory or time/ },
      name,
    );
});

test('a file is read in a thread of its own, with limits of memory and of processor time', async () => {
  const limits: (number | undefined)[] = [];
  const note = (worker: Worker): unknown => limits.push(worker.resourceLimits?.maxOldGenerationSizeMb);
  process.on('worker', note);
  try {
    assert.equal((await readTableFile(Buffer.from('a\n1\n'), german)).text, 'a\n1\n');
    const names = Array.from({ length: 600_000 }, (_, index) => `<Relationship Id="r${index}" Target="x"/>`);
    const long = archiveOf(
      workbookParts([['a']]).map((part) =>
        part.name.endsWith('workbook.xml.rels')
          ? { ...part, content: `<Relationships>${names.join('')}</Relationships>` }
          : part,
      ),
    );
    await assert.rejects(readTableFile(long, german, { processorMsMax: 50 }), {
      name: 'MalformedTable',
      message: /^belongs to a file that needs too much memory or time/,
    });
  } finally {
    process.off('worker', note);
  }
  assert.deepEqual(limits, [96, 96]);
});

test('a thread that cannot start is not an error about the file', async () => {
  const start = (): Worker => new Worker("throw new Error('no module');", { eval: true });
  await assert.rejects(readTableFile(Buffer.from('a\n1\n'), german, { start }), { message: 'no module' });
});

test('a store has one file at a time, a service few, and those that wait are limited', async () => {
  const turns = createTableTurns({ tablesAtOnceMax: 1, tablesWaitingMax: 1 });
  const first = Promise.withResolvers<string>();
  const order: string[] = [];
  const work =
    (name: string, until: Promise<string> = Promise.resolve(name)) =>
    async (): Promise<string> => {
      order.push(name);
      return await until;
    };
  const one = turns(1, work('one', first.promise));
  await assert.rejects(
    turns(1, work('again')),
    (error: unknown) =>
      error instanceof Fault && error.code === 'too-many-requests' && error.retryAfterSeconds === 5,
  );
  const two = turns(2, work('two'));
  await assert.rejects(
    turns(3, work('three')),
    (error: unknown) =>
      error instanceof Fault && error.code === 'overloaded' && error.retryAfterSeconds === 5,
  );
  assert.deepEqual(order, ['one']);
  first.resolve('read');
  assert.deepEqual(await Promise.all([one, two]), ['read', 'two']);
  assert.equal(await turns(1, work('later')), 'later');
  await assert.rejects(
    turns(1, () => Promise.reject(new MalformedTable(1, 'x'))),
    { name: 'MalformedTable' },
  );
  assert.equal(await turns(1, work('last')), 'last');
  assert.deepEqual(order, ['one', 'two', 'later', 'last']);
});
