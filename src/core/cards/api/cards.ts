/** Issue, find and change gift cards. */

import { changedDetails } from '../domain/field-values.ts';
import { byField, editableFields, type EditableField } from '../domain/fields.ts';
import type { Card } from '../domain/card.ts';
import { formatInstant } from '../../domain/day.ts';
import { Fault, FieldErrors } from '../../domain/fault.ts';
import { emailedTo, isEmailWanted, newCardErrors, newCardOf, type NewCardField } from '../domain/new-card.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import { recordOf, type ReadOnlyField } from '../domain/record.ts';
import {
  detailGiftCardSchema,
  giftCardSchema,
  issuedGiftCardSchema,
  type GiftCardRecord,
} from '../domain/schemas.ts';
import { cardEtagOf } from '../../../http/etag.ts';
import { retrieve, reenableCard, update } from '../service/card.ts';
import { externalIssueOf, issueOnce, rejectIssue } from '../service/issue.ts';
import { lookUp, search } from '../service/lookup.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { findRepeatedObject } from '../../requests/service/external-ids.ts';
import { locationOf } from '../../stores/service/location.ts';
import { findEmailSettings } from '../../emails/storage/email.ts';
import type { Store } from '../../stores/domain/store.ts';
import { findChosen, type StockUse } from '../../stocks/service/activation.ts';
import { resolved, parallel } from '../../../database/sql/sql.ts';
import type { WriteScope } from '../../../database/storage.ts';
import { detailFields } from './card-fields.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import { echoed, echoedSchema, notSettable, type Field, type Values } from '../../../api/field.ts';
import * as fields from './fields.ts';
import { read, write, type WriteRequest } from '../../../api/operation.ts';

/** All fields of a card in any response. */
const recordFields = Object.keys(detailGiftCardSchema.properties);

const { expires_on: _expiresOn, ...otherDetails } = detailFields;

export const creationFields = {
  initial_value: fields.initialValue,
  expires_on: fields.expiresOnOrLater,
  email: fields.email,
  recipient_email: fields.recipientEmail,
  ...otherDetails,
  send_on: fields.sendOn,
  notify: fields.notify,
  suspend: fields.suspend,
  code: fields.code,
  storefront_customer_id: fields.storefrontCustomerId,
  vat_kind: fields.vatKind,
  vat_rate: fields.vatRate,
  currency: fields.currency,
} satisfies Readonly<Record<NewCardField, Field<unknown>>>;

const settableFields = {
  disable: fields.disable,
  balance: fields.balance,
  ...byField(editableFields, (name) => detailFields[name]),
  expires_on: fields.expiresOn,
  release_holds: fields.releaseHolds,
} satisfies Readonly<Record<EditableField, Field<string | null>> & Record<string, Field<unknown>>>;

/** The fields of a card that no update sets: a client can send them back with their current values. */
export const readOnlyFields = recordFields.filter((name) => !(name in settableFields)) as ReadOnlyField[];

/** The write scope of an operation that changes only the card in its path. */
export function cardInPath({
  store,
  ids,
}: Pick<WriteRequest<'/gift_card/:gift_card_id', unknown>, 'store' | 'ids'>): WriteScope {
  return { storeId: store.id, cardId: ids.gift_card_id };
}

type CardResult = {
  readonly body: { readonly gift_card: GiftCardRecord };
  readonly headers: { readonly etag: string };
};

/** A response with a card's record. */
export function cardResult(publicIds: PublicIds, card: Card): CardResult {
  return { body: { gift_card: recordOf(publicIds, card) }, headers: { etag: cardEtagOf(publicIds, card) } };
}

/** The response to the repetition of a creation. */
function repeatedIssue(
  {
    publicIds,
    requestContext,
  }: { readonly publicIds: PublicIds; readonly requestContext: Pick<RequestContext, 'basePath'> },
  card: Card,
) {
  const { body, headers } = cardResult(publicIds, card);
  const location = `${requestContext.basePath}/gift_card/${body.gift_card.id}`;
  return { repeated: body, headers: { ...headers, location } };
}

