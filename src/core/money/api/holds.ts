/** Reserve amounts for a checkout. */

import Type from 'typebox';
import type { Card } from '../../cards/domain/card.ts';
import { holdSecondsDefault, holdStatuses, type Hold } from '../domain/hold.ts';
import { holdRecordOf, transactionOf } from '../../cards/domain/record.ts';
import { holdSchema, transactionSchema } from '../../cards/domain/schemas.ts';
import { pageOfHolds } from '../service/lists.ts';
import { listCardHolds } from '../service/movements.ts';
import {
  capture,
  extendOpenHold,
  placeHold,
  showCapture,
  showHold,
  voidOpenHold as releaseHold,
} from '../service/hold.ts';
import type { Held } from '../service/hold-closing.ts';
import {
  findRepeatedObject,
  withExternalId,
  type ExternalRequest,
  type Once,
} from '../../requests/service/external-ids.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Money } from '../domain/money.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import * as fields from '../../cards/api/fields.ts';
import { nextCursorSchema, nextLink } from '../../../api/cursor.ts';
import { limitDefault, list, recordsOf } from '../../../api/list.ts';
import { choice } from '../../cards/api/list-fields.ts';
import { movementFilters } from './movement-fields.ts';
import {
  askedAmount,
  cardHeaders,
  cardVersions,
  externalRequestOf,
  type Naming,
  moneyCommand,
  movementScope,
  namedOf,
  own,
  spending,
  spendingErrors,
  viewOf,
} from './movement.ts';
import { read, write } from '../../../api/operation.ts';
import { spendableCard } from '../../../api/schemas.ts';

const holdAndCard = {
  members: { hold: holdSchema, gift_card: spendableCard },
  example: { hold: examples.hold, gift_card: examples.spendable },
  headers: ['ETag'],
} as const;

const closedAt = '2026-08-15T12:42:00Z';

function holdResult(
  viewer: Parameters<typeof viewOf>[0],
  { hold, card }: { readonly hold: Hold; readonly card: Card },
) {
  const { clock, keys } = viewer.ctx;
  return {
    body: { hold: holdRecordOf(keys.publicIds, hold, clock.earliest()), gift_card: viewOf(viewer, card) },
    headers: cardHeaders(viewer, card),
  };
}

type HoldRequest = Parameters<typeof viewOf>[0] &
  Naming & {
    readonly ids: { readonly gift_card_id: number };
    readonly body: { readonly amount: Money };
    readonly requestContext: Pick<RequestContext, 'basePath'>;
  };

function askedHold(request: HoldRequest): ExternalRequest | null {
  const { ids, body } = request;
  return externalRequestOf(request, 'hold', ['hold', ids.gift_card_id, askedAmount(body.amount)]);
}

/** Places a hold, unless an earlier request with the same external id has placed it. */
function* holdOnce(request: HoldRequest, run: () => Script<Held>) {
  const { ctx, store } = request;
  const once = yield* withExternalId(ctx, askedHold(request), {
    run,
    idOf: ({ hold }) => hold.id,
    find: (id) => showHold(ctx, store.id, id),
  });
  return createdHold(request, once);
}

function createdHold(request: HoldRequest, { result: held, isRepeated }: Once<Held>) {
  const { body, headers: ofCard } = holdResult(request, held);
  const headers = { ...ofCard, location: `${request.requestContext.basePath}/holds/${body.hold.id}` };
  return isRepeated ? { repeated: body, headers } : { body, headers };
}

