import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { cardFieldNames } from '../../src/core/cards/domain/fields.ts';
import { parseDay } from '../../src/core/domain/day.ts';
import { InexactNumber } from '../../src/core/money/domain/money.ts';
import type { Parsed } from '../../src/platform/parsed.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import {
  integerFromForm,
  type Field as Parameter,
  type FieldContext as Reading,
} from '../../src/api/field.ts';
import { batchFields } from '../../src/features/batches/api/batches.ts';
import { detailFields } from '../../src/core/cards/api/card-fields.ts';
import * as parameters from '../../src/core/cards/api/fields.ts';
import * as webhookParameters from '../../src/features/webhooks/api/webhook-fields.ts';
import { cardFilters } from '../../src/core/cards/api/list-fields.ts';
import { amount, anyCurrency, anyUnits, errorOf, show, storeWith, valueOf } from './samples.ts';

const noon = Date.UTC(2026, 5, 15, 12);

function reading(given: Partial<Reading> & { readonly store?: Store } = {}): Reading {
  return { store: storeWith(), now: noon, isForm: false, ...given };
}

const all: Readonly<Record<string, Parameter<unknown>>> = {
  ...parameters,
  ...webhookParameters,
  ...detailFields,
};

/** Spaces that some parsers remove around a text. */
const blanks = fc.constantFrom('', ' ', '\t', '\n', '\u00a0', '\u3000', ' '.repeat(3), ' '.repeat(70));

/** Texts that a parser can normalize: with spaces around them, and near each limit of a line, of which NFC composes some. */
const unnormalized = fc
  .tuple(
    blanks,
    fc.oneof(
      fc.constantFrom(
        '25.00',
        '2026-06-15',
        '2026-06-16T12:00:00Z',
        'ada@example.com',
        'q2m8-xk4w-9c0d-7f3k',
      ),
      fc.constantFrom('7f3k', 'USD', 'single_purpose', '19', 'https://shop.example.com/hook', 'gift_card.*'),
      fc.constantFrom('Ada', 'true', '1', ''),
      fc
        .tuple(
          fc.constantFrom('a', 'e\u0301', '\u1100\u1161\u11a8', '😀'),
          fc.constantFrom(39, 40, 41, 99, 100, 101),
        )
        .map(([unit, count]) => unit.repeat(count)),
    ),
    blanks,
  )
  .map((parts) => parts.join(''));

/** Valid and nearly valid values of clients for every kind of parameter. */
const anySent = fc.oneof(
  { arbitrary: fc.oneof(unnormalized, fc.array(unnormalized, { maxLength: 3 })), weight: 2 },
  { arbitrary: fc.jsonValue(), weight: 1 },
  { arbitrary: anyUnits, weight: 1 },
  {
    arbitrary: fc.oneof(
      fc.stringMatching(/^[-+ 0]?[0-9]{0,14}[.,]?[0-9]{0,5}$/),
      fc.stringMatching(/^(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,4})?$/),
      fc.double(),
      fc.integer({ min: -3, max: 3_000 }),
      fc.constantFrom(
        0,
        -0,
        0.01,
        4.005,
        25,
        1e12,
        1e21,
        999_999_999_999.99,
        new InexactNumber('4.9999999999999999999'),
      ),
    ),
    weight: 4,
  },
  {
    arbitrary: fc.oneof(
      fc.stringMatching(/^20[0-9]{2}-[01][0-9]-[0-3][0-9]$/),
      fc.constantFrom('2026-06-14', '2026-06-15', '2026-06-16', '2026-02-30', '9999-12-31', '0000-01-01'),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.oneof(
      fc.emailAddress(),
      fc.emailAddress().map((address) => ` ${address.toUpperCase()}\t`),
      fc.stringMatching(/^"[ -!#-[\]-~]{0,12}"@example\.com$/),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc
        .tuple(
          fc.constantFrom('a', '😀', 'e\u0301', '👩‍👩‍👧', '\u200d', '\n', '한'),
          fc.integer({ min: 1_240, max: 5_002 }),
        )
        .map(([unit, count]) => unit.repeat(count)),
    ),
    weight: 2,
  },
  { arbitrary: fc.stringMatching(/^[ -]{0,2}(?:[0-9A-Za-z][ -]{0,2}){3,22}$/), weight: 2 },
  { arbitrary: fc.stringMatching(/^[0-9A-Za-z]{3,5}$/), weight: 1 },
  {
    arbitrary: fc.oneof(
      fc.webUrl(),
      fc.array(fc.constantFrom('*', 'gift_card.*', 'gift_card.created', 'customer.created', 'gone')),
      fc.constantFrom('gift_card.*', ' gift_card.created , customer.*', 'gift_card.gone', ','),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      'true',
      'false',
      '1',
      '0',
      '',
      'USD',
      'usd',
      'JPY',
      'single_purpose',
      'multi_purpose',
      '19',
      '8.10',
      undefined,
    ),
    weight: 2,
  },
);

