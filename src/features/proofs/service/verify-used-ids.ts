/**
 * Verifies what finds a card apart from its code: the external ids of cards, transactions and holds against the ids that were
 * used, and the batches of cards against the parts that issued them.
 */

import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { listChanges, readFields } from '../../../core/cards/storage/change.ts';
import {
  countNamed,
  listBatchIds,
  listIssuedIds,
  listNamingCards,
  listUnusedNames,
  listUsedIds,
  type NamedKind,
  type UsedId,
} from '../storage/used-ids.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findChangesFrom } from '../../../core/stores/storage/change.ts';
import { externalDigestLength } from '../../../core/stores/storage/external-id.ts';
import { usedText } from '../../../core/requests/service/external-ids.ts';
import type { StoreCheck, StoreVerifying } from './row-check.ts';

const pageSize = 500;
const partsInPage = 50;

const nameOf = {
  card: () => 'it',
  transaction: (id: number) => `transfer ${id}`,
  hold: (id: number) => `hold ${id}`,
} satisfies Readonly<Record<NamedKind, (id: number) => string>>;

/** Compares external ids in both directions. Without keys, only lost ones are found. */
export const checkUsedIds: StoreCheck = function* (store, { left, found, externalDigests }) {
  const from = yield* findChangesFrom(store.id);
  const named = { card: 0, transaction: 0, hold: 0 };
  for (let after: UsedId | null = null; left() > 0;) {
    const uses: readonly UsedId[] = yield* listUsedIds(store.id, { after, limit: pageSize });
    for (const use of uses) {
      if (use.cardId === null) continue;
      if (use.text !== null) named[use.kind] += 1;
      if (yield* isOfUse(store, use, { from, externalDigests })) continue;
      const problem = `has another external id than was used for ${nameOf[use.kind](use.objectId)}`;
      found({ cardId: use.cardId, problem });
    }
    after = uses.at(-1) ?? null;
    if (!after || uses.length < pageSize) break;
  }
  const counted = yield* countNamed(store.id);
  if (
    left() === 0 ||
    (['card', 'transaction', 'hold'] as const).every((kind) => counted[kind] === named[kind])
  )
    return;
  for (const { kind, objectId, cardId } of yield* listUnusedNames(store.id, left()))
    found({
      cardId,
      problem: `has an external id that is not recorded as used for ${nameOf[kind](objectId)}`,
    });
};

/** Whether the row of an object has the external id that was used for it, or none, because it was erased. */
function* isOfUse(
  store: Store,
  { kind, digest, objectId, text, createdAt }: UsedId,
  { from, externalDigests }: Pick<StoreVerifying, 'externalDigests'> & { readonly from: number },
): Script<boolean> {
  if (text === null) {
    // The entries of transactions and the events of holds show whether their texts were erased.
    if (kind !== 'card' || createdAt === null || createdAt < from) return true;
    const changes = yield* listChanges(store.id, { after: objectId - 1, upTo: objectId });
    return changes.some((change) => readFields(change)?.some(({ field }) => field === 'external_id'));
  }
  return (
    externalDigests === undefined ||
    externalDigests(usedText({ storeId: store.id, kind, text })).some((each) =>
      sameBytes(each.subarray(0, externalDigestLength), digest),
    )
  );
}

/** Compares the batches that cards name with those whose parts list them. */
export const checkBatches: StoreCheck = function* (store, { left, found }) {
  for (let after: number | undefined = 0; after !== undefined && left() > 0;) {
    const batches: readonly number[] = yield* listBatchIds(store.id, { after, limit: pageSize });
    for (const batchId of batches)
      for (const cardId of yield* differingCards(store.id, batchId))
        found({ cardId, problem: 'is of another batch than the one that issued it' });
    after = batches.length < pageSize ? undefined : batches.at(-1);
  }
};

/** The cards that only name a batch, and those that only its parts list. */
function* differingCards(storeId: number, batchId: number): Script<ReadonlySet<number>> {
  const cards = new Set<number>();
  for (let from: number | undefined = 0; from !== undefined;) {
    const parts: readonly { readonly part: number; readonly cardIds: readonly number[] }[] =
      yield* listIssuedIds(storeId, batchId, { from, limit: partsInPage });
    for (const { cardIds } of parts) for (const id of cardIds) cards.add(id);
    const last = parts.at(-1);
    from = last && parts.length === partsInPage ? last.part + 1 : undefined;
  }
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: readonly number[] = yield* listNamingCards(storeId, batchId, { after, limit: pageSize });
    for (const id of page) if (!cards.delete(id)) cards.add(id);
    after = page.length < pageSize ? undefined : page.at(-1);
  }
  return cards;
}
