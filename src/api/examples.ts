/** Example records in the documentation. */

import type { Static, TObject } from 'typebox';
import type { PublicId } from '../platform/public-id.ts';
import {
  detailGiftCardSchema,
  giftCardSchema,
  type BalanceRecord,
  type DetailRecord,
  type GiftCardRecord,
  type HistoryRecord,
  type HoldRecord,
  type LocationRecord,
  type SpendableRecord,
  type TransactionRecord,
} from '../core/cards/domain/schemas.ts';
import type {
  CustomerRecord,
  ErasureRecord,
  EmailRecord,
} from '../core/customers/domain/customer-schemas.ts';
import type {
  BatchCardRecord,
  BatchRecord,
  StockCodeRecord,
  StockRecord,
} from '../features/batches/domain/batch-schemas.ts';
import type {
  ChainEntryRecord,
  CheckpointKeyRecord,
  CheckpointRecord,
  GiftCardProofRecord,
  LogRecord,
} from '../features/proofs/domain/proof-schemas.ts';
import type { DeliveryRecord, WebhookRecord } from '../features/webhooks/domain/webhook-schemas.ts';
import { pathIds } from './path.ts';

/** The example of each field of a schema. */
function exampleOf<S extends TObject>({ properties }: S): Static<S> {
  const entries = Object.entries(properties).map(([name, field]) => {
    const [example] = (field as { readonly examples?: readonly unknown[] }).examples ?? [];
    return [name, example] as const;
  });
  return Object.fromEntries(entries) as Static<S>;
}

export function publicId(number: number): PublicId {
  return number as PublicId;
}

/** The operations show the card of the schema's examples after a debit. */
export const card: GiftCardRecord = { ...exampleOf(giftCardSchema), balance: '15.00' };

export const exampleCode = 'q2m8xk4w9c0d7f3k';

export const batch: BatchRecord = {
  id: pathIds.batch_id.example,
  name: 'Spring campaign',
  state: 'complete',
  count: 500,
  issued: 500,
  failed: 0,
  currency: 'USD',
  total: '12500.00',
  issued_total: '12500.00',
  created_at: '2026-03-15T12:00:00Z',
  completed_at: '2026-03-15T12:00:01Z',
  codes_until: '2026-03-16T12:00:01Z',
};

export const batchCard: BatchCardRecord = { index: 0, ...card, balance: '25.00', code: exampleCode };

export const stock: StockRecord = {
  id: pathIds.stock_id.example,
  name: 'Cards at the counter',
  state: 'complete',
  count: 500,
  printed: 500,
  sold: 37,
  left: 461,
  voided: 2,
  failed: 0,
  currency: 'USD',
  fixed_value: null,
  minimum_value: '10.00',
  maximum_value: '150.00',
  valid_months: 36,
  created_at: '2026-03-15T12:00:00Z',
  completed_at: '2026-03-15T12:00:01Z',
  codes_until: '2026-03-16T12:00:01Z',
};

export const stockCode: StockCodeRecord = { index: 0, code: exampleCode };

export const spendable: SpendableRecord = { ...card, held: '0.00', available: '15.00', state: 'active' };

export const detailedCard: DetailRecord = {
  ...exampleOf(detailGiftCardSchema),
  balance: '15.00',
  held: '0.00',
  available: '15.00',
};

export const exampleCursor = 'WzU5NjY5Mjc4NjcwMDAxNzMsIjE1MDAiLG51bGxd.kM0vWn1pSZ5m7yqg0Y3r1A';

export const exampleBalance: BalanceRecord = {
  balance: '15.00',
  held: '0.00',
  available: '15.00',
  currency: 'USD',
  expires_on: '2031-12-31',
  state: 'active',
};

export const customer: CustomerRecord = {
  id: publicId(pathIds.customer_id.example),
  email: 'ada@example.com',
  storefront_customer_id: 7103421190,
  created_at: '2026-08-15T12:37:38Z',
};

export const erasure: ErasureRecord = {
  customer_id: publicId(pathIds.customer_id.example),
  status: 'running',
  erase_notes: true,
  requested_at: '2026-08-15T12:37:38Z',
  completed_at: null,
  gift_cards: 0,
  emails: 0,
  events: 0,
  texts_erased: 0,
  texts_left: 0,
  unsent_gift_cards: 0,
  unsent_gift_card_ids: [],
};

export const transaction: TransactionRecord = {
  id: publicId(pathIds.transaction_id.example),
  gift_card_id: card.id,
  kind: 'debit',
  amount: '-10.00',
  currency: 'USD',
  balance_after: '15.00',
  actor: 'api_client:7103421182',
  reference: 'receipt-1017',
  note: null,
  order_id: null,
  order_reference: null,
  external_id: null,
  location_id: null,
  hold_id: null,
  reverses: null,
  created_at: '2026-08-15T12:40:00Z',
};

