/** Operations on gift cards. Each is one transaction. */

import type { Context } from '../../storage/context.ts';
import {
  type Card,
  effectiveChanges,
  isSuspended,
  validateChanges,
  type CardChanges,
} from '../../domain/cards/card.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import type { EmailStatus } from '../../domain/cards/state.ts';
import type { Secret } from '../../platform/secret.ts';
import { type Store, aboveLimit, isAbove } from '../../domain/stores/store.ts';
import { insertCard, replaceCard, type CurrentCard } from '../../storage/cards/card.ts';
import { findByCode, insertChosenCode, insertCode } from '../../storage/cards/code.ts';
import { type Script, resolved, parallel } from '../../storage/sql/sql.ts';
import {
  today,
  record,
  releaseHold,
  requireCard,
  requireVersion,
  transferOf,
  type Closing,
} from '../money/money.ts';
import type { CardDetails } from '../../domain/cards/fields.ts';
import { codeTaken, lastCharactersOf } from '../../domain/cards/code.ts';
import { cardCreatedEvent, cardReenabledEvent, cardUpdateEvents } from '../../domain/events/event.ts';
import { Fault, FieldErrors } from '../../domain/fault.ts';
import { isHoldExpired, type Hold } from '../../domain/money/hold.ts';
import { adjustmentOf, issueOf } from '../../domain/money/ledger.ts';
import type { Money } from '../../domain/money/money.ts';
import { matchesRecord, type ReadOnlyField } from '../../domain/record.ts';
import { formatVat, type Vat } from '../../domain/money/vat.ts';
import { findChangeEnd, recordChange } from '../../storage/cards/change.ts';
import { findDetailedCards } from '../../storage/cards/detailed-card.ts';
import { findOrInsertCustomer, type ResolvedCustomer } from '../../storage/customers/customer.ts';
import { recordEvent } from '../../storage/events/event.ts';
import { listOpenHolds } from '../../storage/money/hold.ts';
import { endAt, insertTransfer, openChain } from '../../storage/money/transfer.ts';
import { findChosenCode, sellCode } from '../../storage/stocks/code.ts';
import { withExternalId, type ExternalRequest } from '../requests/external-ids.ts';
import { linkNewCustomer, findLinkError, recordIfNewCustomer } from '../customers/customer.ts';
import { enqueueCardEmails, assertSendTime, type CardEmails } from '../emails/email.ts';
import { codeError, findActivation, type Activation, type StockUse } from '../stocks/activation.ts';
import { recordSuspendedIssue } from './suspension.ts';

export type IssueCommand = {
  readonly store: Store;
  /** The API client that creates the card; null if there is none. */
  readonly apiClientId: number | null;
  readonly actor: string;
  /** The location at which the card is issued; absent: at no location. */
  readonly locationId?: number | null;
  readonly value: Money;
  readonly details: CardDetails;
  readonly customer: EmailAddress | null;
  /** The customer's id on the storefront; absent or null: the existing link does not change. */
  readonly storefrontCustomerId?: number | null;
  readonly recipient: EmailAddress | null;
  /** The code that the store chose; null: a random one. */
  readonly code: Secret | null;
  /** Whether a code in stock is activated; absent: it counts as used. */
  readonly stock?: StockUse;
  /** The card's VAT; absent: the store's. */
  readonly vat?: Vat | null;
  /** The emails of the new card; absent: none. */
  readonly emails?: CardEmails;
  /** Whether the card is suspended until it is resumed; absent: no. */
  readonly isSuspended?: boolean;
};

export type Issued = {
  readonly card: Card;
  readonly code: Secret;
  /** The activation of a printed card; absent: the card was not in stock. */
  readonly activation?: Activation;
};

type IssuedOnce = Omit<Issued, 'code'> & { readonly code: Secret | null };

/** Returns the request of an issue with an external id; null: it has none. Names, addresses and texts are not compared. */
export function externalIssueOf({
  store,
  actor,
  details,
  value,
  vat,
  code,
}: IssueCommand): ExternalRequest | null {
  const { externalId: text, expiresOn } = details;
  if (text === null) return null;
  const asked = [
    'issue',
    value.minor.toString(),
    expiresOn,
    vat === undefined ? 'default' : vat && formatVat(vat),
    code && code.reveal(),
  ];
  return { storeId: store.id, kind: 'card', text, actor, asked };
}

/**
 * Issues a card, unless an earlier request with the same external id has issued it.
 * @returns also the code; null: the card was issued before, as `card` is now.
 * @throws Fault `external-id-used`; and as `issue` does.
 */
