/** Every route of the service, a line each. */

import type { Scope } from '../domain/store.ts';
import type { Answer } from '../service/idempotency.ts';
import { getCard, postCard, putCard, searchCard } from './card.ts';
import type { Exchange } from './exchange.ts';

/** An operation on a store's data: it has a caller, who needs a scope. */
export type Operation = {
  readonly id: 'createGiftCard' | 'searchGiftCard' | 'retrieveGiftCard' | 'updateGiftCard';
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the base path, in the router's notation. */
  readonly path: string;
  readonly scope: Scope;
  /** The query parameters it knows, besides the app proxy's. */
  readonly query: readonly string[];
  /** Whether a signed-in customer may make it without a token, where the store allows it. */
  readonly customerMaySearch: boolean;
  readonly handle: (exchange: Exchange) => Promise<Answer>;
};

const searchQuery = ['last_characters', 'email'];

// prettier-ignore
export const operations: readonly Operation[] = [
  { id: 'createGiftCard', method: 'POST', path: '/gift_card', scope: 'write_gift_cards', query: [], customerMaySearch: false, handle: postCard },
  { id: 'searchGiftCard', method: 'GET', path: '/gift_card', scope: 'read_gift_cards', query: searchQuery, customerMaySearch: true, handle: searchCard },
  { id: 'retrieveGiftCard', method: 'GET', path: '/gift_card/:gift_card_id', scope: 'read_gift_cards', query: [], customerMaySearch: false, handle: getCard },
  { id: 'updateGiftCard', method: 'PUT', path: '/gift_card/:gift_card_id', scope: 'write_gift_cards', query: [], customerMaySearch: false, handle: putCard },
];

/** What the service tells of itself: read with GET, no credential, at the root and below the base path. */
export const pagePaths = {
  health: '/healthz',
  readiness: '/readyz',
  metrics: '/metrics',
  openapi: '/openapi.json',
  reference: '/docs',
  referenceStyle: '/docs/reference.css',
  problem: '/docs/problems/:code',
} as const;

export type PageName = keyof typeof pagePaths;
