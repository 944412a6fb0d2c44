/** Every rule of every parameter, bodies in all formats, and all errors in one response. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { shopOf, type Ask } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 60 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

const { id, code } = await shop.issue();
const debit = await shop.debits(id, '5');
const hold = await shop.holds(id, '4');
/** Writes that are all rejected here and can share one card. `needs` lists the required parameters. */
const writes = {
  redeem: { line: 'POST /gift_card/redeem', wrapper: 'transaction', needs: { code, amount: 1 }, knows: ['code', 'amount', 'currency', 'reference', 'note', 'order_id', 'order_reference', 'location_id', 'partial'] },
  debit: { line: `POST /gift_card/${id}/debit`, wrapper: 'transaction', needs: { amount: 1 }, knows: ['amount', 'currency', 'reference', 'note', 'order_id', 'order_reference', 'location_id', 'partial'] },
  credit: { line: `POST /gift_card/${id}/credit`, wrapper: 'transaction', needs: { amount: 1 }, knows: ['amount', 'currency', 'reference', 'note', 'order_id', 'order_reference', 'location_id'] },
  hold: { line: `POST /gift_card/${id}/holds`, wrapper: 'hold', needs: { amount: 1 }, knows: ['amount', 'currency', 'reference', 'note', 'order_id', 'order_reference', 'location_id', 'expires_in'] },
  capture: { line: `POST /holds/${hold.id}/capture`, wrapper: 'transaction', needs: {}, knows: ['amount', 'reference', 'note', 'order_id', 'order_reference', 'location_id'] },
  void: { line: `POST /holds/${hold.id}/void`, wrapper: 'hold', needs: {}, knows: [] },
  reverse: { line: `POST /transactions/${debit.id}/reverse`, wrapper: 'transaction', needs: {}, knows: ['amount', 'reference', 'note', 'order_id', 'order_reference', 'location_id'] },
  undo: { line: `POST /gift_card/${id}/undo`, wrapper: 'gift_card', needs: {}, knows: [] },
  lookup: { line: 'POST /gift_card/lookup', wrapper: 'gift_card', needs: { code }, knows: ['code'] },
} as const satisfies Record<string, { line: string; wrapper: string; needs: object; knows: readonly string[] }>; // prettier-ignore

type Name = keyof typeof writes;
const names = Object.keys(writes) as Name[];
const knowing = (parameter: string): Name[] =>
  names.filter((name) => (writes[name].knows as readonly string[]).includes(parameter));

async function rejects(
  name: Name,
  ask: Ask,
  errors: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await shop.rejects(writes[name].line, ask, { code: 'invalid-parameter', errors });
}

const long = (length: number) => '😀'.repeat(length);
const control = 'must not contain control characters other than newline and tab';
const orderId = 'must be an integer from 1 to 2^53 - 1';
const seconds = 'must be a whole number of seconds from 1 to 604800';

/** Invalid values of each parameter, some with the expected message. */
const rejectedValues: Readonly<Record<string, readonly (readonly [value: unknown, message?: string])[]>> = {
  amount: [
    [0, 'must be greater than 0'], [-1], ['0.00', 'must be greater than 0'], ['-1'], ['1e3'], ['+5'], [' 5'], ['1,00'], ['0x10'], ['NaN'],
    ['.5'], ['5.'], ['05'], [''], [4.005], ['4.005'], ['1234567890123'], [1e12], [true], [[5]], [{ amount: 5 }], ['５'],
  ],
  currency: [['usd'], ['Usd'], ['ABC'], ['XXX'], ['US'], ['DOLLAR'], [''], [840], [true], [{}]].map(([value]) => [value, 'must be an ISO 4217 currency code in upper case, such as USD']),
  reference: [[1, 'must be a string'], [long(256), 'must have at most 255 characters'], ['a\u0007', control], ['\ud800', 'must be valid Unicode'], [['x'], 'must be a string']],
  order_reference: [[1, 'must be a string'], ['', 'must have 1 to 255 characters'], [long(256), 'must have at most 255 characters'], ['a\u0007', control]],
  note: [[1, 'must be a string'], [long(5_001), 'must have at most 5,000 characters'], ['\u0000', control], ['\udc00', 'must be valid Unicode'], [{}, 'must be a string']],
  order_id: [['7'], [0], [-1], [1.5], ['1.5'], ['01'], ['x'], [''], [9_007_199_254_740_992], ['9007199254740992'], [true]].map(([value]) => [value, orderId]),
  location_id: [['7'], [0], [-1], [1.5], ['x']].map(([value]) => [value, orderId]),
  expires_in: [['900'], [0], [-1], [604_801], ['604801'], [1.5], ['15m'], ['0900'], [''], [true], [[900]]].map(([value]) => [value, seconds]),
  partial: [['yes'], ['true'], [1], [0], [null], [{}]].map(([value]) => [value, 'must be true or false']),
  code: [[12_345_678], ['123456'], ['a'.repeat(21)], ['abcd_e'], [null], [true]],
}; // prettier-ignore

