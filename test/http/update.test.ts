/** `PUT /gift_card/{gift_card_id}`: partial and atomic updates, and the errors of each card state. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { fieldsInOrder, problemOf, type GiftCard, type IssuedGiftCard } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { countTransfers, form, shopOf, unchanged } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example' },
    { domain: 'books.example' },
    { domain: 'jpy.example', currency: 'JPY' },
    { domain: 'kwd.example', currency: 'KWD' },
    { domain: 'clf.example', currency: 'CLF' },
    {
      domain: 'limited.example',
      currency: 'EUR',
      issueLimit: { minor: 50_000n, currency: currencyOf('EUR') },
    },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

const put = (id: number) => `PUT /gift_card/${id}` as const;
const full = (): Promise<IssuedGiftCard> =>
  shop.issue({
    initial_value: '40.00',
    email: 'Ada@example.com',
    recipient_email: 'grace@example.com',
    note: 'a note',
    message: 'a message',
    expires_on: '2999-12-31',
  });

/** The issued card with changes. */
function changed(issued: IssuedGiftCard, changes: Partial<GiftCard>): GiftCard {
  const { code: _, ...card } = issued;
  return { ...card, ...changes };
}

test('absent fields do not change', async (t) => {
  const changes: readonly (readonly [json: object, Partial<GiftCard>, events: string[]])[] = [
    [{ balance: '10.00' }, { balance: '10.00' }, ['gift_card.updated balance']],
    [{ note: 'another' }, { note: 'another' }, ['gift_card.updated note']],
    [{ note: null }, { note: null }, ['gift_card.updated note']],
    [{ note: '' }, { note: null }, ['gift_card.updated note']],
    [{ expires_on: '2998-01-01' }, { expires_on: '2998-01-01' }, ['gift_card.updated expires_on']],
    [{ expires_on: null }, { expires_on: null }, ['gift_card.updated expires_on']],
    [{ expires_on: '2001-01-01' }, { expires_on: '2001-01-01' }, ['gift_card.updated expires_on']],
    [
      { balance: 1, note: 'n', expires_on: null },
      { balance: '1.00', note: 'n', expires_on: null },
      ['gift_card.updated balance,expires_on,note'],
    ],
  ];
  for (const [json, changes_, events] of changes) {
    await t.test(JSON.stringify(json), async () => {
      const issued = await full();
      const { card } = await shop.accepts(put(issued.id), { json }, { events });
      assert.deepEqual(card, changed(issued, changes_));
      assert.deepEqual(await shop.read(issued.id), card);
    });
  }
});

test('an empty update returns 200 and changes nothing', async (t) => {
  const issued = await full();
  const empty = {
    'an empty object': { json: {} },
    'an empty wrapped object': { json: { gift_card: {} } },
    'an empty form': form({}),
    'no body': {},
    'disable: false': { json: { disable: false } },
  };
  for (const [name, request] of Object.entries(empty)) {
    await t.test(name, async () => {
      const { card, response } = await unchanged(service, () => shop.accepts(put(issued.id), request));
      assert.deepEqual(card, changed(issued, {}));
      assert.ok(response.headers.get('etag')?.endsWith('-1"'));
    });
  }
});

test('an update to the current value changes nothing: no event, no ledger entry, the same version', async () => {
  const issued = await full();
  const same = { balance: '40', note: 'a note', expires_on: '2999-12-31', disable: false };
  await unchanged(service, () => shop.accepts(put(issued.id), { json: same }));
  assert.equal(await countTransfers(service, issued.id), 1);
});

