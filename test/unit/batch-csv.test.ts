/** Files of batches: what is accepted, every error with its line, and linear cost. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  batchFileBytesMax,
  cellsOfLines,
  columnsError,
  guessColumns,
  repairedTable,
} from '../../src/features/batches/domain/columns.ts';
import { resultOf } from '../../src/core/domain/paused.ts';
import { fileAlone, parseBatchFile, type FileReader } from '../../src/features/batches/domain/table.ts';
import { repeatedRecipients } from '../../src/features/batches/domain/batch.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import { columnOfHeading } from '../../src/features/batches/domain/column-names.ts';
import { csvOf } from '../../src/core/tables/domain/csv.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { storeWith } from './samples.ts';

const place = { store: storeWith(), now: Date.UTC(2026, 2, 15, 12), canSend: true };

function parse(text: string | Uint8Array, at = place, reader: FileReader = fileAlone) {
  return resultOf(parseBatchFile(typeof text === 'string' ? Buffer.from(text) : text, at, reader));
}

/** The values, notes and lines of an accepted file. */
function accepted(text: string | Uint8Array, at = place, reader: FileReader = fileAlone) {
  const parsed = parse(text, at, reader);
  assert.ok(parsed.ok, JSON.stringify(parsed.ok ? '' : parsed.errors));
  return parsed.cards.map(({ value, details }, index) => [value.minor, details.note, parsed.lines[index]]);
}

function errorsOf(text: string | Uint8Array, at = place, reader: FileReader = fileAlone): readonly string[] {
  const parsed = parse(text, at, reader);
  assert.ok(!parsed.ok, 'the file was accepted');
  return parsed.errors.map(
    ({ line, field, message }) => `${line}: ${field === null ? '' : `${field} `}${message}`,
  );
}

test('a file is read with LF or CRLF, with a byte order mark, and without a last line end', () => {
  const expected = [
    [2_500n, 'a', 2],
    [100n, null, 3],
  ];
  for (const text of [
    'initial_value,note\n25.00,a\n1,\n',
    'initial_value,note\r\n25.00,a\r\n1,\r\n',
    '\uFEFFinitial_value,note\n25.00,a\n1,',
    'Initial_Value , NOTE\n25.00,a\n1,\n\n,\n',
    '"initial_value","note"\n"25.00","a"\n"1",""',
  ])
    assert.deepEqual(accepted(text), expected, JSON.stringify(text));
});

test('a quoted cell can contain separators, quotation marks and line ends, and lines are still counted', () => {
  assert.deepEqual(accepted('note,initial_value\r\n"a, ""b""\r\nc",1\r\n"\n\n",2\r\nd,3'), [
    [100n, 'a, "b"\nc', 2],
    [200n, '\n\n', 4],
    [300n, 'd', 7],
  ]);
});

const europe = { ...place, store: storeWith({ currency: currencyOf('EUR') }) };
const german = { decimalSign: ',', dayOrder: 'day-month' } as const;
const english = { decimalSign: '.', dayOrder: null } as const;
const headings = 'Betrag;Empfänger;Gültig bis\r\n';

test('a file has the encoding, separators and amounts of the spreadsheet that wrote it', () => {
  const rows = ['1.000,00;Müller;31.12.2026', '25,00 €;Gößler;1.2.2027', '"2 500,00";"Ä; ""Ö""";'];
  const text = `${headings}${rows.join('\r\n')}\r\n`;
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');
  const files: Readonly<Record<string, Uint8Array>> = {
    'windows-1252': Buffer.concat(
      text
        .split('€')
        .flatMap((part, index) => [...(index > 0 ? [Buffer.of(0x80)] : []), Buffer.from(part, 'latin1')]),
    ),
    'utf-8': Buffer.from(text),
    'utf-8 with a mark': Buffer.from(`\uFEFF${text}`),
    'utf-16le': utf16,
    'utf-16be': Buffer.from(utf16).swap16(),
    'a line for the separator': Buffer.from(`sep=;\r\n${text}`),
  };
  for (const [name, file] of Object.entries(files)) {
    const parsed = parse(file, europe);
    assert.ok(parsed.ok, name);
    const first = name.startsWith('a line') ? 3 : 2;
    assert.deepEqual(
      parsed.cards.map(({ value, details: { recipientName, expiresOn } }) => [
        value.minor,
        recipientName,
        expiresOn,
      ]),
      [
        [100_000n, 'Müller', '2026-12-31'],
        [2_500n, 'Gößler', '2027-02-01'],
        [250_000n, 'Ä; "Ö"', null],
      ],
      name,
    );
    assert.deepEqual(parsed.lines, [first, first + 1, first + 2]);
  }
  for (const separator of [',', ';', '\t'])
    assert.deepEqual(
      accepted(`note${separator}amount\na${separator}"1,000.50"\n`),
      [[100_050n, 'a', 2]],
      separator,
    );
  assert.deepEqual(accepted('Betrag\n25,00\n'), [[2_500n, null, 2]]);
});