test('the test covers every parameter', () => {
  assert.deepEqual(Object.keys(all).toSorted(), [
    ...cardFieldNames, 'amount', 'balance', 'code', 'closed', 'creditKind', 'currency', 'customersEmail', 'disable', 'echoedCode', 'email', 'eraseNotes', 'expectedCurrency', 'expiresIn', 'expiresOn', 'expiresOnOrLater', 'extendedExpiresIn', 'externalId', 'holderEmail',
    'initialValue', 'laterExpiresOn', 'locationId', 'notify', 'notifyHolder', 'optionalAmount', 'orderId', 'orderReference', 'partial', 'paused',
    'recipientEmail', 'reference', 'releaseHolds', 'requiredCode', 'searchedCharacters', 'searchedEmail', 'sendOn', 'stockUse', 'storefrontCustomerId', 'suspend', 'suspendReason',
    'vatKind', 'vatRate', 'webhookEvents',
    'webhookId', 'webhookUrl',
  ].toSorted()); // prettier-ignore
});

/** Fields that only one operation has. Those of a list are texts of a query; other types have tests of their own. */
const published: Readonly<Record<string, Parameter<unknown>>> = {
  ...all,
  'name of a batch': batchFields.name,
  'listed tag': cardFilters.tag,
  'listed note': cardFilters.note,
  'listed last characters': cardFilters.last_characters,
};

for (const [name, parameter] of Object.entries(published)) {
  test(`${name}: the published schema accepts every accepted value`, () => {
    const schema = Compile(parameter.schema);
    const { examples = [] } = parameter.schema as { readonly examples?: readonly unknown[] };
    // Random values are rarely one of the few that an enumeration accepts.
    const anyOfKind = fc.oneof(
      { arbitrary: anySent, weight: 19 },
      { arbitrary: fc.constantFrom(null, ...examples), weight: 1 },
    );
    let accepted = 0;
    fc.assert(
      fc.property(anyOfKind, anyCurrency, fc.boolean(), (sent, currency, isForm) => {
        const parsed = parameter.read(sent, reading({ store: storeWith({ currency }), isForm }));
        if (parsed.ok) {
          accepted += 1;
          const json = isForm && typeof sent === 'string' ? parameter.fromForm(sent) : sent;
          assert.ok(schema.Check(json), `the schema rejects ${show(json)}`);
        } else {
          assert.match(parsed.error, /^(?:must|is) \S/);
        }
      }),
      { numRuns: 2_000 },
    );
    assert.ok(accepted >= 10, `only ${accepted} of the values were accepted`);
  });
}

for (const [name, parameter] of Object.entries(all)) {
  test(`${name}: the schema and the parser accept its examples`, () => {
    const { examples, description } = parameter.schema as {
      readonly examples?: unknown[];
      readonly description?: string;
    };
    assert.ok(examples && examples.length > 0);
    assert.ok(description);
    for (const example of examples) {
      assert.ok(Compile(parameter.schema).Check(example));
      assert.ok(parameter.read(example, reading()).ok, show(example));
    }
  });
}

