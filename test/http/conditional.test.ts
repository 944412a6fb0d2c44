/** ETag, If-None-Match and If-Match. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { assertEveryResponse, giftCardOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

const put = (id: number) => `PUT /gift_card/${id}` as const;
const get = (id: number) => `GET /gift_card/${id}` as const;

async function issueWithTag(): Promise<{ readonly id: number; readonly tag: string; readonly last: string }> {
  const { card, response } = await shop.creates(
    { json: { initial_value: 10, email: 'ada@example.com' } },
    { events: first ? ['customer.created', 'gift_card.created'] : ['gift_card.created'] },
  );
  first = false;
  const tag = response.headers.get('etag');
  assert.ok(tag);
  return { id: card.id, tag, last: card.last_characters };
}
let first = true;

test('every response with a card has the same tag, which changes with every change of the card', async () => {
  const { id, tag, last } = await issueWithTag();
  const seen = new Set([tag]);
  const search = `GET /gift_card?last_characters=${last}&email=ada@example.com` as const;
  const changes = [{ balance: 5 }, { note: 'x' }, { note: 'y' }, { expires_on: '2999-01-01' }, { balance: 10 }, { expires_on: null }, { note: null }, { disable: true }, { note: 'z' }];
  for (const json of changes) {
    const { headers } = await shop.ask(put(id), { json });
    const changed = headers.get('etag') ?? '';
    assert.ok(!seen.has(changed), `${JSON.stringify(json)} does not change ${changed}`);
    seen.add(changed);
    for (const line of [get(id), search]) assert.equal((await shop.ask(line)).headers.get('etag'), changed);
    assert.equal((await shop.ask(put(id), { json: {} })).headers.get('etag'), changed);
  }
  assert.equal(seen.size, changes.length + 1);
}); // prettier-ignore

test('no two cards share a tag', async () => {
  const tags = new Set<string>();
  for (let count = 0; count < 5; count += 1) tags.add((await issueWithTag()).tag);
  assert.equal(tags.size, 5);
});

test('If-None-Match with the current version returns a 304 without a body', async (t) => {
  const { id, tag, last } = await issueWithTag();
  const search = `GET /gift_card?last_characters=${last}&email=ada@example.com` as const;
  for (const line of [get(id), search, `HEAD /gift_card/${id}` as const]) {
    for (const given of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"a,b",W/"c" , ${tag}`, ` ${tag} `]) {
      await t.test(`${line.slice(0, 20)} ${given}`, async () => {
        const response = await unchanged(service, () =>
          shop.ask(line, { headers: { 'if-none-match': given } }),
        );
        assert.equal(response.status, 304);
        assert.equal(response.text, '');
        assert.equal(response.headers.get('etag'), tag);
        assert.equal(response.headers.get('cache-control'), 'no-store');
        assertEveryResponse(response);
      });
    }
  }
  for (const given of [
    '"other"',
    '',
    'nonsense',
    tag.slice(1, -1),
    `"x${tag.slice(1)}`,
    tag.replace('-1"', '-2"'),
    '"*"',
  ]) {
    await t.test(`not ${given}`, async () => {
      giftCardOf(await shop.ask(get(id), { headers: { 'if-none-match': given } }));
    });
  }
  await t.test('not after a change of the card', async () => {
    await shop.ask(put(id), { json: { note: 'changed' } });
    giftCardOf(await shop.ask(get(id), { headers: { 'if-none-match': tag } }));
  });
  await t.test('an unknown card is still a 404', () =>
    shop.rejects(get(1), { headers: { 'if-none-match': '*' } }, { code: 'not-found' }),
  );
});

test('a 304 has no Content-Type and no Content-Length', async () => {
  const { id, tag } = await issueWithTag();
  const { headers } = await shop.ask(get(id), { headers: { 'if-none-match': tag } });
  assert.equal(headers.get('content-type'), null);
  assert.equal(headers.get('content-length'), null);
});

test('If-Match with the current version accepts an update', async (t) => {
  const { id, tag } = await issueWithTag();
  let present = tag;
  for (const form of ['same', '*', 'listed', 'spaced']) {
    await t.test(form, async () => {
      const given =
        { same: present, '*': '*', listed: `"x", ${present}`, spaced: ` ${present} ` }[form] ?? '';
      const { response } = await shop.accepts(
        put(id),
        { json: { note: form }, headers: { 'if-match': given } },
        { events: ['gift_card.updated note'] },
      );
      present = response.headers.get('etag') ?? '';
    });
  }
});

test('If-Match with another version returns a 412, even for an invalid update', async (t) => {
  const { id, tag } = await issueWithTag();
  const { id: other, tag: others } = await issueWithTag();
  await shop.ask(put(other), { json: { note: 'as often changed' } });
  const changed = await shop.accepts(
    put(id),
    { json: { note: 'changed' } },
    { events: ['gift_card.updated note'] },
  );
  const present = changed.response.headers.get('etag') ?? '';
  const stale = [
    tag,
    tag.replace('-1"', '-2"'),
    present.replace('-2"', '-1"'),
    others,
    others.replace('-1"', '-2"'),
    '"x"',
    '',
    'nonsense',
    `W/${present}`,
    present.slice(1, -1),
    '"*"',
    present.replace('-2"', '-3"'),
  ];
  for (const given of stale) {
    await t.test(given, async () => {
      for (const json of [{ balance: 1 }, { disable: true }, {}, { note: 'changed' }]) {
        await shop.rejects(
          put(id),
          { json, headers: { 'if-match': given } },
          { code: 'precondition-failed' },
        );
      }
    });
  }
  await t.test('the current version is still accepted', async () => {
    await shop.accepts(
      put(id),
      { json: { balance: 1 }, headers: { 'if-match': present } },
      { events: ['gift_card.updated balance'] },
    );
  });
});

test('one of two updates with the same tag succeeds', async () => {
  const { id, tag } = await issueWithTag();
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      shop.ask(put(id), { json: { balance: index }, headers: { 'if-match': tag } }),
    ),
  );
  assert.equal(responses.filter(({ status }) => status === 200).length, 1);
  assert.equal(responses.filter(({ status }) => status === 412).length, 7);
});

test('If-Match on an unknown card returns a 404', () =>
  shop.rejects(put(1), { json: {}, headers: { 'if-match': '*' } }, { code: 'not-found' }));