for (const [parameter, values] of Object.entries(rejectedValues)) {
  for (const name of knowing(parameter)) {
    test(`${name} rejects an invalid ${parameter}`, async () => {
      for (const [value, message] of values) {
        const json = { ...writes[name].needs, [parameter]: value };
        const response = await shop.returnsError(writes[name].line, { json }, { code: 'invalid-parameter' });
        const { errors } = response.json as { errors: Record<string, string[]> };
        assert.deepEqual(Object.keys(errors), [parameter], JSON.stringify(value));
        if (message !== undefined) assert.deepEqual(errors[parameter], [message], JSON.stringify(value));
      }
    });
  }
}

test('numbers that are too large to be exact are rejected, not rounded', async () => {
  for (const amount of ['0.1000000000000000055', '9007199254740993', '1e-400'])
    await shop.rejects(writes.debit.line, raw(`{"amount": ${amount}}`), { code: 'invalid-parameter' });
});

function raw(text: string): Ask {
  return { form: text, headers: { 'content-type': 'application/json' } };
}

test('a missing required parameter is an error with its name', async () => {
  for (const name of ['debit', 'credit', 'hold'] as const) {
    for (const ask of [{}, { json: {} }, { json: { amount: null } }, { json: { [writes[name].wrapper]: {} } }, { form: '' }, { form: 'amount=' }])
      await rejects(name, ask, { amount: ['is required'] });
  }
  await rejects('redeem', { json: {} }, { code: ['is required'], amount: ['is required'] });
  await rejects('lookup', {}, { code: ['is required'] });
}); // prettier-ignore

