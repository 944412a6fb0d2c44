/** `largesse card issue|import|export`, also while the service runs. */

import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { hostileTables } from '../support/hostile-tables.ts';
import { workbookOf } from '../support/workbook.ts';
import { ask, cardOf, makeHome, type Home } from './largesse.ts';

const domain = 'flowers.example';

async function makeStore(home: Home): Promise<string> {
  await home.json('store', 'create', domain, '--currency', 'EUR');
  return (await home.json<{ readonly token: string }>('token', 'create', '--store', domain)).token;
}

function write(home: Home, name: string, text: string): string {
  const file = join(home.folder, name);
  writeFileSync(file, text);
  return file;
}

async function count(home: Home): Promise<number> {
  const [row] = await home.database.query('select count(*) as cards from gift_cards');
  return Number(row?.['cards']);
}

test('card issue prints the code once, and rejects invalid values', async () => {
  await using home = await makeHome();
  await makeStore(home);
  type Issued = Readonly<Record<'code' | 'initial_value' | 'recipient_email' | 'note', string>>;
  const args = ['card', 'issue', '--value', '25.00', '--recipient-email', 'grace@example.com', '--note', 'x'];
  const issued = await home.json<Issued>(...args, '--no-notify');
  assert.match(issued.code, /^[0-9a-z]{16}$/);
  assert.deepEqual(
    [issued.initial_value, issued.recipient_email, issued.note],
    ['25.00', 'grace@example.com', 'x'],
  );
  const shown = await home.run(['card', 'issue', '--value', '5', '--code', 'SPRING-2031-0001']);
  assert.match(shown.output, /^code +spring20310001\nid +\d+\nvalue +5\.00 EUR\n/);
  for (const [wrong, message] of [
    [['--value', '0'], /initial_value must be greater than 0/],
    [['--value', '5', '--code', 'SPRING-2031-0001'], /code is taken/],
    [['--value', '5', '--expires-on', '2020-01-01'], /expires_on must be today or later/],
  ] as const) {
    const { code, errors } = await home.run(['card', 'issue', ...wrong]);
    assert.equal(code, 1);
    assert.match(errors, message);
  }
  const bomb = join(home.folder, 'bomb.xlsx');
  writeFileSync(
    bomb,
    hostileTables.find(({ name }) => name === 'workbook: escapes in a cell')?.bytes() ?? '',
  );
  const expensive = await home.run(['card', 'import', bomb]);
  assert.equal(expensive.code, 1);
  assert.match(expensive.errors, /bomb\.xlsx has errors.*line 1: belongs to a file that is not a table/s);
  assert.equal(await count(home), 2);
});

test('card import issues each card of a file once, with the running service, and prints the codes', async () => {
  await using home = await makeHome();
  const token = await makeStore(home);
  const service = await home.serve();
  // Three of the cards wait for a review.
  const rows = Array.from({ length: 60 }, (_, place) => `${place + 1},Note ${place},${place % 20 === 1}`);
  const file = write(home, 'cards.csv', ['initial_value,note,suspend', ...rows, ''].join('\r\n'));
  const codes = join(home.folder, 'codes.csv');
  const expected = ['--expect-count', '60', '--expect-total', '1830.00'];

  const dry = await home.run(['card', 'import', file, '--dry-run', ...expected]);
  assert.match(dry.output, /has 60 gift cards of 1830\.00 EUR in total, of which 0 would be emailed/);
  assert.equal(await count(home), 0);

  const imported = await home.run(['card', 'import', file, '--output', codes, ...expected]);
  assert.deepEqual([imported.code, imported.output], [0, ''], imported.errors);
  assert.match(imported.errors, /Issued 60 gift cards of 1830\.00 EUR in total\./);
  assert.equal(statSync(codes).mode & 0o777, 0o600);
  const [header, ...lines] = readFileSync(codes, 'utf8').trimEnd().split('\r\n');
  assert.equal(header, 'id,code,initial_value,currency,expires_on,recipient_email,customer_email,note');
  assert.equal(lines.length, 60);
  for (const [place, line] of [...lines.entries()].filter(([each]) => each % 20 < 2)) {
    const [id = '', code, value, , , , , note] = line.split(',');
    assert.deepEqual([value, note], [`${place + 1}.00`, `Note ${place}`]);
    const found = await ask(`${service.url}/gift_card/lookup`, { token, json: { code } });
    assert.equal(String(cardOf(found, 200).id), id);
    const { state, available } = cardOf(found, 200) as unknown as Readonly<Record<string, string>>;
    const expectedState = place % 20 === 1 ? ['suspended', '0.00'] : ['active', `${place + 1}.00`];
    assert.deepEqual([state, available], expectedState);
  }

  const again = await home.run(['card', 'import', file]);
  assert.deepEqual([again.code, again.output.trimEnd().split('\r\n').length], [0, 61]);
  assert.match(again.errors, /This file was imported before: 60 gift cards/);
  assert.equal(await count(home), 60);
  const other = await home.json<{ readonly issued: number }>('card', 'import', file, '--key', 'second time');
  assert.equal(other.issued, 60);
  assert.equal(await count(home), 120);
  const overwritten = await home.run(['card', 'import', file, '--output', codes]);
  assert.deepEqual([overwritten.code, overwritten.errors], [1, `largesse: ${codes} already exists\n`]);
  await service.stop();

  const exported = await home.run(['card', 'export']);
  assert.equal(exported.output.trimEnd().split('\r\n').length, 121);
  for (const line of lines) assert.ok(!exported.output.includes(line.split(',')[1] ?? '–'));
  const { code } = await home.run(['verify']);
  assert.equal(code, 0);
});

