/** The emails of a gift card. */

import type { Context } from '../../../core/storage/context.ts';
import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import { emailRecordOf } from '../domain/record.ts';
import { giftCardSchema, issuedGiftCardSchema } from '../../../core/cards/domain/schemas.ts';
import { emailDeliverySchema } from '../../../core/customers/domain/customer-schemas.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listCardEmails, sendGiftCard, rotateCode } from '../../../core/emails/service/email.ts';
import { cardResult } from '../../../core/cards/api/cards.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import { list, recordsOf } from '../../../api/list.ts';
import { write } from '../../../api/operation.ts';

function toRecord({ ctx, store }: { readonly ctx: Context; readonly store: Store }, email: EmailDelivery) {
  return emailRecordOf(ctx.keys.publicIds, email, { domain: store.domain, now: ctx.clock.earliest() });
}

export const listGiftCardEmails = list({
  id: 'listGiftCardEmails',
  path: '/gift_card/:gift_card_id/deliveries',
  scopes: ['read_gift_cards'],
  tag: 'Emails',
  summary: 'List the emails of a gift card',
  description:
    'Returns the emails about the card, newest first. An email is `scheduled`, `queued` or `deferred` (retried later) until it is `sent` (accepted by a mail server), `kept` (on the machine of the service and not sent, because it has no mail server), `bounced` (rejected permanently), `dead` (not accepted within 72 hours) or `cancelled` (out of date: the card has another code, is disabled or has expired).',
  member: 'deliveries',
  record: emailDeliverySchema,
  example: examples.exampleEmail,
  responseDescription: 'A page of emails.',
  cursor: { isPublic: false, of: ({ id }) => id },
  errors: ['not-found'],
  *page(request, page) {
    const { store, ids } = request;
    const found = yield* listCardEmails({ storeId: store.id, cardId: ids.gift_card_id }, page);
    return recordsOf(found, (email) => toRecord(request, email));
  },
});

export const notifyGiftCardHolder = write({
  id: 'notifyGiftCardHolder',
  method: 'POST',
  path: '/gift_card/:gift_card_id/notify',
  scopes: ['write_gift_cards'],
  tag: 'Emails',
  summary: 'Email a gift card again',
  description:
    'Codes are not stored in clear, so the card gets a new code, which is emailed to its recipient, or to its customer if it has no recipient. The old code stops working immediately: it is not found, and its use is recorded as the event `gift_card.retired_code_used`. Id, balance, holds and history stay. A card can be emailed again to the same address once a minute, and at most 10 times within 24 hours; an earlier request is a 429 with `Retry-After` and changes nothing, so the code stays. The email of the creation does not count.',
  body: noFields('gift_card'),
  response: {
    status: 201,
    description: 'The card with its new code, and the queued email.',
    members: { delivery: emailDeliverySchema, gift_card: giftCardSchema },
    example: { delivery: examples.exampleEmail, gift_card: examples.card },
    headers: ['ETag'],
  },
  errors: [
    'not-found',
    'precondition-failed',
    'card-disabled',
    'card-expired',
    'card-suspended',
    'no-address',
    'no-mail',
  ],
  sample: { idempotencyKey: 'notify-1' },
  *run(request) {
    const { ctx, caller, store, ids, ifMatch, requestContext } = request;
    const cardId = ids.gift_card_id;
    const versions = ifMatch(ctx.keys.publicIds.of(cardId));
    const { card, delivery } = yield* sendGiftCard(ctx, {
      store,
      cardId,
      actor: caller.actor,
      versions,
      canSend: requestContext.canSend,
    });
    const { body, headers } = cardResult(ctx.keys.publicIds, card);
    return { body: { delivery: toRecord(request, delivery), ...body }, headers };
  },
});

export const rotateGiftCardCode = write({
  id: 'rotateGiftCardCode',
  method: 'POST',
  path: '/gift_card/:gift_card_id/rotate_code',
  scopes: ['write_gift_cards'],
  tag: 'Emails',
  summary: 'Rotate a gift card’s code',
  description:
    'Gives the card a new code without sending an email: only this response contains the code. Queued emails with the old code are cancelled.',
  body: noFields('gift_card'),
  response: {
    status: 200,
    description: 'The card with its new code. Only this response contains the code.',
    members: { gift_card: issuedGiftCardSchema },
    example: { gift_card: { ...examples.card, code: examples.exampleCode } },
    headers: ['ETag'],
  },
  errors: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired'],
  sample: { idempotencyKey: 'rotate-1' },
  *run({ ctx, caller, store, ids: { gift_card_id: cardId }, ifMatch }) {
    const versions = ifMatch(ctx.keys.publicIds.of(cardId));
    const { actor } = caller;
    const { card, code } = yield* rotateCode(ctx, { store, cardId, actor, versions });
    const { body, headers } = cardResult(ctx.keys.publicIds, card);
    return { body: { gift_card: { ...body.gift_card, code: code.reveal() } }, headers };
  },
});
