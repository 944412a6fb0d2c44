/** Operations that find a card by its code, and its balance. */

import { balanceRecordOf } from '../domain/record.ts';
import { balanceSchema } from '../domain/schemas.ts';
import { lookUp } from '../service/lookup.ts';
import { loadCard } from '../service/present-card.ts';
import { today } from '../../stores/service/day.ts';
import * as examples from '../../../api/examples.ts';
import * as fields from './fields.ts';
import { read } from '../../../api/operation.ts';
import { spendableCard } from '../../../api/schemas.ts';
import { mayRead, viewOf, cardHeaders, isCodeServed, rejectMissed } from '../../money/api/movement.ts';

export const lookUpGiftCard = read({
  id: 'lookUpGiftCard',
  path: '/gift_card/lookup',
  scopes: ['read_gift_cards', 'redeem_gift_cards'],
  tag: 'Money',
  summary: 'Look up a gift card by its code',
  description:
    'Returns the gift card with the code. The code is in the body, never in a URL. Failed lookups are limited per caller. For a caller without `read_gift_cards`, a disabled, expired or suspended card is not found. A caller with `write_gift_cards` gets `not-activated` for the code of a printed card that is in stock; for others it is not found.',
  isSearch: true,
  body: {
    name: 'LookUp',
    wrapper: 'gift_card',
    fields: { code: fields.requiredCode, email: fields.holderEmail },
    example: { code: examples.exampleCode },
  },
  response: {
    description: 'The gift card.',
    members: { gift_card: spendableCard },
    example: { gift_card: examples.spendable },
    headers: ['ETag'],
  },
  errors: ['not-found', 'not-activated'],
  isServed: isCodeServed,
  *run(request) {
    const { ctx, caller, store, body } = request;
    const found = yield* lookUp(ctx, { store, readings: body.code, usableOnly: !mayRead(caller) });
    if (found.kind === 'missed') return yield* rejectMissed(request, found.use);
    return { body: { gift_card: viewOf(request, found.card) }, headers: cardHeaders(request, found.card) };
  },
});

export const retrieveBalance = read({
  id: 'retrieveBalance',
  path: '/gift_card/:gift_card_id/balance',
  scopes: ['read_gift_cards', 'redeem_gift_cards'],
  tag: 'Money',
  summary: 'Retrieve a gift card’s balance',
  description:
    'Returns the amount that can be spent and the state of the card, for a till that knows the id. `available` is the balance minus open holds, or 0 if the card cannot be spent.',
  response: {
    description: 'The balance.',
    members: { gift_card: balanceSchema },
    example: { gift_card: examples.exampleBalance },
    headers: ['ETag'],
  },
  isConditional: true,
  errors: ['not-found'],
  *run({ ctx, store, ids }) {
    const key = { storeId: store.id, cardId: ids.gift_card_id };
    const { card, expiredHeld } = yield* loadCard(ctx, key);
    const balance = balanceRecordOf(card, today(ctx, store));
    return {
      body: { gift_card: balance },
      headers: cardHeaders({ ctx }, card),
      // An expiry, of the card or of a hold, changes the response without a new version of the card.
      isVolatile: balance.state === 'expired' || expiredHeld > 0n,
    };
  },
});