test('a retrieved record can be sent back without a change', async (t) => {
  const { code, ...read } = await full();
  const bare = await shop.issue();
  const disabled = await full();
  await shop.ask(put(disabled.id), { json: { disable: true } });
  await shop.ask(put(disabled.id), { json: { note: 'written afterwards' } });

  const asForm = (record: object): ReturnType<typeof form> =>
    form(
      Object.fromEntries(
        Object.entries(record).map(([name, value]) => [name, value === null ? '' : String(value)]),
      ),
    );
  const asWrappedForm = (record: object): ReturnType<typeof form> =>
    form(
      Object.fromEntries(
        Object.entries(record).map(([name, value]) => [
          `gift_card[${name}]`,
          value === null ? '' : String(value),
        ]),
      ),
    );
  const cards = {
    'a full card': read,
    'a bare card': changed(bare, {}),
    'a disabled card': await shop.read(disabled.id),
    'with the code from the creation': { ...read, code },
    'with the code as people write it': { ...read, code: code.toUpperCase().replace(/(.{4})/g, '$1-') },
    'with a bare card’s code': bare,
  };
  for (const [name, record] of Object.entries(cards)) {
    for (const [encoding, request] of Object.entries({
      JSON: { json: record },
      'wrapped JSON': { json: { gift_card: record } },
      form: asForm(record),
      'wrapped form': asWrappedForm(record),
    })) {
      await t.test(`${name} as ${encoding}`, async () => {
        const { card, response } = await unchanged(service, () => shop.accepts(put(record.id), request));
        assert.deepEqual(card, await shop.read(record.id));
        assert.ok(!response.text.includes(code));
      });
    }
  }
});

test('a read-only field is compared by value, and other changes are applied', async () => {
  const issued = await full();
  const { card } = await shop.accepts(
    put(issued.id),
    {
      json: {
        ...issued,
        initial_value: 40,
        customer_email: ' ADA@EXAMPLE.COM',
        last_characters: issued.last_characters.toUpperCase(),
        balance: 39,
      },
    },
    { events: ['gift_card.updated balance'] },
  );
  assert.equal(card.balance, '39.00');
});

test('an id that is sent back is an integer in JSON, and digits in a form', async () => {
  const { id, customer_id } = await full();
  const sent = { id: String(id), customer_id: String(customer_id) };
  await shop.accepts(put(id), form(sent));
  await shop.accepts(put(id), { json: { id, customer_id } });
  await shop.rejects(
    put(id),
    { json: sent },
    {
      code: 'invalid-parameter',
      errors: { id: ['cannot be changed'], customer_id: ['cannot be changed'] },
    },
  );
});

test('a read-only field is rejected unless it has the value of the card', async (t) => {
  const issued = await full();
  const others: Readonly<Record<string, readonly unknown[]>> = {
    id: [issued.id + 1, String(issued.id), 'abc', null, true],
    created_at: ['2020-01-01T00:00:00Z', null, issued.created_at.replace('Z', '+00:00'), 5],
    currency: ['EUR', 'usd', null],
    initial_value: ['41.00', 41, '40.001', null, 'forty'],
    disabled_at: ['2020-01-01T00:00:00Z', false, 0],
    line_item_id: [1, '1', false],
    api_client_id: [1, null],
    user_id: [1, 'me'],
    customer_id: [1, null, issued.recipient_id],
    customer_email: ['grace@example.com', null, 'ada', 5],
    recipient_id: [1, null, issued.customer_id],
    recipient_email: ['ada@example.com', null],
    message: ['another', null, ''],
    last_characters: ['zzzz', null, issued.code],
    order_id: [1, '2'],
    code: ['ZZZZ-ZZZZ-ZZZZ-9999'],
  };
  assert.deepEqual(
    fieldsInOrder.filter((field) => !(field in others)),
    ['balance', 'note', 'expires_on'],
  );
  for (const [field, values] of Object.entries(others)) {
    for (const value of values) {
      await t.test(`${field}: ${JSON.stringify(value)}`, () =>
        shop.rejects(
          put(issued.id),
          { json: { note: 'never written', [field]: value } },
          { code: 'invalid-parameter', errors: { [field]: ['cannot be changed'] } },
        ),
      );
    }
  }
  await t.test('the code of another card', async () => {
    const { code } = await shop.issue();
    await shop.rejects(
      put(issued.id),
      { json: { code } },
      { code: 'invalid-parameter', errors: { code: ['cannot be changed'] } },
    );
  });
});

test('an unknown parameter is rejected by name, and no other parameter is applied', async (t) => {
  const { id } = await full();
  for (const name of ['expires_at', 'email', 'enabled', 'Balance', 'amount', '__proto__', 'hasOwnProperty']) {
    await t.test(name, () =>
      shop.rejects(
        put(id),
        {
          body: `{"balance":1,"note":"never written",${JSON.stringify(name)}:null}`,
          headers: { 'content-type': 'application/json' },
        },
        { code: 'invalid-parameter', errors: Object.fromEntries([[name, ['is not a known parameter']]]) },
      ),
    );
  }
});

