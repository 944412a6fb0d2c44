/** Codes as people, keyboards and scanners give them, in requests of the API. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example' },
    { domain: 'few.example', lookupFailuresPerHour: 2 },
    { domain: 'printed.example', stockRequired: 'yes' },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const lookup = 'POST /gift_card/lookup';
const create = 'POST /gift_card';
const disabled = { events: ['gift_card.disabled disabled_at'] };

async function idOf(code: string): Promise<number> {
  const { id } = await shop.lookUp(code);
  assert.equal(typeof id, 'number');
  return id;
}

/** The text of a scanner for a US keyboard, on a German and on a French one. */
function german(text: string): string {
  return text.replaceAll(/[yz]/gi, (key) => ({ y: 'z', z: 'y', Y: 'Z', Z: 'Y' })[key] ?? key);
}

function french(text: string): string {
  const [pressed, typed] = ['1234567890aqwzm:/#.-', '&é"\'(-è_çàqazw,M!3:)'];
  return Array.from(text, (key) => typed[pressed.indexOf(key)] ?? key).join('');
}

type Stock = { readonly id: number; readonly state: string; readonly sold: number; readonly voided: number };

async function read(from: Shop, id: number): Promise<Stock> {
  const { json } = await from.ask(`GET /stocks/${id}`);
  return (json as { readonly stock: Stock }).stock;
}

async function stockOf(codes: readonly string[], from = shop): Promise<number> {
  const { status, text, json } = await from.ask('POST /stocks', { json: { codes } });
  assert.equal(status, 202, text);
  const { id } = (json as { readonly stock: Stock }).stock;
  await until(async () => (await read(from, id)).state === 'complete');
  return id;
}

test('a code is found as people and scanners give it, and on keyboards of other countries', async () => {
  const code = 'qmwz-7030-ayxk-9m2z';
  const { id } = await shop.issue({ code });
  for (const given of [
    code.toUpperCase(),
    'QMWZ 7O3O AYXK 9M2Z',
    code.replaceAll('-', '\u00a0'),
    code.replaceAll('-', '–'),
    code.replaceAll('-', '.'),
    `\u200b${code}\t`,
    `*${code.toUpperCase()}*`,
    `]C1${code}`,
    `%B${code}^ADA^1?`,
    `;${code}=99?`,
    `Code: ${code}`,
    `"${code}",`,
    `https://cards.example/b/flowers.example/card#${code}`,
    german(code),
    french(code.replaceAll('-', '')),
    french(code),
  ])
    assert.equal(await idOf(given), id, given);
});

test('a redemption takes a code as it is given, and the response names the card', async () => {
  const { id, last_characters: last } = await shop.issue({ code: 'spring-2031-0y01' });
  // Readings are not combined: O for 0, and the keys of a German keyboard.
  const both = german('spring2o31oyo1');
  await shop.rejects(
    'POST /gift_card/redeem',
    { json: { code: both, amount: '1.00' } },
    { code: 'not-found' },
  );
  const { response } = await shop.does(
    'POST /gift_card/redeem',
    { json: { code: german('spring20310y01'), amount: '1.00' } },
    { status: 201, events: ['gift_card.redeemed'] },
  );
  const { gift_card: card } = response.json as { readonly gift_card: Readonly<Record<string, unknown>> };
  assert.deepEqual([card['id'], card['last_characters']], [id, last]);
});

test('digits have a leading zero more or less', async () => {
  const { id } = await shop.issue({ code: '412345678903' });
  assert.equal(await idOf('0412345678903'), id);
  const other = await shop.issue({ code: '0071828459045' });
  assert.equal(await idOf('71828459045'.padStart(12, '0')), other.id);
});

test('a code that is given exactly is that of no other card', async () => {
  const [o, zero] = [
    await shop.issue({ code: 'lookalike-o1o1' }),
    await shop.issue({ code: '100ka11ke-0101' }),
  ];
  assert.equal(await idOf('LOOKALIKE-O1O1'), o.id);
  assert.equal(await idOf('100KA11KE-0101'), zero.id);
  const [y, z] = [await shop.issue({ code: 'keys-yyyy-1230' }), await shop.issue({ code: 'keys-zzzz-1230' })];
  assert.equal(await idOf('kezs-zzzz-1230'.replace('kezs', 'keys')), z.id);
  assert.equal(await idOf('keys-yyyy-1230'), y.id);
  // A disabled card still has its code.
  await shop.accepts(`PUT /gift_card/${zero.id}`, { json: { disable: true } }, disabled);
  assert.equal((await shop.lookUp('100ka11ke-0101')).state, 'disabled');
});

test('a wrong code with many readings costs one failed lookup, and a text without a code none', async () => {
  const few = await shopOf(service, 'few.example');
  const wrong = { json: { code: 'zyxo-1111-aqwm' } };
  await few.rejects(lookup, { json: { code: '••••' } }, { code: 'invalid-parameter' });
  await few.returnsError(lookup, wrong, { code: 'not-found' });
  await few.returnsError(lookup, wrong, { code: 'not-found' });
  await few.returnsError(lookup, wrong, { code: 'too-many-misses' });
});

