/** A program with the types of openapi-typescript, and openapi-fetch. */

import createClient from 'openapi-fetch';
import type { components, paths } from './build/openapi-typescript.js';
import { bodyOf, outcomeOfCard, type Outcome } from './outcome.js';

export async function drive(baseUrl: string, token: string): Promise<Outcome> {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  const body = { initial_value: '25.00', email: 'ada@example.com' };
  const { gift_card: card } = bodyOf(await client.POST('/gift_card', { body }));
  if (!('code' in card)) throw new Error('a new card has no code');
  const { id, code } = card;
  const params = { path: { gift_card_id: id } };
  const { gift_card: read } = bodyOf(await client.GET('/gift_card/{gift_card_id}', { params }));
  const query = { last_characters: read.last_characters, email: 'ada@example.com' };
  const { gift_card: found } = bodyOf(await client.GET('/gift_card', { params: { query } }));
  const { gift_card: changed } = bodyOf(
    await client.PUT('/gift_card/{gift_card_id}', { params, body: { note: 'A client changed it' } }),
  );
  const redeemed = bodyOf(
    await client.POST('/gift_card/redeem', {
      params: { header: { 'Idempotency-Key': 'till-1' } },
      body: { code, amount: '10.00' },
    }),
  );
  const reversed = bodyOf(
    await client.POST('/transactions/{transaction_id}/reverse', {
      params: { path: { transaction_id: redeemed.transaction.id } },
      body: {},
    }),
  );
  const { gift_card: disabled } = bodyOf(
    await client.PUT('/gift_card/{gift_card_id}', { params, body: { disable: true } }),
  );
  const { error } = await client.POST('/gift_card/redeem', { body: { code, amount: '1.00' } });
  if (!error) throw new Error('a disabled card was redeemed');
  return {
    ...outcomeOfCard({
      issued: card,
      retrieved: read,
      isFound: found.id === id,
      changed,
      redeemed,
      reversed,
      disabled,
      error,
    }),
    ...(await activate(client)),
  };
}

async function activate(
  client: ReturnType<typeof createClient<paths>>,
): Promise<Pick<Outcome, 'activated' | 'stock'>> {
  const created = bodyOf(
    await client.POST('/stocks', { body: { name: 'Counter', count: 2, fixed_value: '50.00' } }),
  );
  const params = { path: { stock_id: created.stock.id } };
  while (bodyOf(await client.GET('/stocks/{stock_id}', { params })).stock.state !== 'complete')
    await new Promise<void>((resolve) => setTimeout(resolve, 50));
  const left = bodyOf(await client.GET('/stocks/{stock_id}/codes', { params }));
  // The other form is CSV.
  const [printed] = typeof left === 'string' ? [] : left.codes;
  if (!printed) throw new Error('the stock has no codes');
  const { gift_card: card } = bodyOf(
    await client.POST('/gift_card', {
      body: { code: printed.code, initial_value: '50.00', stock: 'required' },
    }),
  );
  const { stock } = bodyOf(await client.GET('/stocks/{stock_id}', { params }));
  return {
    activated: { balance: card.balance, expiresOn: card.expires_on },
    stock: { sold: stock.sold, left: stock.left },
  };
}

/** Reads the body of a webhook, as a receiver does. */
export function readEvent(body: string): string {
  const event = JSON.parse(body) as components['schemas']['WebhookEvent'];
  switch (event.type) {
    case 'gift_card.redeemed':
      return `${event.type} ${event.data.transaction?.amount} ${event.data.gift_card?.balance}`;
    case 'stock.completed':
      return `${event.type} ${event.data.stock?.printed}`;
    default:
      return event.type;
  }
}
