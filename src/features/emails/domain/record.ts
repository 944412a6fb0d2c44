/** The records of emails in the API. */

import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import { messageName, stateAt, type EmailDelivery } from '../../../core/emails/domain/email.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { EmailRecord } from '../../../core/customers/domain/customer-schemas.ts';

/** The record of a delivery at `now` (ms). @param domain the store's domain. */
export function emailRecordOf(
  ids: PublicIds,
  delivery: EmailDelivery,
  { domain, now }: { readonly domain: string; readonly now: number },
): EmailRecord {
  return {
    id: delivery.id,
    gift_card_id: ids.of(delivery.cardId),
    kind: delivery.kind,
    // The address of an erased person is empty.
    recipient: delivery.address || null,
    status: stateAt(delivery, now),
    message_id: `<${messageName(delivery)}@${domain}>`,
    send_at: formatInstant(delivery.sendAt),
    created_at: formatInstant(delivery.createdAt),
    attempts: delivery.attempts,
    next_attempt_at: formatInstantOrNull(delivery.nextAt),
    last_attempt: lastAttemptOf(delivery),
    cancel_reason: delivery.state === 'cancelled' ? delivery.response : null,
    ended_at: formatInstantOrNull(delivery.endedAt),
  };
}

function lastAttemptOf({ state, attempts, lastAt, response }: EmailDelivery): EmailRecord['last_attempt'] {
  if (attempts === 0 || lastAt === null) return null;
  // The response of an email that no mail server had is not one of a mail server.
  const said = state === 'cancelled' || state === 'kept' ? null : response;
  const isResponse = said !== null && (state === 'sent' || isReply(said));
  return {
    attempted_at: formatInstant(lastAt),
    response: isResponse ? said : null,
    failure: said === null || isResponse ? null : { reason: 'no-response', detail: said },
  };
}

/** Whether a text is a reply of a mail server, and not a connection error. A reply begins with a code (RFC 5321, 4.2). */
function isReply(text: string): boolean {
  return /^[2-5]\d\d(?:[ -]|$)/.test(text);
}
