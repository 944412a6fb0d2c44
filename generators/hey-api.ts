/** A program with the client of @hey-api/openapi-ts. */

import { createClient, type Client } from './build/hey-api/client/index.js';
import {
  createGiftCard,
  createStock,
  listStockCodes,
  redeemGiftCard,
  retrieveGiftCard,
  retrieveStock,
  reverseTransaction,
  searchGiftCard,
  updateGiftCard,
} from './build/hey-api/sdk.gen.js';
import type { WebhookEvent } from './build/hey-api/types.gen.js';
import { bodyOf, outcomeOfCard, type Outcome } from './outcome.js';

export async function drive(baseUrl: string, token: string): Promise<Outcome> {
  // Without the condition, the client would also send the token as the signature of the app proxy.
  const client = createClient({ baseUrl, auth: ({ scheme }) => (scheme === 'bearer' ? token : '') });
  const body = { initial_value: '25.00', email: 'grace@example.com' };
  const { gift_card: card } = bodyOf(await createGiftCard({ client, body }));
  if (!('code' in card)) throw new Error('a new card has no code');
  const { id, code } = card;
  const path = { gift_card_id: id };
  const { gift_card: read } = bodyOf(await retrieveGiftCard({ client, path }));
  const query = { last_characters: read.last_characters, email: 'grace@example.com' };
  const { gift_card: found } = bodyOf(await searchGiftCard({ client, query }));
  const { gift_card: changed } = bodyOf(
    await updateGiftCard({ client, path, body: { note: 'A client changed it' } }),
  );
  const redeemed = bodyOf(
    await redeemGiftCard({
      client,
      headers: { 'Idempotency-Key': 'till-2' },
      body: { code, amount: '10.00' },
    }),
  );
  const reversed = bodyOf(
    await reverseTransaction({ client, path: { transaction_id: redeemed.transaction.id }, body: {} }),
  );
  const { gift_card: disabled } = bodyOf(await updateGiftCard({ client, path, body: { disable: true } }));
  const { error } = await redeemGiftCard({ client, body: { code, amount: '1.00' } });
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

async function activate(client: Client): Promise<Pick<Outcome, 'activated' | 'stock'>> {
  const created = bodyOf(
    await createStock({ client, body: { name: 'Counter', count: 2, fixed_value: '50.00' } }),
  );
  const path = { stock_id: created.stock.id };
  while (bodyOf(await retrieveStock({ client, path })).stock.state !== 'complete')
    await new Promise<void>((resolve) => setTimeout(resolve, 50));
  const { codes } = bodyOf(await listStockCodes({ client, path }));
  const [printed] = codes;
  if (!printed) throw new Error('the stock has no codes');
  const { gift_card: card } = bodyOf(
    await createGiftCard({
      client,
      body: { code: printed.code, initial_value: '50.00', stock: 'required' },
    }),
  );
  const { stock } = bodyOf(await retrieveStock({ client, path }));
  return {
    activated: { balance: card.balance, expiresOn: card.expires_on },
    stock: { sold: stock.sold, left: stock.left },
  };
}

/** Reads the body of a webhook, as a receiver does. */
export function readEvent(body: string): string {
  const event = JSON.parse(body) as WebhookEvent;
  switch (event.type) {
    case 'gift_card.redeemed':
      return `${event.type} ${event.data.transaction?.amount} ${event.data.gift_card?.balance}`;
    case 'stock.completed':
      return `${event.type} ${event.data.stock?.printed}`;
    default:
      return event.type;
  }
}
