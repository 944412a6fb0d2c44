/** Issues gift cards, each in one transaction. */

import type { Context } from '../../storage/context.ts';
import { type Card, isSuspended } from '../domain/card.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Store } from '../../stores/domain/store.ts';
import { insertCard } from '../storage/card.ts';
import { insertChosenCode, insertCode } from '../storage/code.ts';
import { type Script, resolved, parallel } from '../../../database/sql/sql.ts';
import { detailsOfActor, transferOf } from '../../money/service/transfer.ts';
import { requireCard } from './present-card.ts';
import type { CardDetails } from '../domain/fields.ts';
import { codeTaken, lastCharactersOf } from '../domain/code.ts';
import { chosenOf, type ChosenCode } from '../domain/given-code.ts';
import { cardCreatedEvent } from '../../events/domain/event.ts';
import { Fault, FieldErrors } from '../../domain/fault.ts';
import { issueOf, type IssueAccount } from '../../money/domain/ledger.ts';
import type { Money } from '../../money/domain/money.ts';
import { formatVat, type Vat } from '../../money/domain/vat.ts';
import { findOrInsertCustomer, type ResolvedCustomer } from '../../customers/storage/customer.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { endAt, insertTransfer, openChain } from '../../money/storage/transfer.ts';
import { sellCode } from '../../stocks/storage/code.ts';
import { withExternalId, type ExternalRequest } from '../../requests/service/external-ids.ts';
import { linkNewCustomer, findLinkError, recordIfNewCustomer } from '../../customers/service/customer.ts';
import { enqueueCardEmails, assertSendTime, type CardEmails } from '../../emails/service/email.ts';
import {
  findActivation,
  findChosen,
  type Activation,
  type StockUse,
} from '../../stocks/service/activation.ts';
import { recordSuspendedIssue } from './suspension.ts';

export type IssueCommand = {
  readonly store: Store;
  /** The API client that creates the card; null if there is none. */
  readonly apiClientId: number | null;
  readonly actor: string;
  /** The location at which the card is issued; absent: at no location. */
  readonly locationId?: number | null;
  readonly value: Money;
  /** The account of the money that was paid for it; absent: `sales`. */
  readonly account?: IssueAccount;
  readonly details: CardDetails;
  readonly customer: EmailAddress | null;
  /** The customer's id on the storefront; absent or null: the existing link does not change. */
  readonly storefrontCustomerId?: number | null;
  readonly recipient: EmailAddress | null;
  /** The code that the store chose, canonical or as it was given; null: a random one. */
  readonly code: Secret | ChosenCode | null;
  /** Whether a code in stock is activated; absent: it counts as used. */
  readonly stock?: StockUse;
  /** The card's VAT; absent: the store's. */
  readonly vat?: Vat | null;
  /** The emails of the new card; absent: none. */
  readonly emails?: CardEmails;
  /** The batch that issues the card; absent: none. */
  readonly batchId?: number;
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
    code && canonicalOf(code).reveal(),
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
  const chosen = activation?.reading.code ?? (command.code && canonicalOf(command.code));
  const code = chosen ?? ctx.codeCohorts.generate(store.id, ctx);
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
  const issued = transferOf(ctx, card, {
    movement: issueOf(value, command.account),
    why: detailsOfActor(command, now),
  });
  const first = openChain(ctx, issued, {
    issuedExpiresOn: card.expiresOn,
    issuedVat: card.vat && formatVat(card.vat),
  });
  yield* insertCard(card, endAt(first), command.batchId ?? null);
  const keyedCode = { storeId: store.id, cardId: card.id, code };
  if (!chosen) yield* insertCode(ctx, keyedCode);
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
  if (!code) return undefined;
  const sendAt = emails?.sendAt ?? null;
  const activated = { store, code: chosenIn(code), value, expiresOn: details.expiresOn, sendAt };
  return yield* findActivation(ctx, activated, stock);
}

function canonicalOf(code: Secret | ChosenCode): Secret {
  return code instanceof Secret ? code : code.code;
}

function chosenIn(code: Secret | ChosenCode): ChosenCode {
  return code instanceof Secret ? chosenOf(code) : code;
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
  const [chosen, linkError] = yield* parallel(
    code ? findChosen(ctx, { storeId: store.id, code: chosenIn(code) }, stock) : resolved(null),
    customer && storefrontCustomerId !== null
      ? findLinkError(store.id, { address: customer, storefrontCustomerId })
      : resolved(null),
  );
  if (chosen && chosen.error !== null) errors.add('code', chosen.error);
  if (linkError !== null) errors.add('storefront_customer_id', linkError);
  if (!errors.any) throw new Error('an issue was rejected without an error');
  throw new Fault('invalid-parameter', { errors: errors.toErrors(), failedLookups: chosen?.used ? 1 : 0 });
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
