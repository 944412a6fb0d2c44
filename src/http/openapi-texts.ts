/** The words of the API's documentation. */

import type { FaultCode } from '../domain/fault.ts';

export const requestIdExample = '1f0c5a0e-3d0a-4a0e-9d5c-0a9b6f6e2a11';

/** How a form writes what JSON has types for. */
export const formValues =
  'In a form, booleans are `true`, `false`, `1` or `0`, integers are digits, lists are separated by commas, and an empty value means null.';

export const introduction = `
A store issues gift cards, looks them up, finds one for a customer at the counter, and changes or disables them.

## Requests
Bodies are \`application/json\` or \`application/x-www-form-urlencoded\`, each either bare (\`{"initial_value": 25}\`) or wrapped (\`{"gift_card": {"initial_value": 25}}\`, \`gift_card[initial_value]=25\`). JSON takes JSON types: booleans and integers are not accepted as strings; only amounts are numbers or decimal strings. ${formValues} A request without a body, or with an empty one, has no parameters, whatever its content type. A parameter that the operation does not know is refused, and nothing of the rest is applied. The parameters of a storefront's app proxy (\`shop\`, \`logged_in_customer_id\`, \`path_prefix\`, \`timestamp\`, \`signature\`) may stand in every query.

## Answers
Every success of the four operations is \`{"gift_card": {…}}\`; the others name what they answer. Every field is always present. Amounts are strings with exactly the currency's decimals. Ids are integers below 2^53; those of gift cards, customers, holds and transactions are random-looking and say nothing about time or number. An \`ETag\` names the version of the card: \`If-None-Match\` answers 304, \`If-Match\` guards an update.

## Errors
Every error is \`application/problem+json\` with \`type\`, \`title\`, \`status\`, \`detail\`, \`errors\` and \`request_id\`. All of a request's refused parameters are named together. A 5xx or a broken connection means that the outcome is unknown: send the same request with the same \`Idempotency-Key\` again. A response that is sent before the body of its request was read closes the connection. \`Expect: 100-continue\` is answered once the credential and the announced size of the body are accepted.

## Idempotency
A write with an \`Idempotency-Key\` is done once. Its answer, a refusal with 404, 412 or 422 included, is kept sealed for 24 hours and replayed byte for byte with \`Idempotent-Replayed: true\`. Keys belong to the API client behind the token, and survive the rotation of the token. \`If-Match\` is part of the request that a key stands for.

## Dry runs
Every write takes \`?dry_run=true\`: it is answered as it would be, marked by \`Dry-Run: true\`, and nothing is changed, told or kept.

## Failed lookups
Searches, lookups by code and ids that find nothing are limited per caller: 1,000 per hour of a token, unless the store or the service sets another limit, and 10 per hour of a signed-in customer. The budget refills continuously. A caller whose budget is exhausted receives a 429 with \`Retry-After\` for every search and lookup; other callers are not affected. A creation with a \`code\` that issues no card (a dry run, or a 422) and an update with a \`code\` that is rejected with 422 count as failed lookups, because the response says whether the code exists. A response that is replayed under its \`Idempotency-Key\` is not counted again.
`.trim();

export const tags = [
  { name: 'Gift cards', description: 'The four operations, and the withdrawal of a disabling.' },
  {
    name: 'Money',
    description:
      'Spending and topping up, safely from several tills at once. These operations show what is `held` and `available` besides the balance. A caller without `read_gift_cards` receives only what a till needs: `id`, `balance`, `held`, `available`, `currency`, `expires_on`, `last_characters` and `state`.',
  },
  { name: 'Holds', description: 'Amounts that a checkout has reserved.' },
  { name: 'History', description: 'The ledger of a card.' },
  { name: 'Customers', description: 'The customers of a store and their ids on the storefront.' },
  { name: 'Mails', description: 'What is mailed about a card, and what became of it.' },
  {
    name: 'Events',
    description:
      'What happened in the store, for systems that ask. `sequence` is the version of the card that an event left: of two events of one card the one with the higher sequence is the later, and a number that is missing was missed. Events of one change share theirs; an event that changes nothing (an expiry) has that of the change before it; those without a card have 0. The record is as it was then, and never holds the code.',
  },
  {
    name: 'Webhooks',
    description:
      'Addresses that are told what happened. Each event is posted at least once, so a receiver leaves out a `webhook-id` that it has seen, and answers with 2xx within 10 seconds. Order is not kept: `sequence` tells it. After a failure it is tried again for 72 hours, at growing intervals, or when `Retry-After` says; a webhook to which nothing could be delivered for that long is paused, and so is one that answers 410. Redirects are not followed. `webhook-id`, `webhook-timestamp` and `webhook-signature` sign the message by the Standard Webhooks scheme.',
  },
  {
    name: 'Service',
    description:
      'What the service tells of itself. These paths also work at the root of the service, outside the base path.',
  },
] as const;

export const updateBody =
  'What is absent stays. The other fields of the record, and `held`, `available` and `state`, may be sent along with their present values, so that a client can send back the record that it read; another value is refused.';