test('balance can be 0 and can exceed initial_value, which never changes', async () => {
  const issued = await full();
  for (const [sent, balance] of [
    [0, '0.00'],
    ['100.5', '100.50'],
    ['0', '0.00'],
    ['999999999999.99', '999999999999.99'],
    [0.01, '0.01'],
  ] as const) {
    const { card } = await shop.accepts(
      put(issued.id),
      { json: { balance: sent } },
      { events: ['gift_card.updated balance'] },
    );
    assert.deepEqual([card.balance, card.initial_value], [balance, '40.00']);
  }
  assert.equal(await countTransfers(service, issued.id), 6);
});

test('every change of the balance is one ledger entry with its amount, accounts and API client', async () => {
  const issued = await full();
  for (const balance of ['15.00', '60.00']) await shop.ask(put(issued.id), { json: { balance } });
  const rows = await service.query(
    'select kind, amount, debit_account, credit_account, balance_after, actor from transfers where card_id = ? order by sequence',
    service.internalId(issued.id),
  );
  const actor = `api_client:${issued.api_client_id}`;
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { kind: 'issue', amount: 4000, debit_account: 'sales', credit_account: 'card', balance_after: 4000, actor },
      { kind: 'adjustment', amount: 2500, debit_account: 'card', credit_account: 'adjustments', balance_after: 1500, actor },
      { kind: 'adjustment', amount: 4500, debit_account: 'adjustments', credit_account: 'card', balance_after: 6000, actor },
    ],
  ); // prettier-ignore
});

test('balance rejects an invalid amount', async (t) => {
  const { id } = await full();
  const notDecimal = 'must be a decimal number such as "15.00"';
  const rejected: readonly (readonly [json: string, message: string])[] = [
    ['-1', 'must be at least 0'],
    ['-0.01', 'must be at least 0'],
    ['"-1"', notDecimal],
    ['4.005', 'must have at most 2 decimals, as USD has'],
    ['"4.000"', 'must have at most 2 decimals, as USD has'],
    ['"1000000000000"', 'must have at most 12 digits before the point'],
    ['9007199254740993', 'is a number that cannot be represented exactly; send it as a string'],
    ['"1e3"', notDecimal],
    ['"+5"', notDecimal],
    ['" 5"', notDecimal],
    ['"1,00"', notDecimal],
    ['"0x10"', notDecimal],
    ['"NaN"', notDecimal],
    ['".5"', notDecimal],
    ['"5."', notDecimal],
    ['"05"', notDecimal],
    ['""', notDecimal],
    ['false', notDecimal],
    ['[]', notDecimal],
    ['{}', notDecimal],
    ['null', 'is required'],
  ];
  for (const [json, message] of rejected) {
    await t.test(json, () =>
      shop.rejects(
        put(id),
        {
          body: `{"balance":${json},"note":"never written"}`,
          headers: { 'content-type': 'application/json' },
        },
        { code: 'invalid-parameter', errors: { balance: [message] } },
      ),
    );
  }
});

test('balance has exactly the decimals of the store’s currency, and its limit', async (t) => {
  for (const { domain, value, sent, balance, rejected, message } of [
    { domain: 'jpy.example', value: '1000', sent: 15, balance: '15', rejected: '15.0', message: 'must be a whole number: JPY has no decimals' },
    { domain: 'kwd.example', value: '10', sent: '0.001', balance: '0.001', rejected: '0.0001', message: 'must have at most 3 decimals, as KWD has' },
    { domain: 'clf.example', value: '10', sent: 0.0001, balance: '0.0001', rejected: 0.000_01, message: 'must have at most 4 decimals, as CLF has' },
    { domain: 'limited.example', value: '10', sent: '500', balance: '500.00', rejected: '500.01', message: "must be at most 500.00, the store's limit" },
  ]) {
    await t.test(domain, async () => {
      const of = await shopOf(service, domain);
      const { id } = await of.issue({ initial_value: value });
      const { card } = await of.accepts(put(id), { json: { balance: sent } }, { events: ['gift_card.updated balance'] });
      assert.equal(card.balance, balance);
      await of.rejects(
        put(id),
        { json: { balance: rejected } },
        { code: 'invalid-parameter', errors: { balance: [message] } },
      );
    });
  }
}); // prettier-ignore