test('card import reads a workbook, and rejects a damaged one', async () => {
  await using home = await makeHome();
  await makeStore(home);
  const file = join(home.folder, 'customers.xlsx');
  writeFileSync(file, workbookOf([['Vorname', 'Name', 'Betrag'], ['Ida', 'Rhodes', 1_250.5], ['Ada', null, '25,00 €']])); // prettier-ignore
  const imported = await home.run([
    'card',
    'import',
    file,
    '--expect-count',
    '2',
    '--expect-total',
    '1275.5',
  ]);
  assert.equal(imported.code, 0, imported.errors);
  assert.match(imported.output, /,1250\.50,EUR,/);
  const again = await home.run(['card', 'import', file]);
  assert.match(again.errors, /This file was imported before/);
  const broken = write(home, 'broken.xlsx', 'PK\u0003\u0004');
  const rejected = await home.run(['card', 'import', broken]);
  assert.deepEqual(
    [rejected.code, /line 1: belongs to a file that is not a table/.test(rejected.errors)],
    [1, true],
  );
  assert.equal(await count(home), 2);
});

test('card import checks more codes than a caller could look up', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR', '--lookup-failures-per-hour', '1');
  const rows = Array.from({ length: 60 }, (_, place) => `5,plastic${String(place).padStart(4, '0')}`);
  const file = write(home, 'cards.csv', ['initial_value,code', ...rows].join('\n'));
  assert.equal((await home.run(['card', 'import', file])).code, 0);
  const taken = await home.run(['card', 'import', file, '--key', 'again']);
  assert.equal(taken.code, 1);
  assert.equal(taken.errors.split('\n').filter((line) => line.endsWith('code is taken')).length, 60);
});

test('card import lists the errors of a file by line, and issues nothing', async () => {
  await using home = await makeHome();
  await makeStore(home);
  const file = write(home, 'wrong.csv', 'initial_value;recipient_email\n25,00;grace@example.com\n0;x\n1\n');
  const wrong = await home.run(['card', 'import', file]);
  assert.equal(wrong.code, 1);
  assert.equal(
    wrong.errors,
    [
      `largesse: ${file} has errors, and nothing was issued:`,
      '  line 3: initial_value must be greater than 0',
      '  line 3: recipient_email must be one valid email address',
      '  line 4: must have 2 cells, and has 1',
      '',
    ].join('\n'),
  );
  const right = write(home, 'right.csv', 'initial_value;note\n25,00;a\n1;b\n');
  const differs = await home.run(['card', 'import', right, '--expect-count', '3', '--expect-total', '26']);
  assert.deepEqual(
    [differs.code, differs.errors],
    [1, 'largesse: --expect-count must be 2, the number of gift cards: nothing was issued\n'],
  );
  assert.equal(await count(home), 0);
  const piped = await home.run(['card', 'import', right]);
  assert.match(piped.output, /^id,code,initial_value,[^\n]+\r\n\d+,[0-9a-z]{16},25\.00,EUR,,,,a\r\n/);
  const taken = await home.run([
    'card',
    'import',
    write(home, 'taken.csv', `initial_value,code\n1,\n1,${piped.output.split(',')[8] ?? ''}\n`),
  ]);
  assert.match(taken.errors, /line 3: code is taken/);
});
