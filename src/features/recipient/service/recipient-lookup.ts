/**
 * Lookups of recipients, who have no credential: only the code. Failed ones use up a budget of the client's address.
 *
 * A code that the service generated has 80 random bits and cannot be guessed, so the right one is found even if the budget
 * of an address that many people share is exhausted. A code that the store chose can be guessed from many addresses, so
 * failed lookups of all clients use up a budget of the store as well. While that is exhausted, a card with a chosen code is
 * found only with the email address of its customer or recipient.
 *
 * The budgets decide which statements run, never the code, so a card that is not shown costs as much as an unknown code.
 */

import type { Context } from '../../../core/storage/context.ts';
import { isDisabled, type Card } from '../../../core/cards/domain/card.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import type { Fault } from '../../../core/domain/fault.ts';
import type { Readings } from '../../../core/cards/domain/given-code.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Logo, LogoMark } from '../../../core/stores/domain/logo.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { findCardView, saveFirstView } from '../../../core/cards/storage/view.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findLogo, findLogoMark } from '../../../core/stores/storage/logo.ts';
import { listTransfersBefore } from '../../../core/money/storage/transfer.ts';
import { findLocation } from '../../../core/stores/storage/location.ts';
import { findRefilledAt, type LookupCaller } from '../../../core/stores/storage/lookup-throttle.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import {
  assertStoreOpen,
  findDemonstrationStore,
  findFirstRealStore,
  findStoreByDomain,
  hasRealStores,
} from '../../../core/stores/storage/store.ts';
import { isAddressOf, lookUp, usesByKind } from '../../../core/cards/service/lookup.ts';
import {
  failuresLeft,
  releaseLookups,
  reserveLookups,
  type Budget,
} from '../../../core/cards/service/lookup-throttle.ts';

/** Failed lookups per hour of one address, if the store or the service has no lower limit. */
const perHourOfClient = 20;

/** The budget of the store is that of so many addresses. */
const clientsOfStore = 5;

/** A page of a store, and the failed lookups per hour that the service allows if the store has no limit of its own. */
export type RecipientLimits = { readonly store: Store; readonly perHour: number };

/** The person who searches. */
export type Recipient = RecipientLimits & {
  /** The key of the client's address. */
  readonly client: string;
};

/** The code and the address that a recipient typed. */
export type TypedCard = {
  readonly readings: Readings;
  /** Null: none, or not an address. */
  readonly address: EmailAddress | null;
};

export type RecipientOutcome =
  | {
      readonly kind: 'found';
      readonly card: Card;
      readonly code: Secret;
      /** Whether the service generated the code, of 80 random bits. */
      readonly isGenerated: boolean;
    }
  | {
      /** No card has the code, it is disabled, or its code was chosen and the address is not one of the card. */
      readonly kind: 'missed';
      /** The cards that had the code before they were given another one. */
      readonly retired: readonly number[];
      /** The lookup values of the codes that are in stock. */
      readonly stocked: readonly bigint[];
      readonly asksAddress: boolean;
    }
  | { readonly kind: 'throttled'; readonly fault: Fault };

/** Finds a card that is not disabled. All codes with the same number of possible digests run the same statements. */
export function* findCardOfRecipient(
  ctx: Context,
  recipient: Recipient,
  { readings, address }: TypedCard,
): Script<RecipientOutcome> {
  const [client, ofStore] = [clientBudget(ctx, recipient), storeBudget(ctx, recipient)];
  // Before the search, so that concurrent searches cannot exceed the budgets.
  const fault = yield* reserveLookups(client.caller, client.budget);
  const isStoreExhausted = !fault && (yield* reserveLookups(ofStore.caller, ofStore.budget)) !== null;
  const searched = yield* searchCode(ctx, recipient.store, readings);
  const { found } = searched;
  const isShown =
    found !== undefined &&
    (found.isGenerated || (!fault && (!isStoreExhausted || isAddressOf(found.card, address))));
  if (!fault) {
    // Without an address, the response is the same for all chosen codes, so it reveals nothing about them.
    const isFailed = !isShown && !(isStoreExhausted && address === null);
    yield* releaseLookups(client.caller, client.budget, isFailed ? 0 : 1);
    if (!isStoreExhausted) yield* releaseLookups(ofStore.caller, ofStore.budget, isFailed ? 0 : 1);
  }
  if (isShown) {
    const { card, code, isGenerated } = found;
    return { kind: 'found', card, code, isGenerated };
  }
  if (fault) return { kind: 'throttled', fault };
  return {
    kind: 'missed',
    retired: searched.retired,
    stocked: searched.stocked,
    asksAddress: isStoreExhausted,
  };
}

type FoundCode = { readonly card: Card; readonly code: Secret; readonly isGenerated: boolean };

/** Looks up a code. A disabled card is missed. */
function* searchCode(
  ctx: Context,
  store: Store,
  readings: Readings,
): Script<{
  readonly found: FoundCode | undefined;
  readonly retired: readonly number[];
  readonly stocked: readonly bigint[];
}> {
  const found = yield* lookUp(ctx, { store, readings, usableOnly: false });
  if (found.kind === 'missed') return { found: undefined, ...usesByKind(found.use ? [found.use] : []) };
  const { card, reading, isGenerated } = found;
  const shown = isDisabled(card) ? undefined : { card, code: reading.code, isGenerated };
  return { found: shown, ...usesByKind([]) };
}