test('expires_on is an existing day, and can be in the past', async (t) => {
  const { id } = await full();
  for (const [value, message] of [
    ['2031-02-29', 'must be a day that exists'],
    ['2031-1-1', 'must be a date in the form YYYY-MM-DD'],
    ['', 'must be a date in the form YYYY-MM-DD'],
    [20310101, 'must be a date in the form YYYY-MM-DD'],
    [false, 'must be a date in the form YYYY-MM-DD'],
  ] as const) {
    await t.test(JSON.stringify(value), () =>
      shop.rejects(
        put(id),
        { json: { balance: 1, expires_on: value } },
        { code: 'invalid-parameter', errors: { expires_on: [message] } },
      ),
    );
  }
});

test('note accepts the same values as in a creation', async (t) => {
  const { id } = await full();
  for (const [value, message] of [
    ['x'.repeat(5_001), 'must have at most 5,000 characters'],
    ['a\u0007', 'must not contain control characters other than newline and tab'],
    [5, 'must be a string'],
    [{}, 'must be a string'],
  ] as const) {
    await t.test(JSON.stringify(value).slice(0, 20), () =>
      shop.rejects(
        put(id),
        { json: { balance: 1, note: value } },
        { code: 'invalid-parameter', errors: { note: [message] } },
      ),
    );
  }
  await t.test('5,000 characters', async () => {
    const note = '🎁'.repeat(5_000);
    const { card } = await shop.accepts(put(id), { json: { note } }, { events: ['gift_card.updated note'] });
    assert.equal(card.note, note);
  });
});

test('disable is a boolean, and can be text in a form only', async (t) => {
  const { id } = await full();
  const errors = { disable: ['must be true or false'] };
  for (const disable of ['true', 'false', '1', 1, 0, null, '', [], {}, 'yes']) {
    await t.test(`JSON ${JSON.stringify(disable)}`, () =>
      shop.rejects(put(id), { json: { disable } }, { code: 'invalid-parameter', errors }),
    );
  }
  for (const disable of ['', 'yes', 'TRUE', 'True', 'on', ' true', '2', 'null']) {
    await t.test(`form ${disable}`, () =>
      shop.rejects(put(id), form({ disable }), { code: 'invalid-parameter', errors }),
    );
  }
  for (const disable of ['false', '0']) {
    await t.test(`form ${disable} is false`, async () => {
      await unchanged(service, () => shop.accepts(put(id), form({ disable })));
    });
  }
  for (const disable of ['true', '1']) {
    await t.test(`form ${disable} is true`, async () => {
      const issued = await shop.issue();
      const { card } = await shop.accepts(put(issued.id), form({ disable }), {
        events: ['gift_card.disabled disabled_at'],
      });
      assert.notEqual(card.disabled_at, null);
    });
  }
});

