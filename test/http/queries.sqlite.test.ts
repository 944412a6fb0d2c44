/** Query strings: valid and invalid parameters. */

import test, { after } from 'node:test';
import { issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id, last_characters } = await shop.issue({ email: 'ada@example.com' });
const found = `last_characters=${last_characters}&email=ada@example.com`;

/** The four operations with their required queries. */
const operations = [
  { method: 'GET', path: '/gift_card', query: `${found}&` },
  { method: 'GET', path: `/gift_card/${id}`, query: '' },
  { method: 'POST', path: '/gift_card', query: '', json: { initial_value: 5 } },
  { method: 'PUT', path: `/gift_card/${id}`, query: '', json: {} },
] as const;

const unknown = ['is not a known parameter'];
const twice = ['is repeated'];

for (const { method, path, query, ...body } of operations) {
  const name = `${method} ${path.replace(String(id), '{id}')}`;
  const line = (more: string) => `${method} ${path}?${query}${more}` as const;

  test(`${name}: the parameters of the app proxy are accepted unsigned`, async () => {
    const added = 'shop=flowers.example&logged_in_customer_id=&path_prefix=%2Fapps%2Fgcf&timestamp=1';
    for (const more of [added, 'shop=elsewhere.example', 'timestamp=never&path_prefix=%3F', 'logged_in_customer_id=1', '&&', 'shop']) {
      if (method === 'POST') issuedGiftCardOf(await shop.ask(line(more), body));
      else await unchanged(service, () => shop.accepts(line(more), body));
    }
  }); // prettier-ignore

  test(`${name}: an unknown parameter is a 400 with its name`, async (t) => {
    const rejected: readonly (readonly [more: string, names: readonly string[]])[] = [
      ['page=1', ['page']],
      ['page', ['page']],
      ['=1', ['']],
      ['Shop=1', ['Shop']],
      ['gift_card[note]=1', ['gift_card[note]']],
      ['access_token=x', ['access_token']],
      ['hmac=x&locale=en', ['hmac', 'locale']],
      ['__proto__=1', ['__proto__']],
      ['%73hop_=1', ['shop_']],
      ['fields=id&shop=flowers.example', ['fields']],
      ['last_characters[]=abcd', ['last_characters[]']],
      ...(path === '/gift_card' && method === 'GET'
        ? []
        : [[found, ['last_characters', 'email']] as const, ['email=ada@example.com', ['email']] as const]),
    ];
    for (const [more, names] of rejected) {
      await t.test(more, () =>
        shop.rejects(line(more), body, {
          code: 'invalid-query',
          errors: Object.fromEntries(names.map((field) => [field, unknown])),
        }),
      );
    }
  });

  test(`${name}: a repeated parameter is a 400 with its name`, async (t) => {
    const rejected: readonly (readonly [more: string, name: string])[] = [
      ['shop=flowers.example&shop=flowers.example', 'shop'],
      ['timestamp=1&shop=a&timestamp=2', 'timestamp'],
      ['shop=a&%73hop=b', 'shop'],
      ['signature=a&signature=b', 'signature'],
      ['logged_in_customer_id=1&logged_in_customer_id=2', 'logged_in_customer_id'],
      ['path_prefix=%2F&path_prefix=%2F', 'path_prefix'],
      ...(path === '/gift_card' && method === 'GET'
        ? [
            ['email=ada@example.com', 'email'] as const,
            [`last_characters=${last_characters}`, 'last_characters'] as const,
          ]
        : []),
    ];
    for (const [more, field] of rejected) {
      await t.test(more, () =>
        shop.rejects(line(more), body, { code: 'invalid-query', errors: { [field]: twice } }),
      );
    }
  });

  test(`${name}: all repeated parameters are listed together`, () =>
    shop.rejects(line('shop=a&timestamp=1&shop=a&timestamp=1'), body, {
      code: 'invalid-query',
      errors: { shop: twice, timestamp: twice },
    }));

  test(`${name}: an unknown repeated parameter has one error`, () =>
    shop.rejects(line('page=1&page=2'), body, {
      code: 'invalid-query',
      errors: { page: [...unknown, ...twice] },
    }));

  test(`${name}: a malformed query is a 400`, async (t) => {
    for (const more of ['shop=%', 'shop=%zz', 'shop=%ff', '%c3%28=1', 'shop=%E2%98', 'shop=%00%']) {
      await t.test(more, () => shop.rejects(line(more), body, { code: 'invalid-query' }));
    }
  });

  test(`${name}: a malformed query is reported before a missing credential`, async () => {
    await unchanged(service, async () =>
      problemOf(await service.request(`${path}?${query}page=1`, { method, ...body }), {
        code: 'invalid-query',
        errors: { page: unknown },
      }),
    );
  });
}