export const createHold = write({
  id: 'createHold',
  method: 'POST',
  path: '/gift_card/:gift_card_id/holds',
  scopes: ['redeem_gift_cards'],
  tag: 'Holds',
  summary: 'Create a hold',
  description:
    'Reserves an amount for a checkout. No other request can spend it until the hold is captured or voided, or expires.',
  body: {
    name: 'CreateHold',
    wrapper: 'hold',
    fields: { ...spending, expires_in: fields.expiresIn },
    example: { amount: '10.00', expires_in: 900 },
  },
  response: {
    ...holdAndCard,
    status: 201,
    description: 'The hold.',
    example: { hold: examples.hold, gift_card: { ...examples.spendable, held: '10.00', available: '5.00' } },
    headers: ['ETag', 'Location'],
    repeated: holdAndCard,
  },
  errors: spendingErrors,
  sample: { idempotencyKey: 'checkout-77' },
  writeScope: movementScope,
  *run(request) {
    const { ctx, ids, body } = request;
    const { amount, expires_in: seconds = holdSecondsDefault } = body;
    return yield* holdOnce(request, function* () {
      return yield* placeHold(ctx, { ...(yield* moneyCommand(request, ids.gift_card_id)), amount, seconds });
    });
  },
  *findRepeated(request) {
    const { ctx, store } = request;
    const asked = askedHold(request);
    const id = asked && (yield* findRepeatedObject(ctx, asked));
    return id === null
      ? null
      : createdHold(request, { result: yield* showHold(ctx, store.id, id), isRepeated: true });
  },
});

export const listHolds = list({
  id: 'listHolds',
  path: '/gift_card/:gift_card_id/holds',
  scopes: ['read_gift_cards', 'redeem_gift_cards'],
  tag: 'Holds',
  summary: 'List a gift card’s holds',
  description: 'Returns open and closed holds, newest first. `Link` has the neighboring pages.',
  member: 'holds',
  record: holdSchema,
  example: examples.hold,
  responseDescription: 'A page of holds.',
  cursor: { isPublic: true, of: ({ id }) => id },
  errors: ['not-found'],
  *page({ ctx, store, ids }, page) {
    const found = yield* listCardHolds({ storeId: store.id, cardId: ids.gift_card_id }, page);
    const now = ctx.clock.earliest();
    return recordsOf(found, (hold) => holdRecordOf(ctx.keys.publicIds, hold, now));
  },
});

export const listStoreHolds = read({
  id: 'listStoreHolds',
  isLong: true,
  path: '/holds',
  scopes: ['read_gift_cards'],
  tag: 'Holds',
  summary: 'List holds',
  description:
    'Returns the holds of all cards, newest first, with the filters and pages of the list of transactions. `status=open` finds what a checkout left behind.',
  query: { status: choice(holdStatuses, 'Only holds with this status.', 'open'), ...movementFilters },
  response: {
    description: 'A page of holds.',
    members: { holds: Type.Array(holdSchema), next_cursor: nextCursorSchema },
    example: { holds: [examples.hold], next_cursor: examples.exampleCursor },
    headers: ['Link'],
  },
  errors: [],
  sample: { query: 'status=open' },
  *run({ ctx, store, query, requestContext }) {
    const { cursor, limit = limitDefault, ...sent } = query;
    const { items, nextCursor } = yield* pageOfHolds(ctx, { store, sent, cursor, limit });
    const now = ctx.clock.earliest();
    return {
      body: {
        holds: items.map((hold) => holdRecordOf(ctx.keys.publicIds, hold, now)),
        next_cursor: nextCursor,
      },
      headers: nextLink(requestContext, nextCursor),
    };
  },
});

export const retrieveHold = read({
  id: 'retrieveHold',
  path: '/holds/:hold_id',
  scopes: ['read_gift_cards', 'redeem_gift_cards'],
  tag: 'Holds',
  summary: 'Retrieve a hold',
  description: 'Returns the current state of the hold and its gift card.',
  response: { ...holdAndCard, description: 'The hold.' },
  errors: ['not-found'],
  *run(request) {
    const { ctx, store, ids } = request;
    return holdResult(request, yield* showHold(ctx, store.id, ids.hold_id));
  },
});