test('a file that is not a text is an error', () => {
  const utf16 = Buffer.from('\uFEFFamount\n1\n', 'utf16le');
  for (const file of [
    Buffer.from('PK\u0003\u0004'),
    Buffer.from('amount\n1\u0000\n'),
    utf16.subarray(0, -1),
    Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0),
    Uint8Array.of(0x69, 0x81, 0x0a),
  ])
    assert.match(
      errorsOf(file)[0] ?? '',
      /^1: belongs to a file that is not a table: save it as XLSX or CSV$/,
    );
});

test('an ambiguous amount has the notation of the other amounts, then the one that was decided, or is an error', () => {
  assert.deepEqual(accepted('Betrag;Notiz\n1.000;\n25,50;\n')[0], [100_000n, null, 2]);
  assert.deepEqual(accepted('amount;note\n"1,000";\n25.50;\n')[0], [100_000n, null, 2]);
  assert.deepEqual(accepted('Betrag;Notiz\n1.000;\n', place, german)[0], [100_000n, null, 2]);
  assert.deepEqual(accepted('amount,note\n"1,000",\n', place, english)[0], [100_000n, null, 2]);
  const ambiguous = /^2: initial_value is ambiguous: /;
  for (const [text, reader] of [
    ['Betrag;Notiz\n1.000;\n', fileAlone],
    ['amount,note\n"1,000",\n25.50,\n"25,50",\n', fileAlone],
  ] as const)
    assert.match(errorsOf(text, place, reader)[0] ?? '', ambiguous, text);
  // The cells decide, whatever the page.
  assert.deepEqual(accepted('Betrag;Notiz\n1.000;\n1.000,00;\n', place, english)[0], [100_000n, null, 2]);
  assert.match(errorsOf('Betrag\n1.000\n', place, english)[0] ?? '', /at most 2 decimals/);
  const kuwait = { ...place, store: storeWith({ currency: currencyOf('KWD') }) };
  assert.match(errorsOf('amount;note\n1.000;\n', kuwait)[0] ?? '', ambiguous);
  assert.deepEqual(accepted('amount;note\n1.000;\n12.5;\n', kuwait)[0], [1_000n, null, 2]);
});

test('an unreadable amount is an error with its text, and never 0', () => {
  for (const cell of ['25,0O', '-', 'n/a', '#REF!', '25 26', '€', '2 5', '1e3']) {
    const parsed = parse(`amount;note\n${cell};a\n`);
    assert.ok(!parsed.ok);
    assert.deepEqual(
      parsed.errors.map(({ line, field, cell: shown }) => [line, field, shown]),
      [[2, 'initial_value', cell]],
    );
  }
  for (const cell of ['0', '0,00', '-5'])
    assert.match(errorsOf(`amount;note\n${cell};\n`)[0] ?? '', /greater than 0/);
  assert.deepEqual(errorsOf('amount;note\n;a\n'), ['2: initial_value is required']);
});

