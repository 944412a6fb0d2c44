/** `POST /gift_card`: valid and invalid values of every parameter. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import fc from 'fast-check';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { countTransfers, eventsAfter, form, shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [
    { domain: 'usd.example' },
    { domain: 'jpy.example', currency: 'JPY' },
    { domain: 'kwd.example', currency: 'KWD' },
    { domain: 'clf.example', currency: 'CLF' },
    {
      domain: 'limited.example',
      currency: 'EUR',
      issueLimit: { minor: 50_000n, currency: currencyOf('EUR') },
    },
    { domain: 'kiritimati.example', timeZone: 'Pacific/Kiritimati' },
    { domain: 'pago-pago.example', timeZone: 'Pacific/Pago_Pago' },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'usd.example');
const yen = await shopOf(service, 'jpy.example');
const dinar = await shopOf(service, 'kwd.example');
const unidad = await shopOf(service, 'clf.example');
const limited = await shopOf(service, 'limited.example');

const post = 'POST /gift_card';
const day = (instant: number, timeZone = 'UTC'): string =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate().toString();
const days = (count: number): string => day(service.clock.now() + count * 86_400_000);

let made = 0;
const newAddress = (): string => `customer-${(made += 1)}@example.com`;

test('initial_value is the only required parameter; every other field of the record is null', async () => {
  const before = Math.floor(service.clock.now() / 1_000) * 1_000;
  const { card, response } = await shop.creates({ json: { initial_value: 25 } });
  const apiClient = await service.query('select api_client_id from access_tokens where store_id = (select id from stores where domain = ?)', 'usd.example'); // prettier-ignore
  const { id, created_at, last_characters, code, ...rest } = card;
  assert.deepEqual(rest, {
    balance: '25.00',
    currency: 'USD',
    initial_value: '25.00',
    disabled_at: null,
    line_item_id: null,
    api_client_id: apiClient[0]?.['api_client_id'],
    user_id: null,
    customer_id: null,
    customer_email: null,
    recipient_id: null,
    recipient_email: null,
    note: null,
    expires_on: null,
    message: null,
    order_id: null,
  });
  assert.ok(id < 2 ** 53);
  assert.equal(last_characters, code.slice(-4));
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.ok(Date.parse(created_at) >= before && Date.parse(created_at) <= service.clock.now());
  assert.match(response.text, /^\{"gift_card":\{"id":\d+,"balance":"25\.00",.*"code":"[0-9a-z]{16}"\}\}$/);
});

test('a creation stores all its parameters and returns the same record as a retrieval', async () => {
  const { card, response } = await shop.creates(
    {
      json: {
        initial_value: '15.5',
        expires_on: days(30),
        email: 'Ada@Example.com',
        recipient_email: 'grace@example.com',
        note: 'Sold at the counter\n\tby ☃',
        message: 'Happy birthday! 🎁',
      },
    },
    { events: ['customer.created', 'customer.created', 'gift_card.created'] },
  );
  assert.equal(card.initial_value, '15.50');
  assert.equal(card.balance, '15.50');
  assert.equal(card.expires_on, days(30));
  assert.equal(card.customer_email, 'Ada@Example.com');
  assert.equal(card.recipient_email, 'grace@example.com');
  assert.notEqual(card.customer_id, card.recipient_id);
  assert.equal(card.note, 'Sold at the counter\n\tby ☃');
  assert.equal(card.message, 'Happy birthday! 🎁');
  const { code: _, ...record } = card;
  const { card: read, response: reading } = await shop.accepts(`GET /gift_card/${card.id}`);
  assert.deepEqual(read, record);
  assert.equal(reading.headers.get('etag'), response.headers.get('etag'));
});

test('a creation without initial_value is rejected', async (t) => {
  for (const json of [{}, { note: 'x' }, { initial_value: null }, { gift_card: {} }]) {
    await t.test(JSON.stringify(json), () =>
      shop.rejects(post, { json }, { code: 'invalid-parameter', errors: { initial_value: ['is required'] } }),
    );
  }
  await t.test('no body at all', () =>
    shop.rejects(post, {}, { code: 'invalid-parameter', errors: { initial_value: ['is required'] } }),
  );
  await t.test('an empty value in a form is null', () =>
    shop.rejects(post, form({ initial_value: '' }), {
      code: 'invalid-parameter',
      errors: { initial_value: ['is required'] },
    }),
  );
});

test('initial_value accepts JSON numbers by value and plain decimal strings', async (t) => {
  const taken: readonly (readonly [json: string, decimal: string])[] = [
    ['25', '25.00'],
    ['25.0', '25.00'],
    ['25.000', '25.00'],
    ['0.1', '0.10'],
    ['0.01', '0.01'],
    ['4.05', '4.05'],
    ['1e2', '100.00'],
    ['2.5e1', '25.00'],
    ['1E+2', '100.00'],
    ['150e-1', '15.00'],
    ['8.10', '8.10'],
    ['1.15', '1.15'],
    ['999999999999', '999999999999.00'],
    ['999999999999.99', '999999999999.99'],
    ['"15"', '15.00'],
    ['"15.0"', '15.00'],
    ['"15.00"', '15.00'],
    ['"4.0"', '4.00'],
    ['"0.01"', '0.01'],
    ['"999999999999.99"', '999999999999.99'],
  ];
  for (const [json, decimal] of taken) {
    await t.test(`${json} is ${decimal}`, async () => {
      const { card } = await shop.creates({
        body: `{"initial_value":${json}}`,
        headers: { 'content-type': 'application/json' },
      });
      assert.equal(card.initial_value, decimal);
      assert.equal(card.balance, decimal);
    });
  }
});

const notPositive = 'must be greater than 0';
const notDecimal = 'must be a decimal number such as "15.00"';
const tooManyDecimals = 'must have at most 2 decimals, as USD has';
const tooLong = 'must have at most 12 digits before the point';
const inexact = 'is a number that cannot be represented exactly; send it as a string';

test('initial_value rejects every other value, and no value is rounded', async (t) => {
  const rejected: readonly (readonly [json: string, message: string])[] = [
    ['0', notPositive],
    ['-0', notPositive],
    ['0.00', notPositive],
    ['-5', notPositive],
    ['-0.01', notPositive],
    ['"0"', notPositive],
    ['"0.00"', notPositive],
    ['4.005', tooManyDecimals],
    ['0.001', tooManyDecimals],
    ['1e-7', tooManyDecimals],
    ['1.005', tooManyDecimals],
    ['"4.005"', tooManyDecimals],
    ['"4.000"', tooManyDecimals],
    ['1000000000000', tooLong],
    ['1e12', tooLong],
    ['1e21', tooLong],
    ['"1000000000000"', tooLong],
    ['"1000000000000.00"', tooLong],
    ['9007199254740993', inexact],
    ['25.000000000000001', inexact],
    ['1e400', inexact],
    ['0.1000000000000000055511151231257827', inexact],
    ['"1e3"', notDecimal],
    ['"+5"', notDecimal],
    ['"-5"', notDecimal],
    ['" 5"', notDecimal],
    ['"5 "', notDecimal],
    ['"1,00"', notDecimal],
    ['"1 000"', notDecimal],
    ['"0x10"', notDecimal],
    ['"NaN"', notDecimal],
    ['"Infinity"', notDecimal],
    ['".5"', notDecimal],
    ['"5."', notDecimal],
    ['"05"', notDecimal],
    ['"00"', notDecimal],
    ['"5.0.0"', notDecimal],
    ['"5\\n"', notDecimal],
    ['"٥"', notDecimal],
    ['"５"', notDecimal],
    ['"$5"', notDecimal],
    ['""', notDecimal],
    ['true', notDecimal],
    ['[25]', notDecimal],
    ['{"amount": 25}', notDecimal],
  ];
  for (const [json, message] of rejected) {
    await t.test(json, () =>
      shop.rejects(
        post,
        { body: `{"initial_value":${json}}`, headers: { 'content-type': 'application/json' } },
        { code: 'invalid-parameter', errors: { initial_value: [message] } },
      ),
    );
  }
});

test('every amount of the currency is returned as it was sent, as a number and as a string', async () => {
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: 1n, max: 10n ** 14n - 1n }), fc.boolean(), async (minor, quoted) => {
      const text = `${minor / 100n}.${String(minor % 100n).padStart(2, '0')}`;
      const { card } = await shop.creates({
        body: `{"initial_value":${quoted ? `"${text}"` : text}}`,
        headers: { 'content-type': 'application/json' },
      });
      assert.equal(card.initial_value, text);
    }),
    { numRuns: 30 },
  );
});

test('amounts have exactly the decimals of the store’s currency', async (t) => {
  const taken = [
    { of: yen, sent: 15, decimal: '15', currency: 'JPY' },
    { of: yen, sent: '15', decimal: '15', currency: 'JPY' },
    { of: yen, sent: '999999999999', decimal: '999999999999', currency: 'JPY' },
    { of: dinar, sent: 15, decimal: '15.000', currency: 'KWD' },
    { of: dinar, sent: '0.001', decimal: '0.001', currency: 'KWD' },
    { of: dinar, sent: 999_999_999_999.999, decimal: '999999999999.999', currency: 'KWD' },
    { of: unidad, sent: '15', decimal: '15.0000', currency: 'CLF' },
    { of: unidad, sent: 0.0001, decimal: '0.0001', currency: 'CLF' },
    { of: unidad, sent: '999999999999.9999', decimal: '999999999999.9999', currency: 'CLF' },
  ];
  for (const { of, sent, decimal, currency } of taken) {
    await t.test(`${JSON.stringify(sent)} in ${currency}`, async () => {
      const { card } = await of.creates({ json: { initial_value: sent } });
      assert.equal(card.initial_value, decimal);
      assert.equal(card.balance, decimal);
      assert.equal(card.currency, currency);
      assert.equal((await of.read(card.id)).balance, decimal);
    });
  }
  const rejected = [
    { of: yen, sent: '15.0', message: 'must be a whole number: JPY has no decimals' },
    { of: yen, sent: 15.5, message: 'must be a whole number: JPY has no decimals' },
    { of: dinar, sent: '0.0001', message: 'must have at most 3 decimals, as KWD has' },
    { of: unidad, sent: '0.00001', message: 'must have at most 4 decimals, as CLF has' },
  ];
  for (const { of, sent, message } of rejected) {
    await t.test(`${JSON.stringify(sent)} is rejected by ${of.domain}`, () =>
      of.rejects(
        post,
        { json: { initial_value: sent } },
        { code: 'invalid-parameter', errors: { initial_value: [message] } },
      ),
    );
  }
});

test('the issue limit of a store is the maximum value of a card', async () => {
  const { card } = await limited.creates({ json: { initial_value: '500.00' } });
  assert.equal(card.initial_value, '500.00');
  for (const initial_value of ['500.01', 1_000_000]) {
    await limited.rejects(
      post,
      { json: { initial_value } },
      {
        code: 'invalid-parameter',
        errors: { initial_value: ["must be at most 500.00, the store's limit"] },
      },
    );
  }
});

test('currency can be null or the currency of the store', async () => {
  for (const currency of [null, 'USD']) {
    const { card } = await shop.creates({ json: { initial_value: 5, currency } });
    assert.equal(card.currency, 'USD');
  }
  const notACurrency = 'must be an ISO 4217 currency code in upper case: USD, the store’s currency';
  for (const [currency, message] of [
    ['EUR', 'must be USD, the store’s currency'],
    ['usd', notACurrency],
    ['ABC', notACurrency],
    ['', notACurrency],
    [840, notACurrency],
    [['USD'], notACurrency],
  ] as const) {
    await shop.rejects(
      post,
      { json: { initial_value: 5, currency } },
      { code: 'invalid-parameter', errors: { currency: [message] } },
    );
  }
});

test('an email is stored in NFC, to give the cards of one customer the same email', async () => {
  const { card } = await shop.creates(
    {
      json: {
        initial_value: 5,
        email: '\u212aevin.nfc@example.org',
        recipient_email: 'ju\u0308rgen@example.org',
      },
    },
    { events: ['customer.created', 'customer.created', 'gift_card.created'] },
  );
  assert.equal(card.customer_email, 'Kevin.nfc@example.org');
  assert.equal(card.recipient_email, 'j\u00fcrgen@example.org');
  const { card: second } = await shop.creates({ json: { initial_value: 5, email: 'kevin.nfc@example.org' } });
  assert.equal(second.customer_id, card.customer_id);
  for (const symbol of ['\u200d', '\u202e', '\u00a0', '\u3164']) {
    await shop.rejects(
      post,
      { json: { initial_value: 5, email: `ke${symbol}vin@example.org` } },
      {
        code: 'invalid-parameter',
        errors: { email: ['must not contain spaces, invisible or bidirectional characters'] },
      },
    );
  }
});

test('expires_on is null, today or later in the time zone of the store', async (t) => {
  for (const expires_on of [days(0), days(1), '9999-12-31', '9996-02-29', null]) {
    await t.test(`${expires_on} is accepted`, async () => {
      const { card } = await shop.creates({ json: { initial_value: 5, expires_on } });
      assert.equal(card.expires_on, expires_on);
    });
  }
  const dateForm = 'must be a date in the form YYYY-MM-DD';
  const rejected: readonly (readonly [unknown, string])[] = [
    [days(-1), 'must be today or later'],
    ['2020-01-01', 'must be today or later'],
    ['2031-02-29', 'must be a day that exists'],
    ['2031-02-30', 'must be a day that exists'],
    ['2031-13-01', 'must be a day that exists'],
    ['2031-00-10', 'must be a day that exists'],
    ['2031-01-00', 'must be a day that exists'],
    ['2031-1-1', dateForm],
    ['31-01-01', dateForm],
    ['20310101', dateForm],
    ['2031-01-01T00:00:00Z', dateForm],
    ['2031-01-01 ', dateForm],
    ['+002031-01-01', dateForm],
    ['2031/01/01', dateForm],
    ['tomorrow', dateForm],
    ['', dateForm],
    [20310101, dateForm],
    [true, dateForm],
    [['2031-01-01'], dateForm],
    [{ date: '2031-01-01' }, dateForm],
  ];
  for (const [expires_on, message] of rejected) {
    await t.test(`${JSON.stringify(expires_on)} is rejected`, () =>
      shop.rejects(
        post,
        { json: { initial_value: 5, expires_on } },
        { code: 'invalid-parameter', errors: { expires_on: [message] } },
      ),
    );
  }
  await t.test('an empty value in a form is null', async () => {
    const { card } = await shop.creates(form({ initial_value: '5', expires_on: '' }));
    assert.equal(card.expires_on, null);
  });
});

test('days follow the time zone of the store: they start 25 hours earlier at UTC+14 than at UTC-11', async () => {
  const east = await shopOf(service, 'kiritimati.example');
  const west = await shopOf(service, 'pago-pago.example');
  const now = service.clock.now();
  const [eastToday, westToday] = [day(now, 'Pacific/Kiritimati'), day(now, 'Pacific/Pago_Pago')];
  assert.ok(westToday < eastToday);
  assert.equal((await east.issue({ expires_on: eastToday })).expires_on, eastToday);
  assert.equal((await west.issue({ expires_on: westToday })).expires_on, westToday);
  const past = { code: 'invalid-parameter', errors: { expires_on: ['must be today or later'] } } as const;
  await east.rejects(post, { json: { initial_value: 5, expires_on: westToday } }, past);
  const dayBefore = (text: string): string => Temporal.PlainDate.from(text).subtract({ days: 1 }).toString();
  await west.rejects(post, { json: { initial_value: 5, expires_on: dayBefore(westToday) } }, past);
});

test('email and recipient_email create one customer for each address, in any spelling', async (t) => {
  const address = newAddress();
  const first = await shop.creates(
    { json: { initial_value: 5, email: address } },
    { events: ['customer.created', 'gift_card.created'] },
  );
  assert.equal(first.card.customer_email, address);
  assert.equal(first.card.recipient_id, null);
  assert.equal(first.card.recipient_email, null);

  await t.test('a known address returns the same customer unchanged, without an event', async () => {
    const { card } = await shop.creates({
      json: { initial_value: 5, email: ` ${address.toUpperCase()}\t`, recipient_email: address },
    });
    assert.equal(card.customer_id, first.card.customer_id);
    assert.equal(card.recipient_id, first.card.customer_id);
    assert.equal(card.customer_email, address);
    assert.equal(card.recipient_email, address);
  });
  await t.test('the same new address in both parameters creates one customer', async () => {
    const both = newAddress();
    const { card } = await shop.creates(
      { json: { initial_value: 5, email: both, recipient_email: both.toUpperCase() } },
      { events: ['customer.created', 'gift_card.created'] },
    );
    assert.equal(card.customer_id, card.recipient_id);
    assert.equal(card.recipient_email, both);
  });
  await t.test('surrounding space is not part of an email', async () => {
    const spaced = newAddress();
    const { card } = await shop.creates(
      { json: { initial_value: 5, recipient_email: `  ${spaced} ` } },
      { events: ['customer.created', 'gift_card.created'] },
    );
    assert.equal(card.recipient_email, spaced);
    assert.equal(card.customer_id, null);
  });
  await t.test('the same address in another store is another customer', async () => {
    const { card } = await yen.creates(
      { json: { initial_value: 5, email: address } },
      { events: ['customer.created', 'gift_card.created'] },
    );
    assert.notEqual(card.customer_id, first.card.customer_id);
  });
  await t.test('null creates no customer', async () => {
    const { card } = await shop.creates({ json: { initial_value: 5, email: null, recipient_email: null } });
    assert.deepEqual([card.customer_id, card.recipient_id], [null, null]);
  });
  await t.test('a rejected creation creates no customer', async () => {
    const never = newAddress();
    const errors = { initial_value: [notPositive] };
    await shop.rejects(
      post,
      { json: { initial_value: 0, email: never } },
      { code: 'invalid-parameter', errors },
    );
    assert.deepEqual(await service.query('select id from customers where email = ?', never), []);
  });
});

test('concurrent requests with one address create one customer', async () => {
  const address = newAddress();
  const cards = await Promise.all(
    Array.from({ length: 24 }, (_, index) => {
      const spelled = index % 2 === 0 ? address : address.toUpperCase();
      return shop.issue(index % 3 === 0 ? { recipient_email: spelled } : { email: spelled });
    }),
  );
  assert.equal(new Set(cards.map((card) => card.customer_id ?? card.recipient_id)).size, 1);
  const customers = await service.query('select id from customers where email_key = ?', address);
  assert.equal(customers.length, 1);
  const events = await service.query(
    "select id from events where type = 'customer.created' and subject_id = ?",
    Number(customers[0]?.['id']),
  );
  assert.equal(events.length, 1);
});

test('an email is one valid address of at most 254 characters', async (t) => {
  const labels = (length: number): string => `${'a'.repeat(60)}.`.repeat(5).slice(0, length - 4);
  const longest = `${'x'.repeat(64)}@${labels(254 - 65)}.com`;
  assert.equal(longest.length, 254);
  for (const email of [longest, 'a+b@example.com', "o'neil@example.co.uk", 'jürgen@example.com']) {
    await t.test(`${email.slice(0, 30)} is accepted`, async () => {
      const { card } = await shop.creates(
        { json: { initial_value: 5, email } },
        { events: ['customer.created', 'gift_card.created'] },
      );
      assert.equal(card.customer_email, email);
    });
  }
  const invalid = 'must be one valid email address';
  const rejected: readonly (readonly [unknown, string])[] = [
    ['', invalid],
    ['ada', invalid],
    ['@example.com', invalid],
    ['ada@', invalid],
    ['ada@example', invalid],
    ['ada@@example.com', invalid],
    ['ada@example.com, grace@example.com', invalid],
    ['ada@example.com;grace@example.com', invalid],
    ['Ada <ada@example.com>', invalid],
    ['ada@exa mple.com', invalid],
    ['ada@example.com\nbcc: x@example.com', invalid],
    ['ada\u0000@example.com', invalid],
    ['\ud800@example.com', invalid],
    [`x${longest}`, 'must have at most 254 characters'],
    [5, 'must be an email address'],
    [true, 'must be an email address'],
    [['ada@example.com'], 'must be an email address'],
    [{ address: 'ada@example.com' }, 'must be an email address'],
  ];
  for (const name of ['email', 'recipient_email']) {
    for (const [value, message] of rejected) {
      await t.test(`${name} ${JSON.stringify(value).slice(0, 40)} is rejected`, () =>
        shop.rejects(
          post,
          { json: { initial_value: 5, [name]: value } },
          { code: 'invalid-parameter', errors: { [name]: [message] } },
        ),
      );
    }
  }
});

test('note and message accept up to 5,000 characters of valid Unicode', async (t) => {
  for (const name of ['note', 'message'] as const) {
    for (const value of ['x'.repeat(5_000), '🎁'.repeat(5_000), 'a\nb\tc', '\u00a0\u200d\u202e', ' x ']) {
      await t.test(
        `${name} ${JSON.stringify(value.slice(0, 10))} (${value.length}) is stored unchanged`,
        async () => {
          const { card } = await shop.creates({ json: { initial_value: 5, [name]: value } });
          assert.equal(card[name], value);
          assert.equal((await shop.read(card.id))[name], value);
        },
      );
    }
    for (const value of ['', null]) {
      await t.test(`${name} ${JSON.stringify(value)} is null`, async () => {
        const { card } = await shop.creates({ json: { initial_value: 5, [name]: value } });
        assert.equal(card[name], null);
      });
    }
    const control = 'must not contain control characters other than newline and tab';
    const rejected: readonly (readonly [string, string])[] = [
      [JSON.stringify('x'.repeat(5_001)), 'must have at most 5,000 characters'],
      [JSON.stringify('🎁'.repeat(5_001)), 'must have at most 5,000 characters'],
      ['"a\\u0000b"', control],
      ['"a\\rb"', control],
      ['"a\\u001bb"', control],
      ['"a\\u007fb"', control],
      ['"a\\u0085b"', control],
      ['"\\ud83c"', 'must be valid Unicode'],
      ['5', 'must be a string'],
      ['true', 'must be a string'],
      ['["x"]', 'must be a string'],
      ['{"text":"x"}', 'must be a string'],
    ];
    for (const [json, message] of rejected) {
      await t.test(`${name} ${json.slice(0, 20)} is rejected`, () =>
        shop.rejects(
          post,
          {
            body: `{"initial_value":5,"${name}":${json}}`,
            headers: { 'content-type': 'application/json' },
          },
          { code: 'invalid-parameter', errors: { [name]: [message] } },
        ),
      );
    }
  }
});

test('without a code, the service generates 16 random unique characters without look-alikes', async () => {
  const codes = new Set<string>();
  const symbols = new Set<string>();
  for (let count = 0; count < 60; count += 1) {
    const { code } = await shop.issue(count === 0 ? { code: null } : {});
    assert.match(code, /^[0-9a-z]{16}$/);
    codes.add(code);
    for (const symbol of code) symbols.add(symbol);
  }
  assert.equal(codes.size, 60);
  for (const lookAlike of ['i', 'l', 'o', 'u']) assert.ok(!symbols.has(lookAlike), lookAlike);
  assert.ok(symbols.size > 28, `only ${symbols.size} symbols occur`);
});

test('a custom code has 8 to 20 letters or digits; other characters and case do not count', async (t) => {
  const taken: readonly (readonly [string, string])[] = [
    ['SPRING-2031 0001', 'spring20310001'],
    ['abcd1234', 'abcd1234'],
    ['  -A-b-C-d 9999 0001- ', 'abcd99990001'],
    ['OIL-ULO-01', 'oilulo01'],
    ['12345678901234567890', '12345678901234567890'],
    ['efgh_1234', 'efgh1234'],
    ['efgh\t1235', 'efgh1235'],
    ['efgh１２３６', 'efgh1236'],
    ['efgh123\u212a', 'efgh123k'],
  ];
  for (const [code, canonical] of taken) {
    await t.test(`${code} is accepted`, async () => {
      const { card } = await shop.creates({ json: { initial_value: 5, code } });
      assert.equal(card.code, canonical);
      assert.equal(card.last_characters, canonical.slice(-4));
    });
  }
  const length = 'must have 8 to 20 letters or digits';
  const rejected: readonly (readonly [unknown, string])[] = [
    ['abc4567', length],
    ['a-b-c-4-5-6-7', length],
    ['123456789012345678901', length],
    ['', length],
    [' - ', length],
    ['abcdé234', length],
    ['abcd•••• 1234', 'is masked: the file or request does not have the codes, only parts of them'],
    ['1111 1111', 'is too easy to guess: it is one symbol repeated'],
    ['23456789', 'is too easy to guess: it is a run of symbols'],
    ['10000001', 'must have at least 4 different letters or digits'],
    [12_345_678, 'must be a string of 8 to 20 letters or digits'],
    [true, 'must be a string of 8 to 20 letters or digits'],
    [['abcd1234'], 'must be a string of 8 to 20 letters or digits'],
  ];
  for (const [code, message] of rejected) {
    await t.test(`${JSON.stringify(code)} is rejected`, () =>
      shop.rejects(
        post,
        { json: { initial_value: 5, code } },
        { code: 'invalid-parameter', errors: { code: [message] } },
      ),
    );
  }
});

test('a code cannot be used again in a store, even after its replacement; another store can use it', async () => {
  const taken = { code: 'invalid-parameter', errors: { code: ['is taken'] } } as const;
  const { id } = await shop.issue({ code: 'Once-Only-1' });
  for (const code of ['onceonly1', 'ONCE ONLY 1']) {
    await shop.rejects(post, { json: { initial_value: 5, code } }, taken);
  }
  await shop.accepts(
    `PUT /gift_card/${id}`,
    { json: { disable: true } },
    { events: ['gift_card.disabled disabled_at'] },
  );
  await shop.rejects(post, { json: { initial_value: 5, code: 'onceonly1' } }, taken);
  const generated = await shop.issue();
  await shop.rejects(post, { json: { initial_value: 5, code: generated.code.toUpperCase() } }, taken);
  const { card } = await yen.creates({ json: { initial_value: 5, code: 'onceonly1' } });
  assert.equal(card.code, 'onceonly1');
  const never = newAddress();
  await shop.rejects(post, { json: { initial_value: 5, code: 'onceonly1', email: never } }, taken);
  assert.deepEqual(await service.query('select id from customers where email = ?', never), []);
});

test('an unknown parameter is rejected by name, and no other parameter is applied', async (t) => {
  const names = ['expires_at', 'Initial_value', 'initialValue', 'disable', 'value', '__proto__', 'constructor', 'toString', '']; // prettier-ignore
  for (const name of names) {
    await t.test(JSON.stringify(name), () =>
      shop.rejects(
        post,
        {
          body: `{"initial_value":5,"email":"unused@example.com",${JSON.stringify(name)}:null}`,
          headers: { 'content-type': 'application/json' },
        },
        {
          code: 'invalid-parameter',
          errors: Object.fromEntries([[name, ['is not a known parameter']]]),
        },
      ),
    );
  }
  assert.deepEqual(await service.query("select id from customers where email = 'unused@example.com'"), []);
});

test('a field of the record that a creation cannot set must be null', async (t) => {
  const fields = [
    'id', 'balance', 'created_at', 'disabled_at', 'line_item_id', 'api_client_id', 'user_id', 'customer_id',
    'customer_email', 'recipient_id', 'last_characters', 'order_id',
  ]; // prettier-ignore
  await t.test('all of them are null', async () => {
    await shop.creates({
      json: { initial_value: 5, ...Object.fromEntries(fields.map((field) => [field, null])) },
    });
  });
  for (const field of fields) {
    for (const value of [1, '1', false]) {
      await t.test(`${field}: ${JSON.stringify(value)}`, () =>
        shop.rejects(
          post,
          { json: { initial_value: 5, [field]: value } },
          { code: 'invalid-parameter', errors: { [field]: ['cannot be set'] } },
        ),
      );
    }
  }
});

test('a creation returns all errors together, including a taken code', async () => {
  const { code } = await shop.issue();
  await shop.rejects(
    post,
    {
      json: {
        initial_value: '1e3',
        expires_on: '2020-01-01',
        email: 'ada',
        recipient_email: 5,
        note: 5,
        message: 'a\u0000',
        code,
        currency: 'EUR',
        id: 7,
        expires_at: '2031-01-01',
      },
    },
    {
      code: 'invalid-parameter',
      errors: {
        initial_value: [notDecimal],
        expires_on: ['must be today or later'],
        email: ['must be one valid email address'],
        recipient_email: ['must be an email address'],
        note: ['must be a string'],
        message: ['must not contain control characters other than newline and tab'],
        currency: ['must be USD, the store’s currency'],
        id: ['cannot be set'],
        expires_at: ['is not a known parameter'],
        code: ['is taken'],
      },
    },
  );
});

test('a creation adds one ledger entry, from sales to the card, by the API client', async () => {
  const card = await shop.issue({ initial_value: '12.34' });
  const rows = await service.query('select * from transfers where card_id = ?', service.internalId(card.id));
  assert.equal(await countTransfers(service, card.id), 1);
  const { kind, amount, debit_account, credit_account, actor, currency } = rows[0] ?? {};
  assert.deepEqual(
    { kind, amount, debit_account, credit_account, actor, currency },
    {
      kind: 'issue',
      amount: 1234,
      debit_account: 'sales',
      credit_account: 'card',
      actor: `api_client:${card.api_client_id}`,
      currency: 'USD',
    },
  );
});

test('no event of the store contains a code', async () => {
  const { code } = await shop.issue({ code: 'NOT-IN-EVENTS-777' });
  const events = (await service.query('select data from events')).map(({ data }) => String(data));
  assert.ok(events.length > 50);
  assert.ok(events.every((data) => !data.includes(code) && !data.includes('"code"')));
  assert.ok((await eventsAfter(service, 0)).includes('gift_card.created'));
});
