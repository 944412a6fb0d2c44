/** Who calls: stores, tokens, and the demonstration store behind development mode. */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import {
  findDemonstrationStore,
  findStoreByDomain,
  hasRealStores,
  openProxySecret,
} from '../storage/store.ts';
import { together, type Script } from '../storage/sql.ts';
import { findActiveToken, isTokenActive, noteTokenUse, type FoundToken } from '../storage/token.ts';
import { tokenHash, type PresentedToken } from './token.ts';

/** A store, and what its storefront's app proxy signs with; null: it has no app proxy. */
export type Shop = { readonly store: Store; readonly proxySecret: Secret | null };

/** The store of a domain, which must be in lower case. */
export function* findShop(ctx: Context, domain: string): Script<Shop | undefined> {
  const record = yield* findStoreByDomain(domain);
  return record && { store: record.store, proxySecret: openProxySecret(ctx, record) };
}

/** The token that a request presents, if it works, and its store. */
export function* findPresented(token: PresentedToken): Script<FoundToken | undefined> {
  return yield* findActiveToken(token.storeId, tokenHash(token));
}

/** The demonstration store, for as long as the database holds no other: real stores close development mode. */
export function* findOpenDemonstrationStore(): Script<Store | undefined> {
  const [hasOthers, record] = yield* together(hasRealStores(), findDemonstrationStore());
  return hasOthers ? undefined : record?.store;
}

/** Whether who was let in before would still be: by a token, or without one in development mode. */
export function* isStillAllowed({
  storeId,
  tokenId,
}: {
  readonly storeId: number;
  readonly tokenId: number | null;
}): Script<boolean> {
  if (tokenId === null) return (yield* findOpenDemonstrationStore())?.id === storeId;
  return yield* isTokenActive(storeId, tokenId);
}

export type TokenUse = { readonly storeId: number; readonly id: number; readonly usedAt: number };

/** Notes when tokens were last used, many in one transaction, and always in one order: so no two wait for each other. */
export function* noteTokenUses(uses: readonly TokenUse[]): Script<void> {
  const inOrder = uses.toSorted((left, right) =>
    left.storeId === right.storeId ? left.id - right.id : left.storeId - right.storeId,
  );
  for (const { storeId, id, usedAt } of inOrder) yield* noteTokenUse(storeId, id, usedAt);
}
