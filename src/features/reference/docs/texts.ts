/** The texts of the API documentation that concern more than one operation. */

import { card } from '../../../api/examples.ts';
import type { Tag } from '../../../api/documentation.ts';
import type { Scope } from '../../../core/stores/domain/store.ts';

export const requestIdExample = '1f0c5a0e-3d0a-4a0e-9d5c-0a9b6f6e2a11';

/** The encoding in a form of values that have a type in JSON. */
export const formValues =
  'In a form, booleans are `true`, `false`, `1` or `0`, integers are digits, lists are separated by commas, and an empty value means null.';

export const repetition =
  'A repetition of an earlier request of the same caller with this `external_id`: its object as it is now. Nothing was changed.';

export const introduction =
  'A store issues gift cards, looks them up, finds one for a customer at the counter, and updates or disables them.';

const tagTexts: Readonly<Record<Tag | 'Service', string>> = {
  'Gift cards': 'Issue, find, update and disable gift cards, and re-enable them.',
  Batches:
    'Issue up to 10,000 gift cards with one request. They are issued in the background, each of them once, also after an interruption.',
  Stock:
    'Printed cards without money: codes that become gift cards when they are sold. They are neither a liability nor in reports of money.',
  Money:
    'Spend and top up gift cards, safely from several tills concurrently. These operations return `held` and `available` in addition to the balance. A caller without `read_gift_cards` receives only what a till needs: `id`, `balance`, `held`, `available`, `currency`, `expires_on`, `last_characters` and `state`.',
  Holds: 'Amounts that are reserved for a checkout.',
  History: 'The ledger of a gift card.',
  Locations:
    'The shops of a store. A movement has the location of its access token or till, or the one that it names; captures and reversals have the location where they take place. Reports split movements by location, but not the liability.',
  Customers: 'The customers of a store, their ids on the storefront, and their personal data.',
  Emails: 'The emails about a gift card, and their delivery.',
  Verification:
    'Signed checkpoints of the store’s log, and proofs that the log contains an entry of a gift card and that an earlier checkpoint is still valid. docs/verification.md describes what they prove.',
  Events: 'Changes in the store, for systems that poll or follow the stream.',
  Reports:
    'The books of a store: what it owes to the holders of its cards, and how that changed. Each report is JSON, or CSV with `format=csv` or `Accept: text/csv`. Days are those of the store’s time zone. A closed day does not change: an entry that was committed after its day was closed counts on the first open day.',
  Webhooks: 'URLs that receive events, and the log of their deliveries.',
  Sandbox:
    'The clock of a database to test with, whose gift cards have no value. `largesse sandbox` starts one.',
  Service:
    'The state of the service. These paths also work at the root of the service, outside the base path.',
};

export const tags = Object.entries(tagTexts).map(([name, description]) => ({ name, description }));

/** The permissions of a token, by its scopes. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  read_gift_cards: 'Retrieve and search gift cards, transactions and emails.',
  write_gift_cards: 'Issue and change gift cards.',
  redeem_gift_cards: 'Look up and spend gift cards: for tills, which cannot issue them.',
  read_events: 'Read events.',
  read_reports: 'Read the reports of the store; read and create checkpoints.',
  manage_webhooks: 'Create and change webhooks.',
  manage_customers: 'Export and erase the personal data of customers.',
};

const scopeNames = Object.keys(scopeTexts)
  .map((scope) => `\`${scope}\``)
  .join(', ');

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: `An access token of the store: \`Authorization: Bearer lgs_…\`. Its scopes are ${scopeNames}.`,
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
      'The signature of the storefront’s app proxy. It replaces a token only for a signed-in customer’s own search, if the store allows it.',
  },
};

const text = { type: 'string' } as const;

export const headers = {
  ETag: {
    description: 'The version of the card or webhook; changes with every change. Its form can change.',
    schema: { ...text, examples: [`"${card.id}-1203445678-1"`] },
  },
  'Email-Status': {
    description:
      '`not-configured`: the card would have been emailed, but the service has no mail server (`SMTP_URL`). Absent otherwise.',
    schema: { ...text, const: 'not-configured' },
  },
  'Code-Tried-At': {
    description:
      'When a caller who cannot activate it last looked for the code of the printed card, before this activation: another person can have read the code. Absent otherwise.',
    schema: { ...text, format: 'date-time' },
  },
  'Recorded-From': {
    description:
      'The time from which all changes of cards are recorded. Present if `as_of` is before it and a card in the response is older: its balance and held amount are exact, but its other fields are those of this time, except a later `disabled_at`.',
    schema: { ...text, format: 'date-time' },
  },
  Location: { description: 'The path of the new record.', schema: { ...text, format: 'uri-reference' } },
  'Cache-Control': { description: 'Always `no-store`.', schema: { ...text, const: 'no-store' } },
  'X-Request-Id': { description: 'The id of the request: the client’s own, if it is valid.', schema: text },
  Link: { description: 'The neighboring pages (RFC 8288): `next` is older, `previous` newer.', schema: text },
  'Dry-Run': {
    description: 'Present in the response to `dry_run=true`.',
    schema: { ...text, const: 'true' },
  },
  'Idempotent-Replayed': {
    description: 'Present in a response that was stored under its `Idempotency-Key`.',
    schema: { ...text, const: 'true' },
  },
  RateLimit: {
    description: 'The rest of the rate limit (IETF draft).',
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

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description?: string | undefined;
  readonly schema: object;
  readonly example?: string | number;
};

export const parameters = {
  visitor: {
    name: 'Largesse-Visitor',
    in: 'header',
    description:
      'The visitor who typed the code: 1 to 128 visible ASCII characters. Failed lookups count for this visitor.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
    example: '5f2b6c0e7d1a4938',
  },
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
    schema: { type: 'boolean' },
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
    example: `"${card.id}-1203445678-1"`,
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Returns 304 if this is still the current version.',
    schema: text,
    example: `"${card.id}-1203445678-1"`,
  },
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for the request, returned in the response and logged.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:/+=@-]{1,128}$' },
  },
} as const satisfies Readonly<Record<string, Parameter>>;