export const extendHold = write({
  id: 'extendHold',
  method: 'POST',
  path: '/holds/:hold_id/extend',
  scopes: ['redeem_gift_cards'],
  tag: 'Holds',
  summary: 'Extend a hold',
  description:
    'Extends a hold to `expires_in` seconds from now. It never shortens a hold: if the hold lasts longer already, the response is a 200 and nothing changes. Beyond the store’s limit, counted from the creation of the hold, the error names the latest time. It works on a card that has expired since.',
  body: {
    name: 'ExtendHold',
    wrapper: 'hold',
    fields: { expires_in: fields.extendedExpiresIn },
    example: { expires_in: 86_400 },
  },
  response: {
    ...holdAndCard,
    status: 200,
    description: 'The hold.',
    example: {
      hold: { ...examples.hold, expires_at: '2026-08-16T12:40:00Z' },
      gift_card: { ...examples.spendable, held: '10.00', available: '5.00' },
    },
  },
  errors: ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired'],
  sample: { idempotencyKey: 'checkout-77-extend' },
  isUnlimited: true,
  *run(request) {
    const { ctx, caller, store, ids, body } = request;
    const extended = yield* extendOpenHold(ctx, {
      store,
      holdId: ids.hold_id,
      actor: caller.actor,
      seconds: body.expires_in,
      versionsOf: cardVersions(request),
    });
    return holdResult(request, extended);
  },
});

const captured = {
  members: { transaction: transactionSchema, ...holdAndCard.members },
  example: {
    transaction: {
      ...examples.transaction,
      kind: 'capture',
      amount: '-8.00',
      balance_after: '7.00',
      hold_id: examples.hold.id,
    },
    hold: { ...examples.hold, status: 'captured', captured_amount: '8.00', closed_at: closedAt },
    gift_card: examples.spendable,
  },
} as const;

export const captureHold = write({
  id: 'captureHold',
  method: 'POST',
  path: '/holds/:hold_id/capture',
  scopes: ['redeem_gift_cards'],
  tag: 'Holds',
  summary: 'Capture a hold',
  description:
    'Debits the reserved amount or a part of it, and releases the rest. The debit has the order, the references and the note of the hold, unless the request names others. A hold can be captured only once, also after the card has expired or was suspended, but not after the hold has.',
  body: {
    name: 'Capture',
    wrapper: 'transaction',
    fields: { amount: fields.optionalAmount, ...own },
    example: { amount: '8.00' },
  },
  response: { status: 201, description: 'The debit.', ...captured, headers: ['ETag'], repeated: captured },
  errors: [
    'not-found',
    'precondition-failed',
    'hold-closed',
    'hold-expired',
    'capture-exceeds-hold',
    'external-id-used',
  ],
  sample: { idempotencyKey: 'checkout-77-capture' },
  isUnlimited: true,
  *run(request) {
    const { ctx, caller, store, ids, body } = request;
    const { amount = null } = body;
    const asked = ['capture', ids.hold_id, askedAmount(amount)];
    const { result, isRepeated } = yield* withExternalId(
      ctx,
      externalRequestOf(request, 'transaction', asked),
      {
        *run() {
          return yield* capture(ctx, {
            store,
            holdId: ids.hold_id,
            actor: caller.actor,
            amount,
            ...(yield* namedOf(request)),
            versionsOf: cardVersions(request),
          });
        },
        idOf: ({ transfer }) => transfer.id,
        find: (id) => showCapture(ctx, store.id, id),
      },
    );
    const { body: held, headers } = holdResult(request, result);
    const captureBody = { transaction: transactionOf(ctx.keys.publicIds, result.transfer), ...held };
    return isRepeated ? { repeated: captureBody, headers } : { body: captureBody, headers };
  },
});

export const voidHold = write({
  id: 'voidHold',
  method: 'POST',
  path: '/holds/:hold_id/void',
  scopes: ['redeem_gift_cards'],
  tag: 'Holds',
  summary: 'Void a hold',
  description:
    'Releases the reserved amount. If the path has an unused `external:` id, the response is a 404, and a hold with that id that arrives later is rejected with `external-id-used`.',
  body: noFields('hold'),
  response: {
    ...holdAndCard,
    status: 200,
    description: 'The closed hold. Its amount is available again.',
    example: {
      hold: { ...examples.hold, status: 'voided', closed_at: closedAt },
      gift_card: examples.spendable,
    },
  },
  errors: ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired'],
  isUnlimited: true,
  usesUpExternalIds: true,
  *run(request) {
    const { ctx, store, ids } = request;
    const command = { store, holdId: ids.hold_id, versionsOf: cardVersions(request) };
    return holdResult(request, yield* releaseHold(ctx, command));
  },
});