/** A store can require it of every creation that names a code. */
function stockUseOf(
  { stockRequired }: Store,
  { stock }: { readonly stock?: 'required' | null | undefined },
): StockUse {
  return stock ?? (stockRequired === 'yes' ? 'required' : 'optional');
}

export const createGiftCard = write({
  id: 'createGiftCard',
  method: 'POST',
  path: '/gift_card',
  scopes: ['write_gift_cards'],
  tag: 'Gift cards',
  summary: 'Create a gift card',
  description:
    'Issues a gift card. If an email address does not belong to a customer of the store, a customer is created in the same transaction. The code is only in this response, and in its replays under the same `Idempotency-Key`. If the store sends email, the card is emailed to its recipient, or to its customer if it has no recipient; a customer who bought the card for another recipient gets a receipt without the code. `send_on` schedules the email, `notify: false` suppresses it. With `suspend: true` the card cannot be used, and no email is sent, until it is resumed. Without a mail server the card is still issued, and the response has `Email-Status: not-configured`. With the `code` of a printed card that is in stock, the card is activated: `initial_value` must be the value of the stock, or within its limits, and the stock’s validity sets `expires_on`, which then cannot be sent.',
  body: {
    name: 'CreateGiftCard',
    wrapper: 'gift_card',
    fields: {
      ...Object.fromEntries(recordFields.map((name) => [name, notSettable])),
      ...creationFields,
      stock: fields.stockUse,
      location_id: fields.locationId,
    },
    example: {
      initial_value: '25.00',
      expires_on: '2031-12-31',
      email: 'ada@example.com',
      recipient_email: 'grace@example.com',
      note: 'Sold at the counter',
      message: 'Happy birthday!',
    },
  },
  response: {
    status: 201,
    description: 'The new gift card. Only this response contains its code.',
    members: { gift_card: issuedGiftCardSchema },
    example: { gift_card: { ...examples.card, balance: '25.00', code: examples.exampleCode } },
    headers: ['ETag', 'Location', 'Email-Status', 'Code-Tried-At'],
    repeated: { members: { gift_card: giftCardSchema }, example: { gift_card: examples.card } },
  },
  errors: ['already-activated', 'external-id-used'],
  sample: {
    body: { initial_value: '25.00', recipient_email: 'grace@example.com' },
    idempotencyKey: 'order-1001-line-1',
  },
  check(values, errors, requestContext) {
    for (const [name, message] of newCardErrors(values, requestContext, (field) => errors.has(field)))
      errors.add(name, message);
    if (values.stock && !values.code && !errors.has('code')) errors.add('code', 'is required with stock');
  },
  countCodes: ({ code }) => (code ? 1 : 0),
  *isServed({ ctx, store, body: { code, stock } }) {
    if (!code) return true;
    const { used } = yield* findChosen(ctx, { storeId: store.id, code }, stockUseOf(store, { stock }));
    return used?.isGenerated ?? false;
  },
  // Another request can create the same new customer, or choose the same code or external id.
  writeScope: ({ store, body: { email, recipient_email: recipient, code, external_id: externalId } }) =>
    email || recipient || code || externalId ? undefined : { storeId: store.id, cardId: null },
  *run({ ctx, caller, store, body, requestContext, after }) {
    const named = body.location_id ?? null;
    const locationId = yield* locationOf(store.id, { own: caller.locationId, named });
    const isUnsent = isEmailWanted(body) && !requestContext.canSend && emailedTo(body) !== null;
    const [settings, issued] = yield* parallel(
      isUnsent ? findEmailSettings(store.id) : resolved(undefined),
      issueOnce(ctx, {
        store,
        apiClientId: caller.apiClientId,
        actor: caller.actor,
        locationId,
        ...newCardOf(body, requestContext),
        stock: stockUseOf(store, body),
      }),
    );
    const { activation } = issued;
    // A dry run says that the code is in stock, and does not activate it.
    if (activation && requestContext.isDryRun) after(() => void requestContext.lookup.admit(() => 1));
    const { publicIds } = ctx.keys;
    const { code } = issued;
    if (!code) return repeatedIssue({ publicIds, requestContext }, issued.card);
    const { gift_card } = cardResult(publicIds, issued.card).body;
    if (settings?.enabled)
      after(
        (hasSucceeded) => void (hasSucceeded && !requestContext.isDryRun && requestContext.logUnsent(store)),
      );
    return {
      body: { gift_card: { ...gift_card, code: code.reveal() } },
      headers: {
        etag: cardEtagOf(publicIds, issued.card),
        location: `${requestContext.basePath}/gift_card/${gift_card.id}`,
        ...(settings?.enabled && { 'email-status': 'not-configured' }),
        ...(typeof activation?.triedAt === 'number' && {
          'code-tried-at': formatInstant(activation.triedAt),
        }),
      },
    };
  },
  *findRepeated({ ctx, caller, store, body, requestContext }) {
    const { actor, apiClientId } = caller;
    const asked = externalIssueOf({ store, actor, apiClientId, ...newCardOf(body, requestContext) });
    const id = asked && (yield* findRepeatedObject(ctx, asked));
    if (id === null) return null;
    return repeatedIssue({ publicIds: ctx.keys.publicIds, requestContext }, yield* retrieve(store.id, id));
  },
  reject: ({ ctx, store, body }, errors) =>
    rejectIssue(ctx, {
      store,
      code: body.code ?? null,
      customer: body.email ?? null,
      storefrontCustomerId: body.storefront_customer_id ?? null,
      stock: stockUseOf(store, body),
      errors,
    }),
});