test('days have the order of the other days, then the one that was decided, or are errors', () => {
  const day = (cell: string, reader = fileAlone, others = ''): string => {
    const parsed = parse(`amount;expires\n1;${cell}\n${others}`, place, reader);
    if (parsed.ok) return parsed.cards[0]?.details.expiresOn ?? 'none';
    return parsed.errors[0]?.message ?? '';
  };
  for (const cell of [
    '2026-12-31',
    '31.12.2026',
    '31.12.26',
    '31. 12. 2026',
    '12/31/2026',
    '31/12/2026',
    '31-12-2026',
    '2026/12/31',
    '31.12.2026 00:00:00',
    '2026-12-31T00:00:00Z',
  ])
    // prettier-ignore
    assert.equal(day(cell), '2026-12-31', cell);
  assert.equal(day('5.6.2026'), '2026-06-05');
  assert.equal(day('06/06/2026'), '2026-06-06');
  assert.match(day('05/06/2026'), /^is ambiguous: /);
  assert.match(day('05/06/2026', english), /^is ambiguous: /);
  assert.equal(day('05/06/2026', german), '2026-06-05');
  assert.equal(day('05/06/2026', english, '1;06/25/2026\n'), '2026-05-06');
  assert.equal(day('05/06/2026', german, '1;06/25/2026\n'), '2026-05-06');
  assert.match(day('05/06/2026', fileAlone, '1;06/25/2026\n1;25/06/2026\n'), /^is ambiguous: /);
  for (const cell of ['31.11.2026', '2026-02-30', '13/13/2026'])
    assert.match(day(cell), /day that exists/, cell);
  for (const cell of ['31-12-26', '12.2026', 'tomorrow', '1.1.2026.1'])
    assert.match(day(cell), /YYYY-MM-DD/, cell);
});

test('headings are in four languages, in any case and with units', () => {
  for (const [text, field] of [
    ['Amount', 'initial_value'],
    ['BETRAG (in €)', 'initial_value'],
    ['Betrag in EUR', 'initial_value'],
    ['Importe', 'initial_value'],
    ['Montant', 'initial_value'],
    ['Gültig bis', 'expires_on'],
    ['Válido hasta', 'expires_on'],
    ['Valable jusqu’au', 'expires_on'],
    ["Valable jusqu'au", 'expires_on'],
    ['E-Mail', 'email'],
    ['Correo electrónico', 'email'],
    ['Adresse e-mail', 'email'],
    ['Empfänger-E-Mail', 'recipient_email'],
    ['Recipient’s email', 'recipient_email'],
    ['Nombre', 'recipient_name'],
    ['Grußtext', 'message'],
    ['Étiquettes', 'tags'],
    ['Notiz', 'note'],
    ['MwSt.-Satz', 'vat_rate'],
    ['Gutscheincode', 'code'],
    ['initial value', 'initial_value'],
    ['Zeile', null],
    ['Kundennummer', undefined],
    ['Cantidad', undefined],
  ] as const)
    assert.equal(columnOfHeading(text), field, text);
  assert.deepEqual(errorsOf('Betrag;Wert\n1;2\n'), ['1: has the column initial_value twice']);
  // Spreadsheets write empty columns.
  assert.deepEqual(accepted('Betrag;;\n1;;\n'), [[100n, null, 2]]);
  assert.deepEqual(errorsOf('Betrag;\n1;2\n'), ['1: must have a name for column 2']);
});

test('words, percentages and codes are read as spreadsheets write them', () => {
  const parsed = parse(
    "amount;email;notify;currency;vat_kind;vat_rate;code\n1; Ada@example.com ;FALSCH;usd;single_purpose;7,7 %;'0012345678901\n",
  );
  assert.ok(parsed.ok, JSON.stringify(parsed.ok ? '' : parsed.errors));
  const [card] = parsed.cards;
  assert.deepEqual(
    [card?.customer?.address, card?.emails, card?.vat, card?.code?.code.reveal()],
    ['Ada@example.com', undefined, { kind: 'single_purpose', rate: '7.7' }, '0012345678901'],
  );
  const rejected = parse('amount;code\n1;1,23457E+15\n');
  assert.ok(!rejected.ok);
  assert.deepEqual(
    rejected.errors.map(({ message, cell }) => [message, cell]),
    [['was shortened by a spreadsheet: format its column as text, and enter it again', undefined]],
  );
});

test('lines can be left out, and all lines with errors are known', () => {
  const lines = Array.from({ length: 250 }, (_, index) => (index % 2 === 0 ? 'x' : '5'));
  const file = `amount\n${lines.join('\n')}\n`;
  const parsed = parse(file);
  assert.ok(!parsed.ok);
  assert.deepEqual([parsed.errors.length, parsed.errorCount, parsed.badLines.length], [100, 125, 125]);
  assert.equal(parsed.lineCount, 250);
  const rest = accepted(file, place, { ...fileAlone, leftOut: new Set(parsed.badLines) });
  assert.equal(rest.length, 125);
  assert.deepEqual(rest[0], [500n, null, 3]);
  assert.deepEqual(errorsOf('amount\n1\n', place, { ...fileAlone, leftOut: new Set([2]) }), [
    '1: must be followed by at least one gift card',
  ]);
  const { headings: names, rows } = resultOf(cellsOfLines(file, new Set([2])));
  assert.deepEqual([names, rows.map(({ line, cells }) => [line, cells])], [['amount'], [[2, ['x']]]]);
});

