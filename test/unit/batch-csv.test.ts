/** Files of batches: what is accepted, every error with its line, and linear cost. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { batchFileBytesMax, parseBatchFile } from '../../src/domain/batch-csv.ts';
import { csvOf } from '../../src/domain/csv.ts';
import { currencyOf } from '../../src/domain/currency.ts';
import { storeWith } from './samples.ts';

const place = { store: storeWith(), now: Date.UTC(2026, 2, 15, 12), canSend: true };

function parse(text: string | Uint8Array, at = place) {
  return parseBatchFile(typeof text === 'string' ? Buffer.from(text) : text, at);
}

/** The values, notes and lines of an accepted file. */
function accepted(text: string | Uint8Array, at = place) {
  const parsed = parse(text, at);
  assert.ok(parsed.ok, JSON.stringify(parsed.ok ? '' : parsed.errors));
  return parsed.cards.map(({ value, details }, index) => [value.minor, details.note, parsed.lines[index]]);
}

function errorsOf(text: string | Uint8Array, at = place): readonly string[] {
  const parsed = parse(text, at);
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

test('a file with semicolons can have decimal commas, and others cannot', () => {
  assert.deepEqual(accepted('initial_value;note\n25,50;a,b\n1.5;\n'), [
    [2_550n, 'a,b', 2],
    [150n, null, 3],
  ]);
  assert.deepEqual(errorsOf('initial_value;note\n1.000,50;\n'), [
    '2: initial_value must be a decimal number such as "15.00"',
  ]);
  assert.deepEqual(errorsOf('initial_value,note\n"25,50",\n'), [
    '2: initial_value must be a decimal number such as "15.00"',
  ]);
});

test('all fields of a new card can be columns', () => {
  const parsed = parse(
    'initial_value,expires_on,email,recipient_email,sender_name,recipient_name,message,tags,notify,code,storefront_customer_id,vat_kind,vat_rate,currency\n' +
      '10,2031-12-31,ada@example.com,grace@example.com,Ada,Grace,Hello,"VIP, Spring",false,SPRING-2031-0001,71,single_purpose,19,USD',
  );
  assert.ok(parsed.ok);
  const [card] = parsed.cards;
  assert.deepEqual(
    { ...card, code: card?.code?.reveal(), value: card?.value.minor },
    {
      value: 1_000n,
      details: {
        expiresOn: '2031-12-31',
        note: null,
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
    '6: code is the code of another card of the batch',
    '7: initial_value is required',
  ]);
});

test('a file that is not CSV is rejected at its first wrong line', () => {
  const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
    ['', /^1: must have the names of the columns$/],
    ['initial_value\n', /^1: must be followed by at least one gift card$/],
    ['note\na\n', /^1: must have a column initial_value$/],
    ['initial_value,amount\n1,2\n', /^1: has an unknown column "amount": the columns are initial_value, /],
    ['initial_value,\n1,\n', /^1: must have a name for column 2$/],
    ['initial_value,note,note\n1,2,3\n', /^1: has the column note twice$/],
    ['initial_value,note\n1,"a\n', /^2: has a quotation mark that is not closed$/],
    ['initial_value,note\n1,"a"b\n', /^2: has text after a closing quotation mark$/],
    ['initial_value,note\n1,a"b\n', /^2: has a quotation mark in a cell without quotation marks$/],
    ['initial_value,note\n1,a\rb\n', /^2: has a carriage return without a line feed$/],
    [`initial_value\n${','.repeat(100)}`, /^2: must have at most 64 cells$/],
    [`initial_value\n${'1\n'.repeat(10_001)}`, /^10002: is above the limit of 10,000 gift cards$/],
    [Uint8Array.of(0x69, 0xe4, 0x0a), /^1: belongs to a file that is not UTF-8/],
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
  const notes = ['a', 'a,b', 'say "hi"', 'two\nlines', ' spaces ', 'ü🎁'];
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
  for (const unit of ['"', '""', '1,""', 'a', '\r\n', '1,"\n"', '1,a\n']) {
    const text = start + unit.repeat(Math.floor((2 ** 18 - start.length) / unit.length));
    parse(Buffer.from(text));
  }
});