/** Returns the JSON Schema types. */
function typesOf(schema: unknown): readonly unknown[] {
  const { type, anyOf = [] } = schema as { readonly type?: unknown; readonly anyOf?: readonly unknown[] };
  return [...(type === undefined ? [] : [type]), ...anyOf.flatMap(typesOf)];
}

const amounts = new Set(['amount', 'balance', 'initialValue', 'optionalAmount']);

for (const [name, { schema, read }] of Object.entries(all)) {
  const types = typesOf(schema);
  test(`${name}: JSON has one type or null; only an amount is a number or a string`, () => {
    const others = types.filter((type) => type !== 'null');
    assert.deepEqual(others.length, amounts.has(name) ? 2 : 1, others.join());
    if (others.includes('string')) return;
    for (const text of ['true', 'false', '1', '0', '7', '900', '', '*', 'gift_card.*', '[]', 'null']) {
      assert.equal(Compile(schema).Check(text), false, `${name} ${show(text)}`);
      assert.equal(read(text, reading()).ok, false, `${name} ${show(text)}`);
    }
  });
}

test('an integer in a form is digits, the first of them not 0', () => {
  for (const [text, value] of [['1', 1], ['900', 900], ['9007199254740991', Number.MAX_SAFE_INTEGER]] as const)
    assert.equal(integerFromForm(text), value);
  for (const text of ['', '0', '01', '-1', '+1', ' 1', '1 ', '1.0', '1e3', '１', '12345678901234567', 'true'])
    assert.equal(integerFromForm(text), text);
}); // prettier-ignore

test('only the value of a new card, the amount of a movement, the time of an extension, the code of a lookup and both parameters of a search are required', () => {
  const isRequired = Object.entries(all).filter(([, parameter]) => parameter.isRequired);
  assert.deepEqual(isRequired.map(([name]) => name).toSorted(), [
    'amount',
    'extendedExpiresIn',
    'initialValue',
    'requiredCode',
    'searchedCharacters',
    'searchedEmail',
    'webhookEvents',
    'webhookUrl',
  ]);
});

test('an amount is parsed by value, and its errors follow the parameter name', () => {
  const { initialValue, balance, amount: moved, optionalAmount } = parameters;
  for (const value of [15, '15', '15.0', '15.00', 1.5e1]) {
    for (const parameter of [initialValue, balance, moved, optionalAmount]) {
      assert.deepEqual(valueOf<unknown>(parameter.read(value, reading())), amount(1_500n));
    }
  }
  const rejected = ['1e3', '+5', ' 5', '1,00', '0x10', 'NaN', '.5', '5.', '05', 4.005, '4.005', '', true, [], {}, 1e12, -1, new InexactNumber('4.9999999999999999999')]; // prettier-ignore
  for (const value of rejected) {
    for (const parameter of [initialValue, balance, moved, optionalAmount]) {
      assert.equal(parameter.read(value, reading()).ok, false, show(value));
    }
  }
  for (const parameter of [initialValue, moved, optionalAmount]) {
    for (const value of [0, '0.00', -1]) {
      assert.equal(errorOf(parameter.read(value, reading())), 'must be greater than 0', show(value));
    }
  }
  assert.deepEqual(valueOf(balance.read(0, reading())), amount(0n));
  assert.equal(errorOf(balance.read(-1, reading())), 'must be at least 0');
  for (const parameter of [initialValue, balance, moved]) {
    assert.equal(errorOf(parameter.read(null, reading())), 'is required');
  }
  assert.equal(valueOf(optionalAmount.read(null, reading())), null);
});

test('an amount is in the store’s currency, with its decimals', () => {
  const yen = reading({ store: storeWith({ currency: currencyOf('JPY') }) });
  const dinar = reading({ store: storeWith({ currency: currencyOf('KWD') }) });
  assert.deepEqual(valueOf(parameters.initialValue.read('15', yen)), amount(15n, 'JPY'));
  assert.equal(
    errorOf(parameters.initialValue.read('15.0', yen)),
    'must be a whole number: JPY has no decimals',
  );
  for (const parameter of [parameters.balance, parameters.amount, parameters.optionalAmount]) {
    assert.deepEqual(valueOf<unknown>(parameter.read('1.005', dinar)), amount(1_005n, 'KWD'));
    assert.equal(parameter.read('1.5', yen).ok, false);
  }
});

