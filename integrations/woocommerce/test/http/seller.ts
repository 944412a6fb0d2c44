/** Sells cards in Largesse for the tests of a file, and remembers their codes. */

import assert from 'node:assert/strict';
import type { Shop } from './shop.ts';

export type SoldCard = { readonly id: number; readonly code: string };

/** All codes that were sold: the shop must not store one. */
export const soldCodes: string[] = [];

export async function sell(shop: Shop, initial_value: string): Promise<SoldCard> {
  const { gift_card: card } = await shop.cards().cards.create({ initial_value });
  const code = 'code' in card ? card.code : assert.fail();
  soldCodes.push(code);
  return { id: card.id, code };
}

export async function balanceOf(shop: Shop, { id }: { readonly id: number }): Promise<string> {
  return (await shop.cards().cards.retrieve(id)).gift_card.balance;
}
