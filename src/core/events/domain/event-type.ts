/** The types of the events that the service publishes. */

export const eventTypes = [
  'gift_card.created',
  'gift_card.updated',
  'gift_card.disabled',
  'gift_card.suspended',
  'gift_card.resumed',
  'gift_card.redeemed',
  'gift_card.credited',
  'gift_card.reversed',
  'gift_card.held',
  'gift_card.hold_extended',
  'gift_card.hold_released',
  'gift_card.expired',
  'gift_card.expiring_soon',
  'gift_card.code_rotated',
  'gift_card.retired_code_used',
  'gift_card.delivery_failed',
  'customer.created',
  'checkpoint.created',
  'customer.erased',
  'batch.completed',
  'stock.completed',
  'stock.codes_read',
  'stock.voided',
  'stock.code_tried',
  // About a webhook itself.
  'webhook.test',
  'webhook.paused',
] as const;

export type EventType = (typeof eventTypes)[number];