/** Whether cards with chosen codes are found only with an address. */
export function* findAddressAsked(ctx: Context, limits: RecipientLimits): Script<boolean> {
  return (yield* countLeft(ctx, limits)) < 1;
}

/** Whether at least half of the store's budget was used up in the last hour. */
export function* findManyWrongCodes(ctx: Context, limits: RecipientLimits): Script<boolean> {
  return 2 * (yield* countLeft(ctx, limits)) <= storeBudget(ctx, limits).budget.perHour;
}

function* countLeft(ctx: Context, limits: RecipientLimits): Script<number> {
  const { caller, budget } = storeBudget(ctx, limits);
  return failuresLeft((yield* findRefilledAt(caller)) ?? 0, budget);
}

type OwnedBudget = { readonly caller: LookupCaller; readonly budget: Budget };

function perHourOf({ store, perHour }: RecipientLimits): number {
  return Math.min(store.lookupFailuresPerHour ?? perHour, perHourOfClient);
}

/** An address is personal, so only its keyed digest is stored. */
function clientBudget({ keys, wallClock }: Context, recipient: Recipient): OwnedBudget {
  const { store, client } = recipient;
  const digest = Buffer.from(keys.digest('client-address', client)).toString('base64url').slice(0, 22);
  return {
    caller: { storeId: store.id, caller: `recipient:${digest}` },
    budget: { now: wallClock.now(), perHour: perHourOf(recipient) },
  };
}

function storeBudget({ wallClock }: Context, limits: RecipientLimits): OwnedBudget {
  return {
    caller: { storeId: limits.store.id, caller: 'recipients' },
    budget: { now: wallClock.now(), perHour: clientsOfStore * perHourOf(limits) },
  };
}

/**
 * The store whose cards a page shows; undefined: there is no such page.
 * @param domain in lower case; null: the first store, whose page has no domain even if others follow.
 * @param options.showsDemonstration whether the visitor can see the demonstration, until there is a real store.
 * @throws Fault `store-closed`.
 */
function* findStoreOfPage(
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

/** The store of a page, with what the page shows of it. */
export type RecipientPage = {
  readonly store: Store;
  readonly settings: EmailSettings;
  readonly logo: LogoMark | null;
  /** Whether cards with chosen codes are found only with an address. */
  readonly asksAddress: boolean;
};

/** @param options.perHour as in `RecipientLimits`. @returns undefined as `findStoreOfPage`. @throws Fault `store-closed`. */
export function* findRecipientPage(
  ctx: Context,
  domain: string | null,
  { showsDemonstration, perHour }: { readonly showsDemonstration: boolean; readonly perHour: number },
): Script<RecipientPage | undefined> {
  const store = yield* findStoreOfPage(domain, { showsDemonstration });
  if (!store) return undefined;
  const [settings, logo, asksAddress] = yield* parallel(
    findEmailSettings(store.id),
    findLogoMark(store.id),
    findAddressAsked(ctx, { store, perHour }),
  );
  return { store, settings, logo, asksAddress };
}

/** The logo of the store of a page; null: it has none. @returns undefined and @throws Fault as `findStoreOfPage`. */
export function* findLogoOfPage(
  domain: string | null,
  options: { readonly showsDemonstration: boolean },
): Script<Logo | null | undefined> {
  const store = yield* findStoreOfPage(domain, options);
  return store && (yield* findLogo(store.id));
}

/** Records that a card was shown for the first time. Later ones write nothing. */
export function* recordFirstView(
  { clock }: Context,
  { storeId, id }: Pick<Card, 'storeId' | 'id'>,
): Script<void> {
  yield* saveFirstView({ storeId, cardId: id }, clock.now());
}

/** Movements of a card that its page shows. */
const movementsMax = 50;

/** Movements of a card, newest first, and the locations where they took place by their ids. */
export type ShownMovements = {
  readonly transfers: readonly Transfer[];
  readonly locations: ReadonlyMap<number, Location>;
  /** Whether the page has shown the card before. */
  readonly isViewed: boolean;
};

/** The newest movements of a card that was found. */
export function* listShownMovements({ storeId, id }: Pick<Card, 'storeId' | 'id'>): Script<ShownMovements> {
  const [transfers, { viewedAt }] = yield* parallel(
    listTransfersBefore({ storeId, cardId: id }, { before: null, limit: movementsMax }),
    findCardView({ storeId, cardId: id }),
  );
  const places = new Set(transfers.flatMap(({ locationId }) => (locationId === null ? [] : [locationId])));
  const found = yield* parallel(...Array.from(places, (place) => findLocation(storeId, place)));
  return {
    transfers,
    isViewed: viewedAt !== null,
    locations: new Map(found.flatMap((location) => (location ? [[location.id, location] as const] : []))),
  };
}
