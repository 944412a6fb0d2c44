/** The texts of the API documentation that concern more than one operation. */

import { card } from '../api/examples.ts';
import type { Tag } from '../api/documentation.ts';
import type { FaultCode } from '../domain/fault.ts';

export const requestIdExample = '1f0c5a0e-3d0a-4a0e-9d5c-0a9b6f6e2a11';

/** How a form encodes values that have a type in JSON. */
export const formValues =
  'In a form, booleans are `true`, `false`, `1` or `0`, integers are digits, lists are separated by commas, and an empty value means null.';

export const introduction = `
A store issues gift cards, looks them up, finds one for a customer at the counter, and updates or disables them.

## Requests
Bodies are \`application/json\` or \`application/x-www-form-urlencoded\`, either bare (\`{"initial_value": 25}\`) or wrapped (\`{"gift_card": {"initial_value": 25}}\`, \`gift_card[initial_value]=25\`). JSON takes JSON types: booleans and integers are not accepted as strings; only amounts are numbers or decimal strings. ${formValues} A request without a body, or with an empty body, has no parameters, whatever its content type. An unknown parameter is rejected, and the rest of the request is not applied. Every query accepts the parameters of a storefront's app proxy (\`shop\`, \`logged_in_customer_id\`, \`path_prefix\`, \`timestamp\`, \`signature\`).

## Responses
Every successful response of the first four operations is \`{"gift_card": {…}}\`; the other operations name their records. Every field is always present. Amounts are strings with exactly the currency's decimals. Ids are integers below 2^53; the ids of gift cards, customers, holds and transactions reveal neither time nor number. An \`ETag\` names the version of a card: \`If-None-Match\` returns 304, \`If-Match\` protects an update.

## Errors
Every error is \`application/problem+json\` with \`type\`, \`title\`, \`status\`, \`detail\`, \`errors\` and \`request_id\`. All invalid parameters of a request are reported together. After a 5xx or a broken connection the outcome is unknown: send the same request with the same \`Idempotency-Key\` again. A response that is sent before the request's body has been read closes the connection. The server responds to \`Expect: 100-continue\` after it has accepted the credential and the announced size of the body.

## Idempotency
A write with an \`Idempotency-Key\` is applied only once. Its response is stored encrypted for 24 hours, including an error with 404, 412 or 422, and replayed byte for byte with \`Idempotent-Replayed: true\`. Keys belong to the API client of the token, and survive the rotation of the token. \`If-Match\` is part of the request that a key identifies.

## Dry runs
Every write accepts \`?dry_run=true\`: the response is the same, with \`Dry-Run: true\`, and nothing is changed, published or stored.

## Failed lookups
Searches, lookups by code and ids that find nothing are limited per caller: 1,000 per hour of a token, unless the store or the service sets another limit, and 10 per hour of a signed-in customer. The budget refills continuously. A caller whose budget is exhausted receives a 429 with \`Retry-After\` for every search and lookup; other callers are not affected. A creation with a \`code\` that issues no card (a dry run, or a 422) and an update with a \`code\` that is rejected with 422 count as failed lookups, because the response says whether the code exists. A response that is replayed under its \`Idempotency-Key\` is not counted again.
`.trim();

const tagTexts: Readonly<Record<Tag | 'Service', string>> = {
  'Gift cards': 'Issue, find, update and disable gift cards, and re-enable them.',
  Money:
    'Spend and top up gift cards, safely from several tills concurrently. These operations return `held` and `available` in addition to the balance. A caller without `read_gift_cards` receives only what a till needs: `id`, `balance`, `held`, `available`, `currency`, `expires_on`, `last_characters` and `state`.',
  Holds: 'Amounts that are reserved for a checkout.',
  History: 'The ledger of a gift card.',
  Customers: 'The customers of a store and their ids on the storefront.',
  Emails: 'The emails about a gift card, and their delivery.',
  Events:
    'Changes in the store, for systems that poll. `sequence` is the version of the card after the event: of two events of one card the one with the higher sequence is the later one, and a missing number is a missed event. Events of one change have the same sequence; an event that changes nothing (an expiry) has the sequence of the previous change; events without a card have 0. The record is as it was at that time, and never contains the code.',
  Webhooks:
    'URLs that receive events. Each event is posted at least once, so a receiver ignores a `webhook-id` that it has already received, and responds with 2xx within 10 seconds. Events can arrive in another order: sort them by `sequence`. After a failure the server retries for 72 hours, at growing intervals or after `Retry-After`; a webhook that has only failed for that long is paused, and so is one that responds with 410. Redirects are not followed. `webhook-id`, `webhook-timestamp` and `webhook-signature` sign the message by the Standard Webhooks scheme.',
  Service:
    'The state of the service. These paths also work at the root of the service, outside the base path.',
};