const card = {
  id: 5966927867000173,
  balance: '15.00',
  created_at: '2026-08-15T12:37:38Z',
  currency: 'USD',
  initial_value: '25.00',
  disabled_at: null,
  line_item_id: null,
  api_client_id: 7103421182,
  user_id: null,
  customer_id: 7764160887464011,
  customer_email: 'ada@example.com',
  recipient_id: 8576577282002687,
  recipient_email: 'grace@example.com',
  note: 'Sold at the counter',
  expires_on: '2031-12-31',
  message: 'Happy birthday!',
  last_characters: '7f3k',
  order_id: null,
};

/** Example ids, by the names of path parameters. */
export const ids: Readonly<Record<string, number>> & {
  readonly gift_card_id: number;
  readonly hold_id: number;
  readonly transaction_id: number;
  readonly event_id: number;
  readonly webhook_id: number;
  readonly customer_id: number;
} = {
  gift_card_id: card.id,
  hold_id: 5120448327156734,
  transaction_id: 6831190442975020,
  event_id: 244212359911,
  webhook_id: 244212370001,
  customer_id: card.customer_id,
};

export const pathParameters: Readonly<Record<string, string>> = {
  gift_card_id:
    'Identifier of the card. The server responds with 404 to anything that is not an id of this store.',
  hold_id: 'Identifier of the hold.',
  transaction_id: 'Identifier of the transaction.',
  event_id: 'Identifier of the event.',
  webhook_id: 'Identifier of the webhook.',
  customer_id: 'Identifier of the customer.',
};

const transaction = {
  id: ids.transaction_id,
  gift_card_id: card.id,
  kind: 'debit',
  amount: '-10.00',
  currency: 'USD',
  balance_after: '15.00',
  actor: 'api_client:7103421182',
  reference: 'receipt-1017',
  note: null,
  order_id: null,
  hold_id: null,
  reverses: null,
  created_at: '2026-08-15T12:40:00Z',
};

export const examples = {
  customer: {
    id: card.customer_id,
    email: card.customer_email,
    storefront_customer_id: 7103421190,
    created_at: '2026-08-15T12:37:38Z',
  },
  card,
  transaction,
  event: {
    id: ids.event_id,
    type: 'gift_card.redeemed',
    store: 'flowers.example',
    created_at: '2026-08-15T12:40:00Z',
    sequence: 2,
    data: { changed: ['balance'], gift_card: card, transaction },
  },
  webhook: {
    id: ids.webhook_id,
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
  },
  signingSecret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=',
  delivery: {
    event_id: ids.event_id,
    event_type: 'gift_card.redeemed',
    webhook_id: ids.webhook_id,
    status: 'retrying',
    created_at: '2026-08-15T12:40:00Z',
    attempts: 1,
    next_attempt_at: '2026-08-15T12:40:04Z',
    last_attempt: {
      attempted_at: '2026-08-15T12:40:00Z',
      duration_ms: 41,
      response: { status: 503, body: 'down for maintenance' },
      failure: null,
    },
  },
  code: 'q2m8xk4w9c0d7f3k',
  spendable: { ...card, held: '0.00', available: '15.00' },
  balance: {
    balance: '15.00',
    held: '0.00',
    available: '15.00',
    currency: 'USD',
    expires_on: '2031-12-31',
    state: 'active',
  },
  hold: {
    id: ids.hold_id,
    gift_card_id: card.id,
    status: 'open',
    amount: '10.00',
    captured_amount: '0.00',
    currency: 'USD',
    actor: 'api_client:7103421182',
    reference: null,
    note: null,
    order_id: null,
    created_at: '2026-08-15T12:40:00Z',
    expires_at: '2026-08-15T12:55:00Z',
    closed_at: null,
  },
  mail: {
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
  },
  creation: {
    initial_value: '25.00',
    expires_on: '2031-12-31',
    email: 'ada@example.com',
    recipient_email: 'grace@example.com',
    note: 'Sold at the counter',
    message: 'Happy birthday!',
  },
  update: { balance: '10.00', note: 'Paid 15.00 at the counter' },
};

/** A curl command for a path below the base address. */
export function curl(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  { body, key }: { readonly body?: string; readonly key?: string } = {},
): string {
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$BASE_URL${path}"`,
    '-H "Authorization: Bearer $TOKEN"',
    ...(key === undefined ? [] : [`-H "Idempotency-Key: ${key}"`]),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${body}'`]),
  ].join(' \\\n  ');
}

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token of the store: `Authorization: Bearer lgs_…`. Its scopes are `read_gift_cards`, `write_gift_cards`, `redeem_gift_cards` for tills that may spend but not issue, `read_events`, and `manage_webhooks`.',
  },
  accessToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Access-Token',
    description: 'The same token in a header of its own.',
  },
  gcfAccessToken: {
    type: 'apiKey',
    in: 'header',
    name: 'x-gcf-access-token',
    description: 'The same token, as existing clients of this API send it.',
  },
  appProxy: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description:
      'The signature of the storefront’s app proxy: all other query parameters, decoded, sorted by name, `name=value` without separators, HMAC-SHA-256 with the store’s secret, in lower-case hex; `timestamp` may differ by 90 seconds. It proves the way a request came, not who sent it: beside it a token is needed, but for a signed-in customer’s own search where the store allows it. A request that carries one must verify.',
  },
};

