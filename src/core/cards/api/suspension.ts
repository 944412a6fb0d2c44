/** Suspend gift cards, and resume them. */

import { statedRecordOf } from '../domain/record.ts';
import { spendableGiftCardSchema } from '../domain/schemas.ts';
import { resumeCard, suspendCard, type StatedCard, type SuspensionCommand } from '../service/suspension.ts';
import { today } from '../../stores/service/day.ts';
import { cardInPath } from './cards.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import * as fields from './fields.ts';
import { cardHeaders, cardVersions } from '../../money/api/movement.ts';
import { write, type WriteRequest } from '../../../api/operation.ts';

const oneCard = {
  status: 200,
  description: 'The gift card.',
  members: { gift_card: spendableGiftCardSchema },
  headers: ['ETag'],
} as const;

type Request = WriteRequest<'/gift_card/:gift_card_id/suspend', unknown>;

function commandOf(request: Request): SuspensionCommand {
  const { caller, store, ids } = request;
  const cardId = ids.gift_card_id;
  return { store, cardId, actor: caller.actor, versions: cardVersions(request)(cardId) };
}

function resultOf({ ctx, store }: Request, { card, emailStatus }: StatedCard) {
  const moment = { today: today(ctx, store), emailStatus };
  return {
    body: { gift_card: statedRecordOf(ctx.keys.publicIds, card, moment) },
    headers: cardHeaders({ ctx }, card),
  };
}

export const suspendGiftCard = write({
  id: 'suspendGiftCard',
  method: 'POST',
  path: '/gift_card/:gift_card_id/suspend',
  scopes: ['write_gift_cards'],
  tag: 'Gift cards',
  summary: 'Suspend a gift card',
  description:
    'Suspends the gift card until it is resumed, for example during a dispute. It cannot be debited, redeemed, held or credited, and its balance cannot be updated. Holds from before can be captured and voided, and transactions can be reversed. Its emails wait, and its reminders are not sent. A suspended card that expires is `expired`. A card that is already suspended does not change.',
  body: {
    name: 'Suspend',
    wrapper: 'gift_card',
    fields: { reason: fields.suspendReason },
    example: { reason: 'The payment is disputed' },
  },
  response: {
    ...oneCard,
    example: { gift_card: { ...examples.spendable, available: '0.00', state: 'suspended' } },
  },
  errors: ['not-found', 'precondition-failed', 'card-disabled'],
  writeScope: cardInPath,
  *run(request) {
    const reason = request.body.reason ?? null;
    return resultOf(request, yield* suspendCard(request.ctx, { ...commandOf(request), reason }));
  },
});

export const resumeGiftCard = write({
  id: 'resumeGiftCard',
  method: 'POST',
  path: '/gift_card/:gift_card_id/resume',
  scopes: ['write_gift_cards'],
  tag: 'Gift cards',
  summary: 'Resume a gift card',
  description:
    'Ends the suspension of the gift card, and sends the emails that waited for it. A card that is not suspended does not change.',
  body: noFields('gift_card'),
  response: { ...oneCard, example: { gift_card: examples.spendable } },
  errors: ['not-found', 'precondition-failed', 'card-disabled'],
  writeScope: cardInPath,
  *run(request) {
    return resultOf(request, yield* resumeCard(request.ctx, commandOf(request)));
  },
});