export const historyEntry: HistoryRecord = {
  id: publicId(pathIds.transaction_id.example),
  kind: 'changed',
  created_at: '2026-08-15T12:40:00Z',
  actor: 'api_client:7103421182',
  state: 'active',
  changes: [{ field: 'expires_on', old: null, new: '2027-12-31', is_erased: false }],
};

export const hold: HoldRecord = {
  id: publicId(pathIds.hold_id.example),
  gift_card_id: card.id,
  status: 'open',
  amount: '10.00',
  captured_amount: '0.00',
  currency: 'USD',
  actor: 'api_client:7103421182',
  reference: null,
  note: null,
  order_id: null,
  order_reference: null,
  external_id: null,
  location_id: null,
  created_at: '2026-08-15T12:40:00Z',
  expires_at: '2026-08-15T12:55:00Z',
  closed_at: null,
};

export const exampleEmail: EmailRecord = {
  id: 244212362007,
  gift_card_id: card.id,
  kind: 'gift_card',
  recipient: 'grace@example.com',
  status: 'sent',
  message_id: `<${card.id}.244212362007@flowers.example>`,
  send_at: '2026-08-15T12:37:38Z',
  created_at: '2026-08-15T12:37:38Z',
  attempts: 1,
  next_attempt_at: null,
  last_attempt: {
    attempted_at: '2026-08-15T12:37:39Z',
    response: '250 2.0.0 Ok: queued as 4XyZ1',
    failure: null,
  },
  cancel_reason: null,
  ended_at: '2026-08-15T12:37:39Z',
};

const logName = 'flowers.example/largesse/1f6c2a90';

export const checkpoint: CheckpointRecord = {
  id: 244212390001,
  size: 7,
  root: 'acuKcZf1YLkc3wKWdE5Afuqt/OV/oSKLVM5Qvjj1jhI=',
  created_at: '2026-08-16T04:00:09Z',
  day: '2026-08-15',
  note: `${logName}\n7\nacuKcZf1YLkc3wKWdE5Afuqt/OV/oSKLVM5Qvjj1jhI=\n\n— ${logName} 5TzDZ7p1…\n`,
};

const checkpointKey: CheckpointKeyRecord = {
  key: `${logName}+e53cc367+AQhl6l8vkG0/2Rh3mnY7bXkJXl1Zcz1oeYlN3xQmT2bP`,
  created_at: '2026-08-16T04:00:09Z',
  is_current: true,
};

export const log: LogRecord = { name: logName, size: 9, keys: [checkpointKey] };

const chainEntry: ChainEntryRecord = {
  content:
    '["transfer/2",244200000001,244212358001,1,244212358002,"issue","25.00","USD","sales","card","25.00","api_client:7103421182",null,null,null,null,1786797458000,"q83vEjRWeJCrze8SNFZ4kA==",["2031-12-31",null]]',
  hash: 'TiTmKtiByMLMIEgRDM3LFaAhSjAbLA7RP6vfZFYRXl8=',
};

export const giftCardProof: GiftCardProofRecord = {
  entries: [chainEntry],
  length: 1,
  proven: 1,
  proof: `c2sp.org/tlog-proof@v1\nindex 6\nuc3ZWkJU2tz5qX9Rz7Q6mJQ3bWgYf3mTq0zq1Zz3dYo=\n\n${checkpoint.note}`,
  changes: [],
  changes_length: 0,
  changes_proven: 0,
  changes_proof: null,
};

export const event = {
  id: pathIds.event_id.example,
  type: 'gift_card.redeemed' as const,
  store: 'flowers.example',
  created_at: '2026-08-15T12:40:00Z',
  sequence: 2,
  data: { changed: ['balance'], gift_card: card, transaction },
};

export const location: LocationRecord = {
  id: pathIds.location_id.example,
  name: 'Market Street',
  address: '12 Market Street\nSpringfield',
  time_zone: null,
  closed: false,
  closed_at: null,
  created_at: '2026-08-15T12:00:00Z',
};

export const webhook: WebhookRecord = {
  id: pathIds.webhook_id.example,
  url: 'https://shop.example.com/webhooks/gift-cards',
  events: ['gift_card.*'],
  status: 'active',
  paused_at: null,
  pause_reason: null,
  failing_since: null,
  failure: null,
  previous_secret_until: null,
  created_at: '2026-08-15T12:00:00Z',
  updated_at: '2026-08-15T12:00:00Z',
};

export const signingSecret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=';

const attempt = {
  attempted_at: '2026-08-15T12:40:00Z',
  duration_ms: 41,
  response: { status: 503, body: 'down for maintenance' },
  failure: null,
};

export const delivery: DeliveryRecord = {
  event_id: pathIds.event_id.example,
  event_type: 'gift_card.redeemed',
  webhook_id: pathIds.webhook_id.example,
  status: 'retrying',
  created_at: '2026-08-15T12:40:00Z',
  attempts: 1,
  next_attempt_at: '2026-08-15T12:40:04Z',
  last_attempt: attempt,
};

export const loggedDelivery = { ...delivery, log: [attempt] };
