/** Cards and pages of the till, for its tests. */

import assert from 'node:assert/strict';
import type { Browser } from './browser.ts';
import { consoleDomain } from './console.ts';
import type { IssuedGiftCard } from './responses.ts';
import type { TestResponse, TestService } from './service.ts';

export type TillCard = {
  readonly id: number;
  readonly code: string;
  /** Its balance at present. */
  readonly balance: () => Promise<string>;
  readonly change: (json: Readonly<Record<string, unknown>>) => Promise<void>;
  /** The kinds of its ledger entries, oldest first. */
  readonly entries: () => Promise<readonly string[]>;
};

/** Issues cards over the API. */
export async function cardIssuer(
  service: Pick<TestService, 'request' | 'token'>,
): Promise<(fields: Readonly<Record<string, unknown>>) => Promise<TillCard>> {
  const token = await service.token(consoleDomain);
  return async (fields) => {
    const { status, text } = await service.request('/gift_card', {
      method: 'POST',
      token,
      json: { gift_card: fields },
    });
    assert.equal(status, 201, text);
    const { id, code } = (JSON.parse(text) as { readonly gift_card: IssuedGiftCard }).gift_card;
    const read = async (path: string): Promise<Record<string, unknown>> =>
      JSON.parse((await service.request(path, { token })).text) as Record<string, unknown>;
    return {
      id,
      code,
      async balance() {
        return ((await read(`/gift_card/${id}`))['gift_card'] as IssuedGiftCard).balance;
      },
      async change(json) {
        const changed = await service.request(`/gift_card/${id}`, { method: 'PUT', token, json });
        assert.equal(changed.status, 200, changed.text);
      },
      async entries() {
        const { transactions } = (await read(`/gift_card/${id}/transactions`)) as {
          readonly transactions: readonly { readonly kind: string }[];
        };
        return transactions.map(({ kind }) => kind).toReversed();
      },
    };
  };
}

export function locationOf({ status, headers, text }: TestResponse): string {
  assert.equal(status, 303, text);
  return headers.get('location') ?? '';
}

/** The amount page of a card that was found by its code. */
export type AmountPage = { readonly path: string; readonly key: string; readonly page: TestResponse };

export async function findCard(browser: Browser, code: string): Promise<AmountPage> {
  const path = locationOf(await browser.post('/till/find', { code }));
  const page = await browser.get(path);
  assert.equal(page.status, 200, page.text);
  const key = /name="key" value="([\w-]{22})"/.exec(page.text)?.[1] ?? '';
  return { path, key, page };
}

/** Submits the form of an amount page. */
export async function redeem(
  browser: Browser,
  { path, key }: AmountPage,
  fields: Readonly<Record<string, string>>,
): Promise<TestResponse> {
  return await browser.post(path, { key, ...fields });
}

/** The text of a page without tags. */
export function plainText({ text }: TestResponse): string {
  return text
    .replaceAll(/<(?:style|script|template)[\s\S]*?<\/(?:style|script|template)>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', '’')
    .replaceAll(/\s+/g, ' ');
}
