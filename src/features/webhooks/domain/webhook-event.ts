import type { Event } from '../../../core/events/domain/event.ts';
import type { Webhook } from './webhook.ts';
import { webhookRecordOf } from './webhook-record.ts';

/** An event about a webhook. It does not have a sequence. */
export function webhookEvent(type: 'webhook.test' | 'webhook.paused', webhook: Webhook): Event {
  return {
    type,
    storeId: webhook.storeId,
    subjectId: webhook.id,
    subjectVersion: 0,
    data: { webhook: webhookRecordOf(webhook) },
  };
}
