/**
 * Lookups of recipients, who have no credential: only the code. Failed ones use up a budget of the client's address.
 *
 * A code that the service generated has 80 random bits and cannot be guessed, so the right one is found even if the budget
 * of an address that many people share is exhausted. Codes of a store can be short: they are searched within the budget.
 */

import type { Context } from '../context.ts';
import { isDisabled, type Card } from '../domain/card.ts';
import { tagOf } from '../domain/code.ts';
import type { Fault } from '../domain/fault.ts';
import type { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { findRefilledAt, returnShare, type LookupCaller } from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';
import {
  assertStoreOpen,
  findDemonstrationStore,
  findFirstRealStore,
  findStoreByDomain,
  hasRealStores,
} from '../storage/store.ts';
import { lookUp } from './card.ts';
import { lookupPeriodMs, recordFailedLookup, tooManyLookups } from './lookup-throttle.ts';

/** Failed lookups per hour of one address, if the store or the service has no lower limit. */
const perHourOfClient = 20;

/** Who searches. */
export type Recipient = {
  readonly store: Store;
  /** The key of the client's address. */
  readonly client: string;
  /** The failed lookups per hour that the service allows if the store has no limit of its own. */
  readonly perHour: number;
};

export type RecipientOutcome =
  | { readonly kind: 'found'; readonly card: Card; readonly code: Secret }
  /** No card has the code, or it is disabled. With the cards that had the code before they were given another one. */
  | { readonly kind: 'missed'; readonly retired: readonly number[] }
  | { readonly kind: 'throttled'; readonly fault: Fault };

/**
 * Finds a card that is not disabled. Unknown codes and those of disabled cards run the same statements.
 * @param codes a typed code, and what it can have been misread from.
 */
export function* findCardOfRecipient(
  ctx: Context,
  recipient: Recipient,
  codes: readonly Secret[],
): Script<RecipientOutcome> {
  const { store } = recipient;
  const now = ctx.clock.now();
  const perHour = Math.min(store.lookupFailuresPerHour ?? recipient.perHour, perHourOfClient);
  const caller = callerOf(ctx, recipient);
  // Used up before the search, so that concurrent searches cannot exceed the budget.
  const isWithinBudget = (yield* recordFailedLookup(caller, { now, perHour })) !== undefined;
  const retired: number[] = [];
  for (const code of codes) {
    if (!isWithinBudget && tagOf(code) === undefined) continue;
    const found = yield* lookUp(ctx, { store, code, usableOnly: false });
    if (found.kind === 'found' && !isDisabled(found.card)) {
      if (isWithinBudget) yield* returnShare(caller, Math.floor(lookupPeriodMs / perHour));
      return { kind: 'found', card: found.card, code };
    }
    if (found.kind === 'missed' && found.hadBy !== null) retired.push(found.hadBy);
  }
  if (isWithinBudget) return { kind: 'missed', retired };
  const refilledAt = (yield* findRefilledAt(caller)) ?? now;
  return { kind: 'throttled', fault: tooManyLookups(refilledAt, { now, perHour }) };
}

/** An address is personal, so only its keyed digest is stored. */
function callerOf({ keys }: Pick<Context, 'keys'>, { store, client }: Recipient): LookupCaller {
  const digest = Buffer.from(keys.digest('client-address', client)).toString('base64url').slice(0, 22);
  return { storeId: store.id, caller: `recipient:${digest}` };
}

/**
 * The store whose cards a page shows; undefined: there is no such page.
 * @param domain in lower case; null: the first store, whose page has no domain even if others follow.
 * @param options.showsDemonstration whether the visitor can see the demonstration, until there is a real store.
 * @throws Fault `store-closed`.
 */
export function* findStoreOfPage(
  domain: string | null,
  { showsDemonstration }: { readonly showsDemonstration: boolean },
): Script<Store | undefined> {
  if (domain !== null) {
    const record = yield* findStoreByDomain(domain);
    if (record) assertStoreOpen(record);
    if (record?.store.demonstration !== true) return record?.store;
    return showsDemonstration && !(yield* hasRealStores()) ? record.store : undefined;
  }
  const first = yield* findFirstRealStore();
  if (first) {
    assertStoreOpen(first);
    return first.store;
  }
  return showsDemonstration ? (yield* findDemonstrationStore())?.store : undefined;
}