export function* issueOnce(ctx: Context, command: IssueCommand): Script<IssuedOnce> {
  const { result } = yield* withExternalId<IssuedOnce>(ctx, externalIssueOf(command), {
    run: () => issueCard(ctx, command),
    idOf: ({ card }) => card.id,
    *find(id) {
      return { card: yield* requireCard(command.store.id, id), code: null };
    },
  });
  return result;
}

/** Issues a card. @throws Fault as `issueCard` does; `external-id-used` if a card was issued with its external id. */
export function* issue(ctx: Context, command: IssueCommand): Script<Issued> {
  const { code, ...issued } = yield* issueOnce(ctx, command);
  if (!code) throw new Fault('external-id-used');
  return { ...issued, code };
}

/**
 * Inserts a card with its code and first transfer, and its customers if they are new.
 * @throws Fault `invalid-parameter` if the store has used the chosen code before, the customer cannot be linked to the
 * storefront id, an email is scheduled and the store does not send emails, or the card is not what the stock of its code
 * demands; `already-activated`.
 */
function* issueCard(ctx: Context, command: IssueCommand): Script<Issued> {
  const { store, value, emails } = command;
  const code = command.code ?? ctx.codeCohorts.generate(store.id, ctx);
  const now = ctx.clock.now();
  // Before the first step: cards that are issued together have ids in their order.
  const id = ctx.random.id();
  const [forCustomer, forRecipient] = yield* parallel(
    findOrInsert(ctx, store, command.customer),
    findOrInsert(ctx, store, command.recipient),
    emails ? assertSendTime(store.id, emails) : resolved(undefined),
  );
  const customer = yield* linkAndRecord(ctx, command, forCustomer);
  // After the customer: the errors of a storefront id and of the code are returned together.
  const activation = yield* findActivationOf(ctx, command);
  const recipient = yield* recordIfNew(ctx, store, forRecipient);
  const card: Card = {
    storeId: store.id,
    id,
    version: 1,
    initialValue: value,
    balance: value,
    held: { minor: 0n, currency: value.currency },
    lastCharacters: lastCharactersOf(code),
    customer,
    recipient,
    ...command.details,
    ...(activation && { expiresOn: activation.expiresOn }),
    disabledAt: null,
    suspendedAt: command.isSuspended === true ? now : null,
    suspendReason: null,
    createdAt: now,
    lineItemId: null,
    orderId: null,
    userId: null,
    apiClientId: command.apiClientId,
    vat: command.vat === undefined ? store.vat : command.vat,
  };
  const issued = transferOf(ctx, card, { movement: issueOf(value), why: detailsOf(command, now) });
  const first = openChain(ctx, issued, {
    issuedExpiresOn: card.expiresOn,
    issuedVat: card.vat && formatVat(card.vat),
  });
  yield* insertCard(card, endAt(first));
  const keyedCode = { storeId: store.id, cardId: card.id, code };
  if (!command.code) yield* insertCode(ctx, keyedCode);
  else if (activation)
    yield* sellCode({ storeId: store.id, lookup: activation.lookup }, { cardId: card.id, now });
  else if (!(yield* insertChosenCode(ctx, keyedCode)))
    throw new Fault('invalid-parameter', { errors: { code: [codeTaken] } });
  yield* insertTransfer(first);
  yield* recordEvent(ctx, cardCreatedEvent(ctx.keys.publicIds, card));
  if (isSuspended(card)) yield* recordSuspendedIssue(ctx, card, command.actor);
  if (emails) yield* enqueueCardEmails(ctx, { card, code, emails });
  return { card, code, ...(activation && { activation }) };
}

function* findActivationOf(ctx: Context, command: IssueCommand): Script<Activation | undefined> {
  const { store, code, value, details, emails, stock } = command;
  if (!code || !stock) return undefined;
  const sendAt = emails?.sendAt ?? null;
  return yield* findActivation(ctx, { store, code, value, expiresOn: details.expiresOn, sendAt }, stock);
}

/** The details of a transfer that has only an actor and a location. */
function detailsOf(
  { actor, locationId = null }: { readonly actor: string; readonly locationId?: number | null },
  createdAt: number,
) {
  return { actor, locationId, createdAt, reference: null, note: null, orderId: null };
}

/**
 * Rejects an issue with invalid parameters, and adds the errors of a taken code or storefront id.
 * @throws Fault `invalid-parameter`, always.
 */