test('a printed card is activated in any reading where a stock is required', async () => {
  const stockId = await stockOf(['pract-0000-az7k', 'pract-0001-az7k', 'pract-0002-az7k', 'pract-0003-az7k']);
  const sold = { initial_value: '20.00', stock: 'required' };
  for (const code of [
    'PRACT-OOOO-AZ7K',
    german('pract-0001-az7k'),
    'https://c.example/b/card#PRACT0002AZ7K',
  ]) {
    const { json, status, text } = await shop.ask(create, { json: { ...sold, code } });
    assert.equal(status, 201, text);
    const { gift_card: card } = json as { readonly gift_card: Readonly<Record<string, unknown>> };
    assert.match(String(card['code']), /^pract000\daz7k$/, 'the response names the code as it is stored');
  }
  assert.equal((await read(shop, stockId)).sold, 3);
  const errors = { code: ['is not in stock'] };
  await shop.rejects(
    create,
    { json: { ...sold, code: 'pract-0009-az7k' } },
    { code: 'invalid-parameter', errors },
  );
  // Without `stock`, the code can be that of a new card, which must not be one that is read as printed.
  const reading = { code: ['can be read as that of a printed card, which is another one'] };
  for (const code of ['pract-ooo3-az7k', 'pract-0000-ay7k', german('pract-0003-az7k')])
    await shop.rejects(
      create,
      { json: { initial_value: '20.00', code } },
      { code: 'invalid-parameter', errors: reading },
    );
  await shop.ask(create, { json: { initial_value: '20.00', code: 'pract-0003-az7k' } });
  assert.equal((await read(shop, stockId)).sold, 4);
});

test('codes in stock are voided as they are given', async () => {
  const id = await stockOf(['vacant-0000-az7k', 'vacant-0001-az7k', 'vacant-0002-az7k']);
  const codes = ['VACANT–OOOO–AZ7K', german('vacant-0001-az7k')];
  const { status, text } = await shop.ask(`POST /stocks/${id}/void`, { json: { codes } });
  assert.equal(status, 200, text);
  assert.equal((await read(shop, id)).voided, 2);
});

test('a new code is not a link, masked or trivial, and not read as a printed one', async () => {
  await stockOf(['uptake-00zz']);
  const errors = {
    'https://cards.example/b/card#AB12CD34': 'must be a code, not a link',
    'xxxx-xxxx-xxxx-9012': 'is masked: the file or request does not have the codes, only parts of them',
    '••••9012': 'is masked: the file or request does not have the codes, only parts of them',
    '12345678': 'is too easy to guess: it is a run of symbols',
    '1111 1111': 'is too easy to guess: it is one symbol repeated',
    '12121212': 'must have at least 4 different letters or digits',
    'uptake-ooyy': undefined,
    'uptake-oozz': 'can be read as that of a printed card, which is another one',
    '1234567': 'must have 8 to 20 letters or digits',
  };
  for (const [code, error] of Object.entries(errors)) {
    const sent = [
      ['POST /gift_card', { initial_value: '5.00', code }, 'code'],
      ['POST /batches', { cards: [{ initial_value: '5.00', code }] }, 'cards[0].code'],
      ['POST /stocks', { codes: [code] }, 'codes[0]'],
    ] as const;
    for (const [line, json, name] of sent) {
      const query = `${line}?dry_run=true`;
      if (error === undefined) assert.ok((await shop.ask(query, { json })).status < 300, `${query} ${code}`);
      else await shop.rejects(query, { json }, { code: 'invalid-parameter', errors: { [name]: [error] } });
    }
  }
});

test('the last characters of a search have readings, of which the exact one comes first', async () => {
  const email = 'readings@example.com';
  const search = async (last: string): Promise<number> => {
    const query = new URLSearchParams({ last_characters: last, email }).toString();
    return (await shop.accepts(`GET /gift_card?${query}`)).card.id;
  };
  const printed = await shop.issue({ code: 'searches-0y41', email });
  assert.equal(await search('OY41'), printed.id);
  assert.equal(await search('0Z41'), printed.id);
  assert.equal(await search(french('0y41')), printed.id);
  const exact = await shop.issue({ code: 'searches-oy41', email });
  await shop.accepts(`PUT /gift_card/${exact.id}`, { json: { disable: true } }, disabled);
  assert.equal(await search('OY41'), exact.id, 'a disabled card that matches as given comes first');
});

test('a store can require that a code of a new card is in stock', async () => {
  const printed = await shopOf(service, 'printed.example');
  await stockOf(['pract-0000-az7k'], printed);
  const errors = { code: ['is not in stock'] };
  const unknown = { initial_value: '20.00', code: 'pract-0009-az7k' };
  await printed.rejects(create, { json: unknown }, { code: 'invalid-parameter', errors });
  await printed.rejects(create, { json: { ...unknown, note: 5 } }, { code: 'invalid-parameter' });
  const batch = { cards: [{ initial_value: '5.00' }, unknown] };
  await printed.rejects(
    'POST /batches',
    { json: batch },
    { code: 'invalid-parameter', errors: { 'cards[1].code': ['is not in stock'] } },
  );
  assert.equal((await printed.ask(create, { json: { initial_value: '20.00' } })).status, 201);
  const sold = { initial_value: '20.00', code: 'PRACT OOOO AZ7K' };
  assert.equal((await printed.ask(create, { json: sold })).status, 201);
});

test('a store’s tills ask from its first stock on', async () => {
  const required = async (domain: string) => {
    const sql = 'select stock_asked, stock_required from stores where domain = ?';
    return (await service.query(sql, domain)).map((row) => Object.values(row).map(Number));
  };
  assert.deepEqual(await required('few.example'), [[0, 0]]);
  const few = await shopOf(service, 'few.example');
  await stockOf(['pract-0000-az7k'], few);
  assert.deepEqual(await required('few.example'), [[1, 0]]);
});
