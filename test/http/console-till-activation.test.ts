/** The till activates a printed card that was scanned first. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { hiddenValue, joinAs } from '../support/counter.ts';
import { until } from '../support/delivering.ts';
import { shopOf } from '../support/shop.ts';
import { startService, type TestService } from '../support/service.ts';
import { locationOf, plainText } from '../support/till.ts';

async function cardsOf(service: TestService) {
  return await service.query('select balance, disabled_at from gift_cards order by id');
}

/** A store with printed cards in stock, and a cashier. */
async function openPrintedShop(codes: readonly string[], values: object) {
  const service = await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
  const shop = await shopOf(service, 'flowers.example');
  await shop.ask('POST /stocks', { json: { codes, ...values } });
  await until(async () => (await shop.ask('GET /stocks')).text.includes('"complete"'));
  return { service, shop, ann: await joinAs(service, { role: 'cashier', name: 'ann' }) };
}

test('a printed card is scanned first, then paid for and activated once, and no page has its code', async () => {
  const [code, other] = ['SCANNED-0001', 'SCANNED-0002'];
  const { service, shop, ann } = await openPrintedShop([code, other], {
    minimum_value: 10,
    maximum_value: 100,
  });
  await using _service = service;
  const scan = (browser: typeof ann, text: string) => browser.post('/till/find', { code: text });
  const page = await scan(ann, code);
  assert.equal(page.status, 200);
  assert.match(plainText(page), /Activate a card.*•••• 0001 is not sold yet.*\$10\.00 to \$100\.00/);
  const form = { key: hiddenValue(page, 'key'), sealed: hiddenValue(page, 'sealed') };
  const send = (fields: object, browser = ann) => browser.post('/till/activate', { ...form, ...fields });

  const wrong: readonly (readonly [amount: string, error: RegExp])[] = [
    ['', /Enter an amount such as/],
    ['9.99', /This printed card is sold for \$10\.00 to \$100\.00/],
    ['100.01', /This printed card is sold for/],
  ];
  for (const [amount, error] of wrong) {
    const rejected = await send({ amount });
    assert.equal(rejected.status, 422, amount);
    assert.match(plainText(rejected), error);
    assert.equal(hiddenValue(rejected, 'key'), form.key);
    assert.ok(hiddenValue(rejected, 'sealed'));
    assert.ok(!rejected.text.toLowerCase().includes('scanned0001'));
  }
  assert.ok(!page.text.toLowerCase().replaceAll('-', '').includes('scanned0001'));
  // Another person, a changed seal and none.
  const ben = await joinAs(service, { role: 'cashier', name: 'ben' });
  for (const response of [
    await send({ amount: '25' }, ben),
    await send({ amount: '25', sealed: `A${form.sealed.slice(1)}x` }),
    await send({ amount: '25', sealed: '' }),
  ])
    assert.equal(locationOf(response), '/till');
  assert.deepEqual(await cardsOf(service), []);

  // Two tills have scanned the same card.
  const second = await scan(ben, code);
  const sold = locationOf(await send({ amount: '25.50' }));
  assert.equal(locationOf(await send({ amount: '30' })), sold);
  assert.match(plainText(await ann.get(sold)), /sold on the card •••• 0001/);
  const late = await ben.post('/till/activate', {
    key: hiddenValue(second, 'key'),
    sealed: hiddenValue(second, 'sealed'),
    amount: '25.50',
  });
  assert.equal(late.status, 422);
  assert.match(plainText(late), /This card was sold before/);
  assert.deepEqual(
    (await cardsOf(service)).map(({ balance }) => Number(balance)),
    [2_550],
  );
  // The card can be redeemed now.
  assert.match(locationOf(await scan(ann, code)), /^\/till\/card\/\d+/);

  const redeeming = await shop.tokenFor('redeem_gift_cards');
  await shop.ask('POST /gift_card/lookup', { json: { code: other }, token: redeeming });
  await until(async () => plainText(await scan(ann, other)).includes('was tried before'));
});

test('the amount of a printed card with a fixed value is filled in', async () => {
  const { service, ann } = await openPrintedShop(['FIXED-CARD-01'], { fixed_value: '25.00' });
  await using _service = service;
  const page = await ann.post('/till/find', { code: 'FIXED-CARD-01' });
  assert.match(page.text, /id="amount"[^>]*value="25\.00"/);
  assert.match(plainText(page), /This printed card is sold for \$25\.00/);
});
