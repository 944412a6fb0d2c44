/** Verifies the changes of cards: their chains, and that undoing them leads from the card to what was issued. */

import type { FieldName, FieldValue } from '../../../core/cards/domain/change.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes } from '../../../platform/keys.ts';
import {
  changeHash,
  commitmentOf,
  listChanges,
  readFields,
  type ReadField,
  type WalkedChange,
} from '../../../core/cards/storage/change.ts';
import {
  countChanges,
  listChangedCards,
  listIssuedTerms,
  listLooseChanges,
  listUnrecordedChanges,
  type ChangedCard,
} from '../storage/change-scan.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findChangesFrom, listStoreChanges } from '../../../core/stores/storage/change.ts';
import type { Finding, StoreVerifying } from './row-check.ts';

const pageSize = 500;

export function* checkChanges(store: Store, { left, found, read }: StoreVerifying): Script<void> {
  for (const finding of yield* verifyStoreChanges(store)) found(finding);
  const from = yield* findChangesFrom(store.id);
  let walked = 0;
  for (let after: number | undefined = 0; after !== undefined && left() > 0;) {
    const cards: readonly ChangedCard[] = yield* listChangedCards(store.id, { after, limit: pageSize });
    const last = cards.at(-1);
    if (!last) break;
    const range = { after, upTo: last.cardId };
    const [changes, issued] = yield* parallel(listChanges(store.id, range), listIssuedTerms(store.id, range));
    walked += changes.length;
    read(changes.length);
    const chains = Map.groupBy(changes, ({ chainOf }) => chainOf);
    for (const card of cards) {
      const { cardId, createdAt } = card;
      const first = createdAt >= from ? { expiresOn: issued.get(cardId) } : null;
      for (const problem of problemsOf(card, chains.get(cardId) ?? [], first)) found({ cardId, problem });
    }
    after = cards.length < pageSize ? undefined : last.cardId;
  }
  const limit = left();
  if (limit === 0) return;
  const [count, unrecorded] = yield* parallel(
    countChanges(store.id),
    listUnrecordedChanges(store.id, { from, limit }),
  );
  for (const cardId of unrecorded)
    found({ cardId, problem: 'differs from what was issued, but has no changes' });
  if (count !== walked)
    for (const { cardId, id, hasCard } of yield* listLooseChanges(store.id, limit)) {
      const problem = hasCard
        ? `change ${id} is not part of its chain`
        : 'has changes, but the card does not exist';
      found({ cardId, problem });
    }
}

/**
 * @param first the expiry with which the card was issued, `undefined` if its first transfer is missing; null: changes were
 * not recorded from the start.
 */
function problemsOf(
  card: ChangedCard,
  chain: readonly WalkedChange[],
  first: { readonly expiresOn: string | null | undefined } | null,
): readonly string[] {
  const problems: string[] = [];
  let previous: WalkedChange | undefined;
  /** By field: the value after the changes so far; undefined: it was erased. */
  const values = new Map<FieldName, FieldValue | undefined>();
  for (const [index, change] of chain.entries()) {
    const name = `change ${change.id}`;
    if (change.cardId !== card.cardId) problems.push(`${name} is a change of another card`);
    if (change.sequence !== index + 1)
      problems.push(`${name} has the sequence number ${change.sequence}, not ${index + 1}`);
    if (
      change.previousId !== (previous?.id ?? null) ||
      (change.salt === null) !== (previous !== undefined) ||
      !sameBytes(change.hash, changeHash(previous?.hash ?? null, change))
    )
      problems.push(`the hash of ${name} does not match its content`);
    const fields = readFields(change);
    if (fields) for (const field of fields) problems.push(...problemsOfField(name, field, values, first));
    else problems.push(`${name} cannot be read`);
    previous = change;
  }
  const { end } = card;
  const isAtEnd =
    end.changeId === (previous?.id ?? null) &&
    end.count === chain.length &&
    sameBytes(end.hash ?? noHash, previous?.hash ?? noHash);
  if (!isAtEnd) problems.push('has another last change than the end of its chain');
  for (const [field, value] of values)
    if (value !== undefined && value !== (card.values.get(field) ?? null))
      problems.push(`has another ${field} than after its last change`);
  if (first) problems.push(...problemsOfUnchanged(card, values, first.expiresOn));
  return problems;
}

const noHash = new Uint8Array(32);

function problemsOfField(
  name: string,
  { field, old, new: next, isErased = false, salt, hashed }: ReadField,
  values: Map<FieldName, FieldValue | undefined>,
  first: { readonly expiresOn: string | null | undefined } | null,
): readonly string[] {
  const problems: string[] = [];
  const isCommitted =
    salt === null || (commitmentOf(salt, old) === hashed[0] && commitmentOf(salt, next) === hashed[1]);
  if (!isCommitted) problems.push(`the ${field} of ${name} was changed`);
  // Only the absence of an erased value is known.
  const isOldKnown = !isErased || hashed[0] === null;
  const issued = field === 'expires_on' ? first?.expiresOn : undefined;
  const before = values.has(field) ? values.get(field) : issued;
  if (before !== undefined && isOldKnown && before !== old)
    problems.push(`${name} begins with another ${field} than the card had`);
  values.set(field, isErased && hashed[1] !== null ? undefined : next);
  return problems;
}

/** The fields that no change has, of a card whose changes were recorded from the start. */
function problemsOfUnchanged(
  card: ChangedCard,
  values: ReadonlyMap<FieldName, unknown>,
  issuedExpiresOn: string | null | undefined,
): readonly string[] {
  const problems: string[] = [];
  const differs = (field: FieldName, value: FieldValue | undefined): boolean =>
    !values.has(field) && value !== undefined && (card.values.get(field) ?? null) !== value;
  if (differs('expires_on', issuedExpiresOn)) problems.push('has another expires_on than it was issued with');
  if (differs('disabled_at', null)) problems.push('is disabled, but has no change of disabled_at');
  if (differs('suspended_at', null)) problems.push('is suspended, but has no change of suspended_at');
  if (differs('suspend_reason', null)) problems.push('has a suspend_reason, but no change of it');
  if (card.hasOtherCode !== values.has('code')) problems.push('has a code that does not match its changes');
  return problems;
}

function* verifyStoreChanges(store: Store): Script<readonly Finding[]> {
  const findings: Finding[] = [];
  const changes = yield* listStoreChanges(store.id);
  // The latest first.
  let after: string | null = store.timeZone;
  for (const { id, old, new: next } of changes) {
    if (next !== after)
      findings.push({ cardId: null, problem: `store_changes: the change ${id} leads to another time zone` });
    after = old;
  }
  return findings;
}