export function* rejectIssue(
  ctx: Context,
  {
    store,
    code,
    customer = null,
    storefrontCustomerId = null,
    stock,
    errors: foundErrors,
  }: Pick<IssueCommand, 'store' | 'code' | 'storefrontCustomerId' | 'stock'> & {
    readonly customer?: EmailAddress | null;
    readonly errors: FieldErrors;
  },
): Script<never> {
  const errors = foundErrors.copy();
  const [used, linkError] = yield* parallel(
    code ? findChosenCode(ctx, store.id, code) : resolved(undefined),
    customer && storefrontCustomerId !== null
      ? findLinkError(store.id, { address: customer, storefrontCustomerId })
      : resolved(null),
  );
  const error = code && codeError(used, stock);
  if (error !== null) errors.add('code', error);
  if (linkError !== null) errors.add('storefront_customer_id', linkError);
  if (!errors.any) throw new Error('an issue was rejected without an error');
  throw new Fault('invalid-parameter', { errors: errors.toErrors(), failedLookups: used ? 1 : 0 });
}

function* findOrInsert(
  ctx: Context,
  { id }: Store,
  address: EmailAddress | null,
): Script<ResolvedCustomer | null> {
  return address && (yield* findOrInsertCustomer(ctx, id, address));
}

function* recordIfNew(ctx: Context, store: Store, found: ResolvedCustomer | null): Script<Card['customer']> {
  return found && (yield* recordIfNewCustomer(ctx, store.id, found));
}

/** @throws Fault `invalid-parameter` if the customer cannot be linked to the storefront id. */
function* linkAndRecord(
  ctx: Context,
  { store, code, stock, storefrontCustomerId = null }: IssueCommand,
  found: ResolvedCustomer | null,
): Script<Card['customer']> {
  if (!found || storefrontCustomerId === null) return yield* recordIfNew(ctx, store, found);
  const linked = yield* linkNewCustomer(store.id, found.customer, storefrontCustomerId);
  if (typeof linked !== 'string') return yield* recordIfNew(ctx, store, { ...found, customer: linked });
  const errors = new FieldErrors();
  errors.add('storefront_customer_id', linked);
  return yield* rejectIssue(ctx, { store, code, ...(stock && { stock }), errors });
}

/** @throws Fault `not-found` if the store has no such card. */
export function* retrieve(storeId: number, cardId: number): Script<Card> {
  return yield* requireCard(storeId, cardId);
}

export type UpdateCommand = {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  /** The location at which the balance changes; absent: at no location. */
  readonly locationId?: number | null;
  readonly changes: CardChanges;
  /** Whether to release the card's open holds when it is disabled. */
  readonly releaseHolds: boolean;
  /** The note of the ledger's entry if the balance changes; absent: none. */
  readonly adjustmentNote?: string | null;
  /** The read-only fields in the request. */
  readonly echoed: ReadonlyMap<ReadOnlyField, unknown>;
  /** The code in the request, if there is one. */
  readonly echoedCode: Secret | null;
  /** The versions that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
  /** The errors of the parameters that were found before the card was read. */
  readonly errors: FieldErrors;
};

/**
 * Applies all changes to a card, or none. Without effective changes, the version stays the same.
 * @throws Fault `not-found`, `precondition-failed`, or `invalid-parameter` with all errors.
 */
export function* update(ctx: Context, command: UpdateCommand): Script<Card> {
  const { store, cardId, changes, echoedCode } = command;
  const [state, changeEnd, echoedId, emailStatus] = yield* parallel(
    requireVersion(ctx, command),
    findChangeEnd({ storeId: store.id, cardId }),
    echoedCode ? findHolderOf(ctx, store, echoedCode) : resolved(cardId),
    findEchoedStatus(ctx, command),
  );
  const { card } = state;
  assertUpdatable(ctx, { card, emailStatus }, echoedId, command);

  const effective = effectiveChanges(card, changes);
  if (Object.keys(effective).length === 0) return card;
  const releases = yield* findReleases(ctx, state, command);
  const released = applyReleases(card, releases);
  const now = ctx.clock.now();
  const { disable, ...values } = effective;
  const changed: Card = {
    ...released,
    ...values,
    disabledAt: disable ? now : card.disabledAt,
    version: released.version + 1,
  };
  const releasing = releases.map(({ hold, ...closing }) =>
    // Each release adds one version. `replaceCard` detects any other new version.
    releaseHold(ctx, hold, { ...closing, version: null }),
  );
  yield* parallel(parallel(...releasing), replaceCard(released, changed));
  if (effective.balance) {
    const movement = adjustmentOf(card.balance, effective.balance);
    const why = { ...detailsOf(command, now), note: command.adjustmentNote ?? null };
    yield* record(ctx, { card: changed, end: state.chainEnd }, movement, why);
  }
  const { actor } = command;
  yield* recordChange(ctx, { before: card, after: changed, end: changeEnd, actor, createdAt: now });
  for (const event of cardUpdateEvents(ctx.keys.publicIds, changed, effective))
    yield* recordEvent(ctx, event);
  return changed;
}