export const tags = Object.entries(tagTexts).map(([name, description]) => ({ name, description }));

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token of the store: `Authorization: Bearer lgs_…`. Its scopes are `read_gift_cards`, `write_gift_cards`, `redeem_gift_cards` for tills that can spend but not issue, `read_events`, and `manage_webhooks`.',
  },
  accessToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Access-Token',
    description: 'The same token in its own header.',
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
      'The signature of the storefront’s app proxy: all other query parameters, decoded, sorted by name, `name=value` without separators, HMAC-SHA-256 with the store’s secret, in lower-case hex; `timestamp` can differ by at most 90 seconds. It proves the route of a request, not its sender: a token is also required, except for a signed-in customer’s own search if the store allows it. A signature that is sent must be valid.',
  },
};

const text = { type: 'string' } as const;

export const headers = {
  ETag: {
    description: 'The version of the card; changes with every change.',
    schema: { ...text, examples: [`"${card.id}-1"`] },
  },
  'Email-Status': {
    description:
      '`not-configured`: the card would have been emailed, but the service has no mail server (`SMTP_URL`). Absent otherwise.',
    schema: { ...text, const: 'not-configured' },
  },
  Location: { description: 'The path of the new record.', schema: { ...text, format: 'uri-reference' } },
  'Cache-Control': { description: 'Always `no-store`.', schema: { ...text, const: 'no-store' } },
  'X-Request-Id': { description: 'The id of the request: the client’s own, if it is valid.', schema: text },
  Link: {
    description: 'The neighboring pages (RFC 8288): `next` is older, `previous` newer.',
    schema: text,
  },
  'Dry-Run': {
    description: 'Present in the response to `dry_run=true`.',
    schema: { ...text, const: 'true' },
  },
  'Idempotent-Replayed': {
    description: 'Present in a response that was stored under its `Idempotency-Key`.',
    schema: { ...text, const: 'true' },
  },
  RateLimit: {
    description: 'What remains of the rate limit (IETF draft).',
    schema: { ...text, examples: ['"default";r=999;t=1'] },
  },
  'RateLimit-Policy': {
    description: 'The rate limit: the burst and the seconds in which it refills (IETF draft).',
    schema: { ...text, examples: ['"default";q=1000;w=2'] },
  },
  'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': { description: 'The accepted schemes.', schema: text },
};

/** The headers of error responses with a status. */
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
    description: 'Applies the write only once: 1 to 255 visible ASCII characters.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: 'order-1001-line-1',
  },
  dryRun: {
    name: 'dry_run',
    in: 'query',
    description: 'true: returns the response with `Dry-Run: true`; nothing is changed, published or stored.',
    schema: { enum: ['true', 'false', '1', '0'] },
  },
  lastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The last event that the client received; takes precedence over `after`.',
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,15}$' },
    example: '244212359911',
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'Applies the write only to this version.',
    schema: text,
    example: `"${card.id}-1"`,
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Returns 304 if this is still the current version.',
    schema: text,
    example: `"${card.id}-1"`,
  },
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for the request, returned in the response and logged.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:/+=@-]{1,128}$' },
  },
};

type PageText = {
  readonly summary: string;
  readonly description: string;
  readonly success: string;
  readonly type: string;
  readonly errors: readonly FaultCode[];
};

export const pages: Readonly<Record<'health' | 'readiness' | 'metrics' | 'openapi', PageText>> = {
  health: {
    summary: 'Check health',
    description: 'Checks that the process responds, and nothing else.',
    success: 'The process responds.',
    type: 'application/json',
    errors: [],
  },
  readiness: {
    summary: 'Check readiness',
    description:
      'Checks that the database accepts writes, its disk has free space, its schema is current, and no second server of `DATABASE_URL` accepts writes. `details.mail` says how email is sent: `smtp`, `folder` (in development without `SMTP_URL` emails are kept on this machine), or `none: …` with the reason; a service that sends no email is still ready.',
    success: 'The service is ready.',
    type: 'application/json',
    errors: ['unavailable'],
  },
  metrics: {
    summary: 'Retrieve metrics',
    description:
      'Prometheus’s text format. For scrapers on the same machine, at a loopback address or `localhost`, or with `Authorization: Bearer` and the value of `METRICS_TOKEN`, if it is set.',
    success: 'The metrics.',
    type: 'text/plain',
    errors: ['unauthenticated'],
  },
  openapi: {
    summary: 'Retrieve this description',
    description: 'OpenAPI 3.1.',
    success: 'The description.',
    type: 'application/json',
    errors: [],
  },
};