const oneCard = {
  description: 'The gift card.',
  members: { gift_card: giftCardSchema },
  example: { gift_card: examples.card },
  headers: ['ETag'],
} as const;

export const searchGiftCard = read({
  id: 'searchGiftCard',
  path: '/gift_card',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'Search for a gift card',
  description:
    'Returns the card whose code ends with `last_characters` and whose customer or recipient has the email address. If several match, an active card precedes suspended ones, and these precede disabled and expired ones; then the newest. In a signed request of the app proxy, if the store allows it, a signed-in customer can search for their own cards without a token: `logged_in_customer_id` is matched with the customer’s `storefront_customer_id`, and any other address returns 404.',
  isSearch: true,
  customerMaySearch: true,
  query: { last_characters: fields.searchedCharacters, email: fields.searchedEmail },
  queryError: 'invalid-parameter',
  response: oneCard,
  isConditional: true,
  errors: ['not-found', 'invalid-parameter'],
  sample: { query: 'last_characters=7f3k&email=grace@example.com' },
  *run({ ctx, caller, store, query: { last_characters: lastCharacters, email: address } }) {
    const { onlyStorefrontCustomerId } = caller;
    const card = yield* search(ctx, { store, address, lastCharacters, onlyStorefrontCustomerId });
    if (!card) throw new Fault('not-found');
    return cardResult(ctx.keys.publicIds, card);
  },
});

export const retrieveGiftCard = read({
  id: 'retrieveGiftCard',
  path: '/gift_card/:gift_card_id',
  scopes: ['read_gift_cards'],
  tag: 'Gift cards',
  summary: 'Retrieve a gift card',
  description: 'Returns the gift card of this store with the id. A card of another store returns 404.',
  response: oneCard,
  isConditional: true,
  errors: ['not-found'],
  *run({ ctx, store, ids }) {
    return cardResult(ctx.keys.publicIds, yield* retrieve(store.id, ids.gift_card_id));
  },
});