const text = { type: 'string' } as const;

export const headers = {
  ETag: {
    description: 'The version of the card; changes with every change.',
    schema: { ...text, examples: ['"5966927867000173-1"'] },
  },
  'Email-Status': {
    description:
      '`not-configured`: the card would have been emailed, but the service has no mail server (`SMTP_URL`). Absent otherwise.',
    schema: { ...text, const: 'not-configured' },
  },
  Location: { description: 'The path of what was made.', schema: { ...text, format: 'uri-reference' } },
  'Cache-Control': { description: 'Always `no-store`.', schema: { ...text, const: 'no-store' } },
  'X-Request-Id': { description: 'The request’s id: the client’s own, if it sent a sane one.', schema: text },
  Link: {
    description: 'The neighbouring pages (RFC 8288): `next` is older, `previous` newer.',
    schema: text,
  },
  'Dry-Run': { description: 'Stands on an answer to `dry_run=true`.', schema: { ...text, const: 'true' } },
  'Idempotent-Replayed': {
    description: 'Stands on an answer that was kept under its `Idempotency-Key`.',
    schema: { ...text, const: 'true' },
  },
  RateLimit: {
    description: 'What is left of the rate limit (IETF draft).',
    schema: { ...text, examples: ['"default";r=999;t=1'] },
  },
  'RateLimit-Policy': {
    description: 'The rate limit: burst and the seconds in which it refills (IETF draft).',
    schema: { ...text, examples: ['"default";q=1000;w=2'] },
  },
  'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': { description: 'The credentials that would do.', schema: text },
};

/** The headers that come with refusals of a status. */
export function headersOfStatus(status: number): readonly (keyof typeof headers)[] {
  switch (status) {
    case 401:
    case 403:
      return ['WWW-Authenticate'];
    case 429:
      return ['Retry-After', 'RateLimit', 'RateLimit-Policy'];
    case 409:
    case 503:
      return ['Retry-After'];
    default:
      return [];
  }
}

export const parameters = {
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes the write happen once: 1 to 255 visible ASCII characters.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: 'order-1001-line-1',
  },
  dryRun: {
    name: 'dry_run',
    in: 'query',
    description: 'true: the would-be answer, marked by `Dry-Run: true`; nothing is changed, told or kept.',
    schema: { enum: ['true', 'false', '1', '0'] },
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'How many: 50 unless told.',
    schema: { type: 'integer', minimum: 1, maximum: 250, default: 50 },
  },
  before: {
    name: 'before',
    in: 'query',
    description: 'Only what is older than the one with this id.',
    schema: { type: 'integer', minimum: 1 },
  },
  after: {
    name: 'after',
    in: 'query',
    description: 'Only what is newer than the one with this id.',
    schema: { type: 'integer', minimum: 1 },
  },
  afterEvent: {
    name: 'after',
    in: 'query',
    description:
      'Only what was committed after the event with this id. `latest`: only what is committed from now on.',
    schema: { anyOf: [{ type: 'integer', minimum: 1 }, { const: 'latest' }] },
  },
  lastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The last event that the client was told; it counts before `after`.',
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,15}$' },
    example: '244212359911',
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'Changes it only if it still is this version.',
    schema: text,
    example: '"5966927867000173-1"',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Answers 304 if it still is this version.',
    schema: text,
    example: '"5966927867000173-1"',
  },
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for the request, which answers and logs then carry.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:/+=@-]{1,128}$' },
  },
};

type PageText = {
  readonly summary: string;
  readonly description: string;
  readonly success: string;
  readonly type: string;
  readonly faults: readonly FaultCode[];
};

export const pages: Readonly<Record<'health' | 'readiness' | 'metrics' | 'openapi', PageText>> = {
  health: {
    summary: 'Health',
    description: 'Whether the process answers. Touches nothing else.',
    success: 'It does.',
    type: 'application/json',
    faults: [],
  },
  readiness: {
    summary: 'Readiness',
    description:
      'Whether the database takes writes, its disk has free space, and its schema is current. `details.mail` says how emails are sent: `smtp`, `folder` (without `SMTP_URL` in development they are kept on this machine), or `none: …` and why; a service that sends none is ready all the same.',
    success: 'All of it.',
    type: 'application/json',
    faults: ['unavailable'],
  },
  metrics: {
    summary: 'Metrics',
    description:
      'Prometheus’s text format. For scrapers on the same machine, under a loopback address or `localhost`, or with `Authorization: Bearer` and the value of `METRICS_TOKEN`, if that is set.',
    success: 'The metrics.',
    type: 'text/plain',
    faults: ['unauthenticated'],
  },
  openapi: {
    summary: 'This description',
    description: 'OpenAPI 3.1.',
    success: 'The description.',
    type: 'application/json',
    faults: [],
  },
};