test('the value of a new card can reach and not exceed the limit of the store', () => {
  const limited = reading({ store: storeWith({ issueLimit: amount(50_000n) }) });
  const { initialValue } = parameters;
  assert.deepEqual(valueOf(initialValue.read('500', limited)), amount(50_000n));
  for (const value of ['500.01', 999_999_999_999]) {
    assert.equal(
      errorOf(initialValue.read(value, limited)),
      "must be at most 500.00, the store's limit",
      show(value),
    );
  }
  assert.deepEqual(valueOf(initialValue.read('500.01', reading())), amount(50_001n));
});

test('the limit of the store does not apply to other amounts before the card is known', () => {
  const limited = reading({ store: storeWith({ issueLimit: amount(50_000n) }) });
  for (const parameter of [parameters.balance, parameters.amount, parameters.optionalAmount]) {
    assert.deepEqual(valueOf<unknown>(parameter.read('500.01', limited)), amount(50_001n));
  }
});

test('a new card expires today or later, in the store’s time zone', async (t) => {
  const cases: readonly (readonly [zone: string, now: string, today: string, yesterday: string])[] = [
    ['UTC', '2026-06-14T23:59:59.999Z', '2026-06-14', '2026-06-13'],
    ['UTC', '2026-06-15T00:00:00.000Z', '2026-06-15', '2026-06-14'],
    ['Pacific/Kiritimati', '2026-06-15T09:59:59.999Z', '2026-06-15', '2026-06-14'],
    ['Pacific/Kiritimati', '2026-06-15T10:00:00.000Z', '2026-06-16', '2026-06-15'],
    ['America/New_York', '2026-06-15T03:59:59.999Z', '2026-06-14', '2026-06-13'],
    ['America/New_York', '2026-06-15T04:00:00.000Z', '2026-06-15', '2026-06-14'],
    // The nights when daylight saving starts and ends.
    ['America/New_York', '2026-03-08T04:59:59.999Z', '2026-03-07', '2026-03-06'],
    ['America/New_York', '2026-03-08T05:00:00.000Z', '2026-03-08', '2026-03-07'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08', '2026-03-07'],
    ['America/New_York', '2026-11-02T04:59:59.999Z', '2026-11-01', '2026-10-31'],
    ['America/New_York', '2026-11-02T05:00:00.000Z', '2026-11-02', '2026-11-01'],
  ];
  for (const [timeZone, now, today, yesterday] of cases) {
    await t.test(`${timeZone} ${now}`, () => {
      const at = reading({ store: storeWith({ timeZone }), now: Date.parse(now) });
      assert.equal(valueOf(parameters.expiresOnOrLater.read(today, at)), today);
      assert.equal(errorOf(parameters.expiresOnOrLater.read(yesterday, at)), 'must be today or later');
    });
  }
});

test('an update accepts any existing day, including past ones, and null for never', () => {
  for (const parameter of [parameters.expiresOn, parameters.expiresOnOrLater]) {
    assert.equal(valueOf(parameter.read(null, reading())), null);
    assert.equal(valueOf(parameter.read('9999-12-31', reading())), '9999-12-31');
    assert.equal(errorOf(parameter.read('2027-02-29', reading())), 'must be a day that exists');
    assert.equal(errorOf(parameter.read('tomorrow', reading())), 'must be a date in the form YYYY-MM-DD');
    assert.equal(errorOf(parameter.read(20_270_101, reading())), 'must be a date in the form YYYY-MM-DD');
    assert.equal(errorOf(parameter.read('', reading())), 'must be a date in the form YYYY-MM-DD');
  }
  assert.equal(valueOf(parameters.expiresOn.read('2001-01-01', reading())), '2001-01-01');
  assert.equal(errorOf(parameters.expiresOnOrLater.read('2001-01-01', reading())), 'must be today or later');
  fc.assert(
    fc.property(fc.stringMatching(/^20[0-9]{2}-[01][0-9]-[0-3][0-9]$/), (day) => {
      assert.deepEqual(parameters.expiresOn.read(day, reading()), parseDay(day));
    }),
  );
});

test('emails, texts and codes can be null', () => {
  const { email, recipientEmail, code } = parameters;
  const { note, message } = detailFields;
  for (const parameter of [email, recipientEmail, note, message, code]) {
    assert.equal(valueOf<unknown>(parameter.read(null, reading())), null);
  }
  for (const parameter of [note, message]) assert.equal(valueOf(parameter.read('', reading())), null);
  for (const parameter of [email, recipientEmail, code])
    assert.equal(parameter.read('', reading()).ok, false);
  for (const parameter of [email, recipientEmail]) {
    assert.deepEqual(valueOf(parameter.read(' Ada@Example.com', reading())), {
      address: 'Ada@Example.com',
      key: 'ada@example.com',
    });
  }
  assert.equal(valueOf(code.read('SPRING-2031-0001', reading()))?.code.reveal(), 'spring20310001');
});

test('a search accepts neither null nor an empty value', () => {
  assert.equal(parameters.searchedEmail.read(null, reading()).ok, false);
  assert.equal(parameters.searchedCharacters.read(null, reading()).ok, false);
  assert.equal(parameters.searchedEmail.read('', reading()).ok, false);
  assert.deepEqual(valueOf(parameters.searchedCharacters.read('7F3K', reading())), ['7f3k']);
  assert.equal(valueOf(parameters.searchedEmail.read('ADA@example.com', reading())).key, 'ada@example.com');
});

const { disable, eraseNotes, releaseHolds, partial } = parameters;

for (const [name, flag] of Object.entries({ disable, eraseNotes, releaseHolds, partial })) {
  test(`${name} is a boolean in JSON, and true, false, 1 or 0 as text in a form`, async (t) => {
    const isAccepted = (value: unknown, isForm: boolean): Parsed<boolean> =>
      flag.read(value, reading({ isForm }));
    assert.equal(valueOf(isAccepted(true, false)), true);
    assert.equal(valueOf(isAccepted(false, false)), false);
    assert.equal(valueOf(isAccepted('true', true)), true);
    assert.equal(valueOf(isAccepted('1', true)), true);
    assert.equal(valueOf(isAccepted('false', true)), false);
    assert.equal(valueOf(isAccepted('0', true)), false);
    for (const value of ['true', 'false', '1', '0', 1, 0, null, '', 'yes', [], {}, [true]]) {
      await t.test(`JSON ${show(value)}`, () =>
        assert.equal(errorOf(isAccepted(value, false)), 'must be true or false'),
      );
    }
    for (const value of [
      'TRUE',
      'True',
      'yes',
      'on',
      'off',
      't',
      '01',
      '2',
      '-1',
      ' true',
      'null',
      null,
      '__proto__',
    ]) {
      await t.test(`form ${show(value)}`, () =>
        assert.equal(errorOf(isAccepted(value, true)), 'must be true or false'),
      );
    }
  });
}

test('currency can only be that of the store', () => {
  const { currency } = parameters;
  assert.equal(valueOf(currency.read('USD', reading())), null);
  assert.equal(valueOf(currency.read(null, reading())), null);
  assert.equal(errorOf(currency.read('EUR', reading())), 'must be USD, the store’s currency');
  for (const value of ['usd', 'Usd', ' USD', 'US', 'ABC', 'XXX', '', 840, true, ['USD'], {}]) {
    assert.equal(
      errorOf(currency.read(value, reading())),
      'must be an ISO 4217 currency code in upper case: USD, the store’s currency',
      show(value),
    );
  }
  const yen = reading({ store: storeWith({ currency: currencyOf('JPY') }) });
  assert.equal(valueOf(currency.read('JPY', yen)), null);
  assert.equal(errorOf(currency.read('USD', yen)), 'must be JPY, the store’s currency');
});

test('the code of a lookup is complete, in any spelling', () => {
  const { requiredCode } = parameters;
  assert.equal(
    valueOf(requiredCode.read('Q2M8 xk4w-9C0D-7f3k', reading()))[0].code.reveal(),
    'q2m8xk4w9c0d7f3k',
  );
  for (const value of [null, '', '7f3k', 'a'.repeat(21), 12_345_678, ['q2m8xk4w9c0d7f3k']]) {
    assert.equal(requiredCode.read(value, reading()).ok, false, show(value));
  }
});

test('an expected currency can be any valid one', () => {
  const { expectedCurrency } = parameters;
  assert.equal(valueOf(expectedCurrency.read(null, reading())), null);
  for (const value of ['USD', 'EUR', 'JPY']) {
    assert.equal(valueOf(expectedCurrency.read(value, reading())), value);
  }
  const error = 'must be an ISO 4217 currency code in upper case, such as USD';
  for (const value of ['usd', 'Usd', ' USD', 'USD ', 'US', 'ABC', 'XXX', 'USDT', '', 840, true, ['USD'], {}])
    assert.equal(errorOf(expectedCurrency.read(value, reading())), error, show(value));
});

test('a reference has at most 255 characters, and can be null or empty', () => {
  const { reference } = parameters;
  for (const value of [null, '']) assert.equal(valueOf(reference.read(value, reading())), null);
  for (const value of ['receipt-1017', 'é'.repeat(255), '😀'.repeat(255)]) {
    assert.equal(valueOf(reference.read(value, reading())), value);
  }
  for (const value of ['a'.repeat(256), '😀'.repeat(256)]) {
    assert.equal(errorOf(reference.read(value, reading())), 'must have at most 255 characters');
  }
  assert.equal(errorOf(reference.read(1017, reading())), 'must be a string');
});

for (const name of ['locationId', 'orderId', 'storefrontCustomerId'] as const)
  test(`${name} is an integer below 2^53, in JSON a number and in a form digits`, () => {
    const { [name]: orderId } = parameters;
    assert.equal(valueOf(orderId.read(null, reading())), null);
    for (const value of [1, 1001, Number.MAX_SAFE_INTEGER]) {
      assert.equal(valueOf(orderId.read(value, reading())), value);
      assert.equal(valueOf(orderId.read(String(value), reading({ isForm: true }))), value);
      assert.equal(orderId.read(String(value), reading()).ok, false);
    }
    const rejected = [0, -1, 1.5, 2 ** 53, '9007199254740992', '0', '01', '+1', '-1', ' 1', '1 ', '1.0', '1e3', '', true, [1], {}, new InexactNumber('9007199254740993')]; // prettier-ignore
    for (const value of rejected) {
      for (const isForm of [false, true]) {
        const error = errorOf(orderId.read(value, reading({ isForm })));
        assert.equal(error, 'must be an integer from 1 to 2^53 - 1', show(value));
      }
    }
  });

test('a hold lasts from a second to 7 days, and 15 minutes by default', () => {
  const { expiresIn } = parameters;
  assert.equal(valueOf(expiresIn.read(null, reading())), 900);
  for (const seconds of [1, 604_800]) {
    assert.equal(valueOf(expiresIn.read(seconds, reading())), seconds);
    assert.equal(valueOf(expiresIn.read(String(seconds), reading({ isForm: true }))), seconds);
    assert.equal(expiresIn.read(String(seconds), reading()).ok, false);
  }
  for (const value of [
    0,
    -1,
    1.5,
    604_801,
    '604801',
    '0',
    '01',
    '+1',
    ' 1',
    '1.0',
    '9e2',
    '',
    true,
    [900],
    {},
  ]) {
    for (const isForm of [false, true]) {
      const error = errorOf(expiresIn.read(value, reading({ isForm })));
      assert.equal(error, 'must be a whole number of seconds from 1 to 604800', show(value));
    }
  }
});