test('two cards for one person are found by their lines', () => {
  const parsed = parse(
    'amount,name,email\n1,A,a@example.com\n1,B,b@example.com\n1,C,A@Example.com\n1,Dora,\n1, dora,\n1,,\n1,,\n',
  );
  assert.ok(parsed.ok);
  assert.deepEqual(repeatedRecipients(parsed.cards), [
    { index: 2, first: 0 },
    { index: 4, first: 3 },
  ]);
});

test('columns are those of their headings, of earlier decisions, or open', () => {
  const remembered = new Map([
    ['gruss', 'message'],
    ['filiale', null],
  ] as const);
  assert.deepEqual(guessColumns(['Betrag', 'Gruß!', 'Filiale', 'Kostenstelle', 'Wert', ''], remembered), [
    'initial_value',
    'message',
    null,
    undefined,
    undefined,
    null,
  ]);
  // A column of names is the other part of a name.
  assert.deepEqual(guessColumns(['Vorname', 'Name'], new Map()), ['first_name', 'last_name']);
  assert.deepEqual(guessColumns(['Nombre', 'Apellidos'], new Map()), ['first_name', 'last_name']);
  assert.deepEqual(guessColumns(['Name'], new Map()), ['recipient_name']);
  const parsed = parse('Name;Vorname;Betrag\nRhodes;Ida;1\n;Ada;2\n');
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.cards.map(({ details }) => details.recipientName), ['Ida Rhodes', 'Ada']); // prettier-ignore
  assert.deepEqual(columnsError(['initial_value', null, null]), null);
  assert.deepEqual(columnsError(['email', null]), { kind: 'no amount' });
  assert.deepEqual(columnsError(['email', 'email']), { kind: 'repeated', place: 1 });
  assert.deepEqual(columnsError(['recipient_name', 'last_name']), { kind: 'repeated', place: 1 });
});

test('a first line can be a card, and decided columns are read whatever their headings', () => {
  const reader = { ...fileAlone, columns: [null, 'initial_value', 'note'] as const };
  assert.deepEqual(accepted('x;25;a\n', place, { ...reader, isHeadless: true }), [[2_500n, 'a', 1]]);
  assert.deepEqual(accepted('x;y;z\nx;25;a\n', place, reader), [[2_500n, 'a', 2]]);
  // The form has a column for each one of the file.
  assert.match(errorsOf('x;y\n1;2\n', place, reader)[0] ?? '', /must have 3 columns/);
});

test('repaired cells replace those of their lines, and all other lines stay where they are', () => {
  const file = 'a;b\r\n"x\ny";1\r\n2;"q;""r"""\r\n3;4\r\n';
  const repaired = resultOf(
    repairedTable(
      file,
      new Map([
        [2, new Map([[0, 'plain']])],
        [4, new Map([[1, 'semi;colon "q"']])],
        [99, new Map([[0, 'none']])],
      ]),
    ),
  );
  assert.equal(repaired, 'a;b\r\nplain;1\n\r\n2;"semi;colon ""q"""\r\n3;4\r\n');
  assert.equal(resultOf(repairedTable(file, new Map())), file);
  const reader = { ...fileAlone, columns: ['note', 'initial_value'] as const };
  const before = '\uFEFFsep=;\nb;a\nx;1\ny;oops\n';
  assert.deepEqual(
    accepted(resultOf(repairedTable(before, new Map([[4, new Map([[1, '2,50']])]]))), place, reader),
    [
      [100n, 'x', 3],
      [250n, 'y', 4],
    ],
  );
});

test('all fields of a new card can be columns', () => {
  const parsed = parse(
    'initial_value,expires_on,email,recipient_email,sender_name,recipient_name,message,tags,notify,code,storefront_customer_id,vat_kind,vat_rate,currency\n' +
      '10,2031-12-31,ada@example.com,grace@example.com,Ada,Grace,Hello,"VIP, Spring",false,SPRING-2031-0001,71,single_purpose,19,USD',
  );
  assert.ok(parsed.ok);
  const [card] = parsed.cards;
  assert.deepEqual(
    { ...card, code: card?.code?.code.reveal(), value: card?.value.minor },
    {
      value: 1_000n,
      details: {
        ...noDetails,
        expiresOn: '2031-12-31',
        senderName: 'Ada',
        recipientName: 'Grace',
        tags: '\nVIP\nSpring\n',
        message: 'Hello',
      },
      customer: { address: 'ada@example.com', key: 'ada@example.com' },
      storefrontCustomerId: 71,
      recipient: { address: 'grace@example.com', key: 'grace@example.com' },
      code: 'spring20310001',
      vat: { kind: 'single_purpose', rate: '19' },
    },
  );
});