const updateFields = {
  // Every read-only field is in the list that the type is derived from.
  ...(Object.fromEntries(readOnlyFields.map((name) => [name, echoed(name)])) as Readonly<
    Record<ReadOnlyField, Field<unknown, false>>
  >),
  code: { ...fields.echoedCode, schema: echoedSchema('code') },
  ...settableFields,
};

const exampleChanges = { balance: '15.00', note: 'Paid 10.00 at the counter' };

export const updateGiftCard = write({
  id: 'updateGiftCard',
  method: 'PUT',
  path: '/gift_card/:gift_card_id',
  scopes: ['write_gift_cards'],
  tag: 'Gift cards',
  summary: 'Update a gift card',
  description:
    'Changes the fields that are sent, all of them or none; an update that changes nothing succeeds. Disabling is permanent, except within the store’s undo window; the balance and expiry date of a disabled card cannot change, nor the balance of a suspended one; its note, names and tags can. Every change of the balance is one entry in the ledger.',
  body: {
    name: 'UpdateGiftCard',
    description:
      'Absent fields keep their values. All other fields of a gift card in any response are accepted with their current values, so that a client can send back the record that it read; other values are rejected.',
    wrapper: 'gift_card',
    fields: updateFields,
    example: exampleChanges,
  },
  response: { ...oneCard, status: 200, example: { gift_card: { ...examples.card, ...exampleChanges } } },
  errors: ['not-found', 'precondition-failed'],
  countCodes: ({ code }) => (code ? 1 : 0),
  *isServed({ ctx, store, ids, body: { code } }) {
    if (!code) return true;
    const found = yield* lookUp(ctx, { store, readings: code, usableOnly: false });
    return found.kind === 'found' && found.isGenerated && found.card.id === ids.gift_card_id;
  },
  writeScope: cardInPath,
  *run(request) {
    const { caller, store, body } = request;
    if (body.balance !== undefined) yield* locationOf(store.id, { own: caller.locationId, named: null });
    return yield* applyUpdate(request, new FieldErrors());
  },
  reject: applyUpdate,
});

function* applyUpdate(
  {
    ctx,
    caller,
    store,
    ids,
    body,
    ifMatch,
  }: WriteRequest<'/gift_card/:gift_card_id', Partial<Values<typeof updateFields>>>,
  errors: FieldErrors,
) {
  const { code, disable, balance, release_holds: releaseHolds } = body;
  const readOnly = Object.entries(body).filter(([name]) => name !== 'code' && !(name in settableFields));
  const card = yield* update(ctx, {
    store,
    cardId: ids.gift_card_id,
    actor: caller.actor,
    locationId: caller.locationId,
    changes: {
      ...(disable !== undefined && { disable }),
      ...(balance !== undefined && { balance }),
      ...changedDetails(body),
    },
    releaseHolds: releaseHolds ?? false,
    echoed: new Map(readOnly as [ReadOnlyField, unknown][]),
    echoedCode: code ?? null,
    versions: ifMatch(ctx.keys.publicIds.of(ids.gift_card_id)),
    errors,
  });
  return cardResult(ctx.keys.publicIds, card);
}

export const reenableGiftCard = write({
  id: 'reenableGiftCard',
  method: 'POST',
  path: '/gift_card/:gift_card_id/undo',
  scopes: ['write_gift_cards'],
  tag: 'Gift cards',
  summary: 'Re-enable a gift card',
  description:
    'Re-enables a disabled gift card within the store’s undo window (off by default, at most 60 minutes). Until then the card cannot be used, and `disabled_at` has the time of the disabling. Released holds stay released.',
  body: noFields('gift_card'),
  response: { ...oneCard, status: 200 },
  errors: ['not-found', 'precondition-failed', 'undo-window-closed'],
  *run({ ctx, caller, store, ids: { gift_card_id: cardId }, ifMatch }) {
    const versions = ifMatch(ctx.keys.publicIds.of(cardId));
    const { actor } = caller;
    return cardResult(ctx.keys.publicIds, yield* reenableCard(ctx, { store, cardId, actor, versions }));
  },
});
