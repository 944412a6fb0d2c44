/** Who calls: stores, tokens, and the demonstration store behind development mode. */

import type { Store } from '../domain/store.ts';
import {
  findDemonstrationStore,
  findStoreByDomain,
  hasRealStores,
  type StoreRecord,
} from '../storage/store.ts';
import { constant, together, type Script } from '../storage/sql.ts';
import { findActiveToken, isTokenActive, noteTokenUse, type FoundToken } from '../storage/token.ts';
import { tokenHash, type PresentedToken } from './token.ts';

/** What a request brings along to say who it is. */
export type Presented = {
  readonly token: PresentedToken | null;
  /** The domain that a signed request names, lower case. */
  readonly shop: string | null;
};

export type Identity = {
  /** The token, if one was presented and it works, and its store. */
  readonly token: FoundToken | undefined;
  /** The store that a signed request names. */
  readonly shop: StoreRecord | undefined;
};

/** Looks up what a request brought along. */
export function* identify({ token, shop }: Presented): Script<Identity> {
  const [foundToken, foundShop] = yield* together(
    token ? findActiveToken(token.storeId, tokenHash(token)) : constant(undefined),
    shop === null ? constant(undefined) : findStoreByDomain(shop),
  );
  return { token: foundToken, shop: foundShop };
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