test('every error is listed with its line', () => {
  const text = [
    'initial_value,recipient_email,expires_on,code',
    '25.00,grace@example.com,2031-12-31,same-code-1',
    '0,not an address,2020-01-01,',
    '1,,',
    ',,,',
    '"1","a@example.com","2031-12-31","SAMECODE1"',
    ',b@example.com,,',
  ].join('\n');
  assert.deepEqual(errorsOf(text), [
    '3: initial_value must be greater than 0',
    '3: recipient_email must be one valid email address',
    '3: expires_on must be today or later',
    '4: must have 4 cells, and has 3',
    '6: code is the code of line 2',
    '7: initial_value is required',
  ]);
});

test('a file that is not CSV is rejected at its first wrong line', () => {
  const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
    ['', /^1: must have the names of the columns$/],
    ['initial_value\n', /^1: must be followed by at least one gift card$/],
    ['note\na\n', /^1: must have a column initial_value$/],
    ['initial_value,size\n1,2\n', /^1: has an unknown column "size": the columns are initial_value, /],
    ['initial_value,\n1,2\n', /^1: must have a name for column 2$/],
    ['initial_value,note,note\n1,2,3\n', /^1: has the column note twice$/],
    ['initial_value,note\n1,"a\n', /^2: has a quotation mark that is not closed$/],
    ['initial_value,note\n1,"a"b\n', /^2: has text after a closing quotation mark$/],
    ['initial_value,note\n1,a"b\n', /^2: has a quotation mark in a cell without quotation marks$/],
    ['initial_value,note\n1,a\rb\n', /^2: has a carriage return without a line feed$/],
    [`initial_value,note\n${','.repeat(100)}`, /^2: must have at most 64 cells$/],
    [`initial_value\n${'1\n'.repeat(10_001)}`, /^10002: is above the limit of 10,000 gift cards$/],
    [new Uint8Array(batchFileBytesMax + 1).fill(0x31), /^1: belongs to a file of more than 4 MiB$/],
  ];
  for (const [text, expected] of cases) {
    const [error = '', ...others] = errorsOf(text);
    assert.deepEqual(others, []);
    assert.match(error, expected);
  }
});

test('at most 100 errors are listed, and all are counted', () => {
  const parsed = parse(`initial_value,note\n${'x,\n'.repeat(2_310)}`);
  assert.ok(!parsed.ok);
  assert.deepEqual([parsed.errors.length, parsed.errorCount], [100, 2_310]);
});

test('the sum of a file must fit in 64 bits', () => {
  const kuwait = { ...place, store: storeWith({ currency: currencyOf('KWD') }) };
  const lines = (count: number): string => `initial_value\n${'999999999999.999\n'.repeat(count)}`;
  assert.equal(accepted(lines(9_223), kuwait).length, 9_223);
  assert.deepEqual(errorsOf(lines(9_300), kuwait), [
    '9225: initial_value is too large: the sum of the batch must be below 2^63 in minor units',
  ]);
});

test('a text that the service wrote is read back as it was', () => {
  const notes = [
    'a',
    'a,b',
    'say "hi"',
    'two\nlines',
    ' spaces ',
    'ü🎁',
    '=1+1',
    'x;=1',
    "'=1",
    'a\n@b',
    '-5',
  ];
  const csv = csvOf(
    ['initial_value', 'note'],
    notes.map((note) => ({ initial_value: '1.00', note })),
  );
  assert.deepEqual(
    accepted(csv).map(([, note]) => note),
    notes,
  );
});

test('the worst files take time in proportion to their size', () => {
  // Quadratic time would take minutes.
  const start = 'initial_value,note\n';
  for (const unit of [';', '1;', '01/02/2026,', '"', '""', '1,""', 'a', '\r\n', '1,"\n"', '1,a\n']) {
    const text = start + unit.repeat(Math.floor((2 ** 18 - start.length) / unit.length));
    parse(Buffer.from(text));
  }
});