for (const name of names) {
  const { line, wrapper, needs, knows } = writes[name];
  test(`${name} rejects all unknown parameters together`, async () => {
    const all = ['amount', 'currency', 'reference', 'note', 'order_id', 'order_reference', 'location_id', 'expires_in', 'partial', 'code', 'balance', 'id', 'expires_at', '__proto__'];
    const others = all.filter((one) => !(knows as readonly string[]).includes(one));
    const errors = Object.fromEntries(others.map((one) => [one, ['is not a known parameter']]));
    const json = Object.fromEntries([...Object.entries(needs), ...others.map((one) => [one, null] as const)]);
    await rejects(name, { json }, errors);
    await rejects(name, { json: { [wrapper]: json } }, errors);
  }); // prettier-ignore

  test(`${name} accepts its body bare or in its own wrapper, not both, and in no other wrapper`, async () => {
    const both = {
      json: { [wrapper]: needs, note: 'x' },
    };
    await rejects(name, both, { [wrapper]: ['cannot be combined with parameters outside it'] });
    for (const inner of [null, 'x', 5, [needs], true])
      await rejects(name, { json: { [wrapper]: inner } }, { [wrapper]: ['must be an object'] });
    for (const other of ['gift_card', 'transaction', 'hold'].filter((one) => one !== wrapper)) {
      const response = await shop.returnsError(
        line,
        { json: { [other]: needs } },
        { code: 'invalid-parameter' },
      );
      assert.match(response.text, new RegExp(`"${other}":\\["is not a known parameter"\\]`));
    }
  });

  test(`${name} rejects malformed bodies`, async () => {
    const type = (value: string) => ({ 'content-type': value });
    for (const text of ['{', '[]', 'null', '5', '"x"'])
      await shop.rejects(line, raw(text), { code: 'invalid-body' });
    const twice = { code: 'invalid-body', errors: { amount: ['is repeated'] } } as const;
    await shop.rejects(line, raw('{"amount":1,"amount":2}'), twice);
    await shop.rejects(line, raw(`{"${wrapper}":{"amount":1,"amount":1}}`), twice);
    await shop.rejects(line, { form: 'amount=1&amount=1' }, twice);
    await shop.rejects(line, { form: 'amount=%zz' }, { code: 'invalid-body' });
    await shop.rejects(line, { json: {}, headers: type('text/plain') }, { code: 'unsupported-media-type' });
    await shop.rejects(line, raw(`{"note":"${'x'.repeat(65_536)}"}`), { code: 'body-too-large' });
    await shop.rejects(
      `${line}?amount=1`,
      { json: needs },
      { code: 'invalid-query', errors: { amount: ['is not a known parameter'] } },
    );
  });
}

test('all errors are returned together, and nothing is applied', async () => {
  const json = { amount: 0, currency: 'usd', reference: 5, note: 6, order_id: 0, partial: 'x', expires_at: 1 };
  const { errors } = (await shop.returnsError(writes.debit.line, { json }, { code: 'invalid-parameter' })).json as { errors: object };
  assert.deepEqual(Object.keys(errors).toSorted(), ['amount', 'currency', 'expires_at', 'note', 'order_id', 'partial', 'reference']);
}); // prettier-ignore

test('a value that is valid in JSON is valid in a form', async () => {
  const { id: cardId } = await shop.issue({ initial_value: 100 });
  const line = `POST /gift_card/${cardId}/debit`;
  const text = `${long(254)}\t`;
  for (const [ask, expected] of [
    [{ json: { amount: 1, reference: text, note: long(5_000) } }, ['-1.00', text, long(5_000), null]],
    [{ json: { transaction: { amount: '1.0', reference: '', note: 'a\nb', order_id: 9_007_199_254_740_991 } } }, ['-1.00', null, 'a\nb', 9_007_199_254_740_991]],
    [{ json: { amount: 0.1, currency: null, reference: null, note: null, order_id: null, partial: false } }, ['-0.10', null, null, null]],
    [{ json: { amount: 1.1, order_id: 12 } }, ['-1.10', null, null, 12]],
    [{ form: 'amount=1.10&currency=USD&reference=a+b%20c&note=&order_id=12&partial=0' }, ['-1.10', 'a b c', null, 12]],
    [{ form: 'transaction%5Bamount%5D=2&transaction[reference]=%F0%9F%98%80&transaction[partial]=false' }, ['-2.00', '😀', null, null]],
    [{ form: 'amount=1&currency=&reference=&order_id=' }, ['-1.00', null, null, null]],
  ] as const) {
    const { transaction } = await shop.does(line, ask, { events: ['gift_card.redeemed'] });
    assert.deepEqual([transaction.amount, transaction.reference, transaction.note, transaction.order_id], expected);
  }
  const placed = await shop.does(`POST /gift_card/${cardId}/holds`, { form: 'hold[amount]=1&hold[expires_in]=60&hold[note]=x' }, { events: ['gift_card.held'] });
  assert.deepEqual([placed.hold.amount, placed.hold.note], ['1.00', 'x']);
}); // prettier-ignore

test('the rejected requests did not change the card', async () => {
  const { balance, held } = await shop.lookUp(code);
  assert.deepEqual([balance, held], ['20.00', '4.00']);
  await shop.assertNoCodeLeaked();
});
