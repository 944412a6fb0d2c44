/** The words of the API's documentation. */

import { readFileSync } from 'node:fs';
import type { FaultCode } from '../domain/fault.ts';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

export const version = manifest.version;

export const requestIdExample = '1f0c5a0e-3d0a-4a0e-9d5c-0a9b6f6e2a11';

export const introduction = `
A store issues gift cards, looks them up, finds one for a customer at the counter, and changes or disables them.

## Requests
Bodies are \`application/json\` or \`application/x-www-form-urlencoded\`, each either bare (\`{"initial_value": 25}\`) or wrapped (\`{"gift_card": {"initial_value": 25}}\`, \`gift_card[initial_value]=25\`). In a form, an empty value means null. A parameter that the operation does not know is refused, and nothing of the rest is applied. The parameters of a storefront's app proxy (\`shop\`, \`logged_in_customer_id\`, \`path_prefix\`, \`timestamp\`, \`signature\`) may stand in every query.

## Answers
Every success is \`{"gift_card": {…}}\` with every field present. Amounts are strings with exactly the currency's decimals. Ids are integers below 2^53. An \`ETag\` names the version of the card: \`If-None-Match\` answers 304, \`If-Match\` guards an update.

## Errors
Every error is \`application/problem+json\` with \`type\`, \`title\`, \`status\`, \`detail\`, \`errors\` and \`request_id\`. All of a request's refused parameters are named together. A 5xx or a broken connection means that the outcome is unknown: send the same request with the same \`Idempotency-Key\` again.

## Idempotency
A write with an \`Idempotency-Key\` is done once. Its answer, a refusal with 404, 412 or 422 included, is kept sealed for 24 hours and replayed byte for byte with \`Idempotent-Replayed: true\`. Keys belong to the API client behind the token, and survive the rotation of the token. \`If-Match\` is part of the request that a key stands for.

## Searching
Ten searches that find nothing, for one store and address within an hour, are answered with 404; the next one with 429, wherever it comes from.
`.trim();

export const giftCards = 'The four operations.';
export const service =
  'What the service tells of itself. These paths also work at the root of the service, outside the base path.';

export const body = 'Bare, or wrapped in `gift_card`; never both.';

export const updateBody =
  'What is absent stays. The other fields of the record may be sent along with their present values, so that a client can send back the record that it read; another value is refused.';

const record = {
  id: 244212357349,
  balance: '25.00',
  created_at: '2026-08-15T12:37:38Z',
  currency: 'USD',
  initial_value: '25.00',
  disabled_at: null,
  line_item_id: null,
  api_client_id: 7103421182,
  user_id: null,
  customer_id: 244212357120,
  customer_email: 'ada@example.com',
  recipient_id: 244212357133,
  recipient_email: 'grace@example.com',
  note: 'Sold at the counter',
  expires_on: '2031-12-31',
  message: 'Happy birthday!',
  last_characters: '7f3k',
  order_id: null,
};

export const examples = {
  record,
  issued: { ...record, code: 'q2m8xk4w9c0d7f3k' },
  createGiftCard: {
    initial_value: '25.00',
    expires_on: '2031-12-31',
    email: 'ada@example.com',
    recipient_email: 'grace@example.com',
    note: 'Sold at the counter',
    message: 'Happy birthday!',
  },
  updateGiftCard: { balance: '10.00', note: 'Paid 15.00 at the counter' },
  searchGiftCard: undefined,
  retrieveGiftCard: undefined,
};

function curl(source: string) {
  return [{ lang: 'shell', label: 'curl', source }];
}

export const operations = {
  createGiftCard: {
    summary: 'Create a gift card',
    description:
      'Issues a card. An address that is no customer of the store yet becomes one in the same transaction. The answer is the only one that holds the code; a replay of it under its `Idempotency-Key` does too.',
    samples: curl(`curl -X POST "$BASE_URL/gift_card" \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Idempotency-Key: order-1001-line-1" \\
  -H "Content-Type: application/json" \\
  -d '{"initial_value": "25.00", "recipient_email": "grace@example.com"}'`),
  },
  searchGiftCard: {
    summary: 'Search for a gift card',
    description:
      'The card whose code ends so and whose customer or recipient has the address. Of several, a usable one comes before a disabled or expired one, then the newest. In the app proxy’s signed request of a store that allows it, a signed-in customer finds cards of their own without a token.',
    samples: curl(`curl "$BASE_URL/gift_card?last_characters=7f3k&email=grace@example.com" \\
  -H "Authorization: Bearer $TOKEN"`),
  },
  retrieveGiftCard: {
    summary: 'Retrieve a gift card',
    description:
      'The card of this store with the id. Another store’s card is answered as if there were none.',
    samples: curl(`curl "$BASE_URL/gift_card/244212357349" -H "Authorization: Bearer $TOKEN"`),
  },
  updateGiftCard: {
    summary: 'Update a gift card',
    description:
      'Changes what is named, all of it or nothing; an update that changes nothing is a success. Disabling is final: after it, balance and expiry cannot change any more, the note can. Every change of the balance is one entry in the ledger.',
    samples: curl(`curl -X PUT "$BASE_URL/gift_card/244212357349" \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'If-Match: "244212357349-1"' \\
  -H "Content-Type: application/json" \\
  -d '{"balance": "10.00", "note": "Paid 15.00 at the counter"}'`),
  },
};

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token of the store: `Authorization: Bearer lgs_…`. Its scopes are `read_gift_cards` and `write_gift_cards`.',
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
    schema: { ...text, examples: ['"244212357349-1"'] },
  },
  Location: { description: 'The path of the new card.', schema: { ...text, format: 'uri-reference' } },
  'Cache-Control': { description: 'Always `no-store`.', schema: { ...text, const: 'no-store' } },
  'X-Request-Id': { description: 'The request’s id: the client’s own, if it sent a sane one.', schema: text },
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
  Allow: { description: 'The methods that the path takes.', schema: text },
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
  giftCardId: {
    name: 'gift_card_id',
    in: 'path',
    required: true,
    description: 'Identifier of the card. What is no integer is answered with 404.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    example: 244212357349,
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes the write happen once: 1 to 255 visible ASCII characters.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: 'order-1001-line-1',
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'Changes the card only if it still is this version.',
    schema: text,
    example: '"244212357349-1"',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Answers 304 if the card still is this version.',
    schema: text,
    example: '"244212357349-1"',
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
    description: 'Whether the database takes writes and its schema is current.',
    success: 'Both.',
    type: 'application/json',
    faults: ['unavailable'],
  },
  metrics: {
    summary: 'Metrics',
    description:
      'Prometheus’s text format. For scrapers on the same machine, or with `Authorization: Bearer` and the value of `METRICS_TOKEN`, if that is set.',
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