test('a disabling is final: a second one returns 200 with the first time', async () => {
  const issued = await full();
  const before = Math.floor(service.clock.now() / 1_000) * 1_000;
  const { card: disabled } = await shop.accepts(
    put(issued.id),
    { json: { disable: true } },
    { events: ['gift_card.disabled disabled_at'] },
  );
  assert.match(disabled.disabled_at ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const at = Date.parse(disabled.disabled_at ?? '');
  assert.ok(at >= before && at <= service.clock.now());
  assert.deepEqual(disabled, changed(issued, { disabled_at: disabled.disabled_at }));

  service.clock.advance(60_000);
  await unchanged(service, async () => {
    const { card } = await shop.accepts(put(issued.id), { json: { disable: true } });
    assert.equal(card.disabled_at, disabled.disabled_at);
  });
  await shop.rejects(
    put(issued.id),
    { json: { disable: false, note: 'never written' } },
    { code: 'invalid-parameter', errors: { disable: ['cannot be undone'] } },
  );
});

test('a disabled card rejects changes of balance and expires_on, and accepts those of note', async () => {
  const { id } = await full();
  const { card: disabled } = await shop.accepts(
    put(id),
    { json: { disable: true } },
    { events: ['gift_card.disabled disabled_at'] },
  );
  const cannot = 'cannot be changed: the card is disabled';
  await shop.rejects(
    put(id),
    { json: { balance: 1 } },
    { code: 'invalid-parameter', errors: { balance: [cannot] } },
  );
  for (const expires_on of ['2998-01-01', null, '2001-01-01']) {
    await shop.rejects(
      put(id),
      { json: { expires_on } },
      { code: 'invalid-parameter', errors: { expires_on: [cannot] } },
    );
  }
  await shop.rejects(
    put(id),
    { json: { balance: 1, expires_on: null, disable: false, note: 'never written' } },
    {
      code: 'invalid-parameter',
      errors: { disable: ['cannot be undone'], balance: [cannot], expires_on: [cannot] },
    },
  );
  const { card } = await shop.accepts(
    put(id),
    { json: { note: 'given back', balance: '40.00', expires_on: '2999-12-31', disable: true } },
    { events: ['gift_card.updated note'] },
  );
  assert.deepEqual(card, { ...disabled, note: 'given back' });
  assert.deepEqual(await shop.read(id), card);
});

test('an update with balance and disable applies the balance first', async () => {
  const issued = await full();
  const { card, response } = await shop.accepts(
    put(issued.id),
    { json: { disable: true, balance: 0, note: 'void', expires_on: null } },
    { events: ['gift_card.updated balance,expires_on,note', 'gift_card.disabled disabled_at'] },
  );
  assert.deepEqual(
    card,
    changed(issued, { balance: '0.00', note: 'void', expires_on: null, disabled_at: card.disabled_at }),
  );
  assert.notEqual(card.disabled_at, null);
  assert.ok(response.headers.get('etag')?.endsWith('-2"'));
});

test('an update returns all errors together: of values, read-only fields and the state of the card', async () => {
  const { id } = await full();
  await shop.ask(put(id), { json: { disable: true } });
  await shop.rejects(
    put(id),
    {
      json: {
        balance: '1e3',
        id: 7,
        expires_on: '2031-02-30',
        expires_at: '2031-01-01',
        disable: false,
        note: 5,
        code: 'zzzz9999zzzz',
        message: 'another',
      },
    },
    {
      code: 'invalid-parameter',
      errors: {
        balance: ['must be a decimal number such as "15.00"'],
        expires_on: ['must be a day that exists'],
        note: ['must be a string'],
        expires_at: ['is not a known parameter'],
        id: ['cannot be changed'],
        message: ['cannot be changed'],
        code: ['cannot be changed'],
        disable: ['cannot be undone'],
      },
    },
  );
  await shop.rejects(
    put(id),
    { json: { balance: 1, expires_at: 'x', order_id: 5 } },
    {
      code: 'invalid-parameter',
      errors: {
        expires_at: ['is not a known parameter'],
        order_id: ['cannot be changed'],
        balance: ['cannot be changed: the card is disabled'],
      },
    },
  );
});

test('a card of another store gets the same bytes as an unknown one, for any request', async (t) => {
  const theirs = await books.issue({ note: 'theirs' });
  const requests = {
    'a change': { json: { balance: 0, disable: true, note: 'mine now' } },
    nothing: {},
    'a rejected parameter': { json: { balance: 'x', nonsense: 1 } },
    'its own record': { json: theirs },
    'a precondition': { json: { note: 'x' }, headers: { 'if-match': `"${theirs.id}-1"` } },
    'any version': { json: { note: 'x' }, headers: { 'if-match': '*' } },
  };
  for (const [name, request] of Object.entries(requests)) {
    await t.test(name, async () => {
      await unchanged(service, async () => {
        const given = 'headers' in request ? request.headers : {};
        const headers = { ...given, 'x-request-id': 'same-request' };
        const responses = await Promise.all(
          [theirs.id, 244_212_357_349].map((id) => shop.ask(put(id), { ...request, headers })),
        );
        const [others, none] = responses;
        assert.ok(others && none);
        problemOf(none, { code: 'not-found' });
        assert.equal(others.text, none.text);
        const headersOf = (response: typeof none): readonly unknown[] =>
          [...response.headers].filter(([field]) => field !== 'date');
        assert.deepEqual(headersOf(others), headersOf(none));
      });
    });
  }
  assert.equal((await books.read(theirs.id)).note, 'theirs');
});

test('an invalid id is a 404', async (t) => {
  for (const id of ['abc', '0', '-1', '1.0', '9007199254740993']) {
    await t.test(id, () => shop.rejects(`PUT /gift_card/${id}`, { json: {} }, { code: 'not-found' }));
  }
});