/** The status of the card's email, if the request has a field that depends on it. */
function* findEchoedStatus(
  ctx: Context,
  { store, cardId, echoed }: Pick<UpdateCommand, 'store' | 'cardId' | 'echoed'>,
): Script<EmailStatus> {
  if (!echoed.has('state') && !echoed.has('email_status')) return 'none';
  const [found] = yield* findDetailedCards(store.id, [cardId], ctx.clock.earliest());
  return found?.emailStatus ?? 'none';
}

type Release = Pick<Closing, 'closedAt'> & {
  readonly hold: Hold;
  readonly status: 'voided' | 'expired';
};

/** The holds that an update releases: expired ones and, if it disables the card with `releaseHolds`, all others. */
function* findReleases(
  ctx: Context,
  { card, expiredHeld }: CurrentCard,
  { changes, releaseHolds }: Pick<UpdateCommand, 'changes' | 'releaseHolds'>,
): Script<readonly Release[]> {
  const releasesAll = releaseHolds && changes.disable === true;
  if (expiredHeld === 0n && !(releasesAll && card.held.minor > 0n)) return [];
  const [now, earliest] = [ctx.clock.now(), ctx.clock.earliest()];
  const open = yield* listOpenHolds(card.storeId, card.id);
  const expired = open.filter((hold) => isHoldExpired(hold, earliest));
  const others = releasesAll ? open.filter((hold) => !isHoldExpired(hold, earliest)) : [];
  return [
    ...expired.map((hold) => ({ hold, status: 'expired', closedAt: hold.expiresAt }) as const),
    ...others.map((hold) => ({ hold, status: 'voided', closedAt: now }) as const),
  ];
}

/** The card after the releases. Only voided holds reduce `held`, which never includes expired holds. */
function applyReleases(card: Card, releases: readonly Release[]): Card {
  const minor = releases
    .filter(({ status }) => status === 'voided')
    .reduce((held, { hold }) => held - hold.amount.minor, card.held.minor);
  return { ...card, version: card.version + releases.length, held: { ...card.held, minor } };
}

/**
 * Re-enables a card within the store's undo window.
 * @throws Fault `not-found`, `precondition-failed`, or `undo-window-closed` if the card is not disabled, the window has
 * passed, or the store does not have one.
 */
export function* reenableCard(
  ctx: Context,
  command: Pick<UpdateCommand, 'store' | 'cardId' | 'actor' | 'versions'>,
): Script<Card> {
  const { store, cardId, actor } = command;
  const [{ card }, end] = yield* parallel(
    requireVersion(ctx, command),
    findChangeEnd({ storeId: store.id, cardId }),
  );
  const windowMs = store.undoWindowMinutes * 60_000;
  if (card.disabledAt === null || ctx.clock.earliest() >= card.disabledAt + windowMs)
    throw new Fault('undo-window-closed');
  const enabled: Card = { ...card, disabledAt: null, version: card.version + 1 };
  yield* replaceCard(card, enabled);
  yield* recordChange(ctx, { before: card, after: enabled, end, actor });
  yield* recordEvent(ctx, cardReenabledEvent(ctx.keys.publicIds, enabled));
  return enabled;
}

/**
 * @param echoedId the id of the card with the code in the request.
 * @throws Fault `invalid-parameter` with all errors.
 */
function assertUpdatable(
  ctx: Context,
  { card, emailStatus }: { readonly card: Card; readonly emailStatus: EmailStatus },
  echoedId: number | undefined,
  command: UpdateCommand,
): void {
  const { echoed, store } = command;
  const day = today(ctx, store);
  // A script can be retried, and its first run must not add errors to the command.
  const errors = command.errors.copy();
  for (const [field, value] of echoed) {
    if (!matchesRecord(ctx.keys.publicIds, value, field, { card, today: day, emailStatus }))
      errors.add(field, cannotBeChanged);
  }
  if (echoedId !== card.id) errors.add('code', cannotBeChanged);
  // An unchanged balance is accepted, even if the limit was lowered since.
  const { balance } = effectiveChanges(card, command.changes);
  const { issueLimit } = command.store;
  if (balance && isAbove(issueLimit, balance)) errors.add('balance', aboveLimit(issueLimit));
  for (const [field, messages] of Object.entries(validateChanges(card, command.changes, command))) {
    for (const message of messages) errors.add(field, message);
  }
  errors.throwIfAny();
}

const cannotBeChanged = 'cannot be changed';

/** The id of the card with a code; undefined if there is none. */
function* findHolderOf(ctx: Context, store: Store, code: Secret): Script<number | undefined> {
  const used = yield* findByCode(ctx, { storeId: store.id, code, now: ctx.clock.earliest() });
  return used?.isCurrent ? used.state.card.id : undefined;
}
