/** An OpenAPI document with every construct of the reference page: the four operations on gift cards. */
import type { OpenApiDocument } from '../../src/http/reference/reference.ts';

type Components = NonNullable<OpenApiDocument['components']>;
type Response = NonNullable<Components['responses']>[string];
type Operation = NonNullable<NonNullable<OpenApiDocument['paths']>[string]['get']>;

const CARD = {
  id: 1_834_672_190_118,
  balance: '25.00',
  created_at: '2026-03-02T09:14:03Z',
  currency: 'USD',
  initial_value: '25.00',
  disabled_at: null,
  line_item_id: null,
  api_client_id: 7,
  user_id: null,
  customer_id: 1_834_672_190_119,
  customer_email: 'ada@example.com',
  recipient_id: null,
  recipient_email: null,
  note: null,
  expires_on: '2027-12-31',
  message: 'Happy birthday!',
  last_characters: '7f3k',
  order_id: null,
};

const READ = [
  { bearer: ['read_gift_cards'] },
  { accessToken: ['read_gift_cards'] },
  { gcfAccessToken: ['read_gift_cards'] },
];
const WRITE = READ.map((requirement) =>
  Object.fromEntries(Object.keys(requirement).map((name) => [name, ['write_gift_cards']])),
);

/** Returns a new document, which shares only texts with other calls. */
export function sampleDocument(): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Largesse',
      version: '0.1.0',
      description: `Gift cards of one store: create a card, retrieve it, find it by the end of its code, change it. Every
answer is a JSON object with the one key \`gift_card\`.

## Amounts

Amounts are answered as **strings** with exactly the currency's decimals: \`"15.00"\` in USD, \`"15"\` in JPY. They are
taken as a number or a string, and never rounded:

- \`15\`, \`"15.0"\` and \`"15.00"\` are the same amount;
- \`4.005\` is refused in USD;
- \`"1e3"\` and \`" 5"\` are refused everywhere.

## Idempotency

Send an \`Idempotency-Key\` with every write. The same request under the same key gives the same answer for 24 hours.

\`\`\`
Idempotency-Key: order-1001-line-2
\`\`\`

## Errors

Every refusal is a problem (RFC 9457) with a stable machine code: see [problem types](#problems).`,
    },
    externalDocs: { url: 'openapi.json', description: 'OpenAPI document' },
    servers: [
      { url: '/apps/gcf/api', description: 'Through the storefront.' },
      {
        url: 'https://{host}/api',
        description: 'Directly.',
        variables: { host: { default: 'cards.example.com', description: 'Where the service runs;' } },
      },
    ],
    tags: [{ name: 'Gift cards', description: 'One card of the store, with its present balance.' }],
    security: READ,
    paths: {
      '/gift_card': { get: search(), post: create() },
      '/gift_card/{gift_card_id}': {
        parameters: [{ $ref: '#/components/parameters/GiftCardId' }],
        get: retrieve(),
        put: update(),
      },
      '/health': {
        get: {
          operationId: 'health',
          summary: 'Health',
          tags: ['Operation'],
          security: [],
          responses: { 200: { description: 'The service answers.' } },
        },
      },
    },
    webhooks: {
      'gift_card.created': {
        post: {
          summary: 'A gift card was created',
          security: [],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/GiftCardAnswer' } } },
          },
          responses: { '2XX': { description: 'Received; anything else is sent again.' } },
        },
      },
    },
    components: components(),
    'x-faults': [
      {
        code: 'invalid_parameter',
        status: 422,
        title: 'Invalid parameter',
        detail: 'A field is refused; `errors` says which and why.',
      },
      {
        code: 'not_found',
        status: 404,
        title: 'Not found',
        detail: 'No such card in this store, or no such path.',
      },
      {
        code: 'unauthorized',
        status: 401,
        title: 'Unauthorized',
        detail: 'No credential, or one that does not count.',
      },
      { code: 'missing_scope', status: 403, title: 'Forbidden', detail: 'The credential lacks the scope.' },
      {
        code: 'idempotency_key_reused',
        status: 422,
        title: 'Idempotency key reused',
        detail: 'The key was used with another request.',
      },
      {
        code: 'request_in_progress',
        status: 409,
        title: 'Request in progress',
        detail: 'A request with this `Idempotency-Key` is still being worked on.',
      },
      {
        code: 'stale_version',
        status: 412,
        title: 'Stale version',
        detail: '`If-Match` names another version.',
      },
      { code: 'rate_limited', status: 429, title: 'Too many requests', detail: 'Wait for `Retry-After`.' },
      {
        code: 'internal',
        status: 500,
        title: 'Internal error',
        detail: 'A fault here, logged under `request_id`.',
      },
    ],
  };
}

function create(): Operation {
  return {
    operationId: 'createGiftCard',
    summary: 'Create a gift card',
    tags: ['Gift cards'],
    description: `Issues a card and answers its full \`code\`, **once**: no later answer has it.

An address that is no customer of the store yet becomes one in the same step.`,
    security: WRITE,
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }],
    requestBody: body('GiftCardCreation', { initial_value: '25.00', email: 'ada@example.com' }),
    responses: {
      201: {
        description: 'The card, with its code.',
        headers: { ETag: { $ref: '#/components/headers/ETag' } },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/CreatedGiftCardAnswer' },
            example: { gift_card: { ...CARD, code: 'k3vd9xwm2hpq7f3k' } },
          },
        },
      },
      ...refusals('BadRequest', 'Unauthorized', 'Forbidden', 'Conflict', 'Unprocessable', 'TooManyRequests'),
    },
    'x-codeSamples': [
      {
        lang: 'shell',
        label: 'curl',
        source: `curl http://localhost:3000/gift_card \\
  -H 'Authorization: Bearer lgs_…' \\
  -H 'Idempotency-Key: order-1001-line-2' \\
  -H 'Content-Type: application/json' \\
  -d '{"initial_value": "25.00",
       "email": "ada@example.com"}'`,
      },
      {
        lang: 'shell',
        label: 'curl, as a form',
        source: `curl http://localhost:3000/gift_card \\
  -H 'Authorization: Bearer lgs_…' \\
  -d initial_value=25 -d email=ada@example.com`,
      },
    ],
  };
}

function retrieve(): Operation {
  return {
    operationId: 'retrieveGiftCard',
    summary: 'Retrieve a gift card',
    tags: ['Gift cards'],
    parameters: [
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'The `ETag` that the client has; 304 if it is still current.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: cardAnswer('The card.'),
      304: { description: 'The card is as the client has it.' },
      ...refusals('Unauthorized', 'Forbidden', 'NotFound', 'TooManyRequests'),
    },
    'x-codeSamples': [
      {
        lang: 'shell',
        label: 'curl',
        source: `curl http://localhost:3000/gift_card/1834672190118 \\
  -H 'Authorization: Bearer lgs_…'`,
      },
    ],
  };
}

function search(): Operation {
  return {
    operationId: 'searchGiftCard',
    summary: 'Search for a gift card',
    tags: ['Gift cards'],
    description: `The one card whose code ends so and whose customer or recipient has that address. Of several:

1. a usable one before a disabled or expired one;
2. then the newest.`,
    parameters: [
      {
        name: 'last_characters',
        in: 'query',
        required: true,
        description: 'The end of the code, in either case.',
        schema: { type: 'string', minLength: 4, maxLength: 4, pattern: '^[A-Za-z0-9]{4}$' },
        example: '7f3k',
      },
      {
        name: 'email',
        in: 'query',
        required: true,
        description: 'Address of the customer or the recipient.',
        schema: { type: 'string', format: 'email', maxLength: 254 },
      },
      {
        name: 'shop',
        in: 'query',
        deprecated: true,
        description: 'Added by the app proxy.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: cardAnswer('The card found.'),
      ...refusals('BadRequest', 'Unauthorized', 'Forbidden', 'NotFound', 'Unprocessable', 'TooManyRequests'),
    },
    'x-codeSamples': [
      {
        lang: 'shell',
        label: 'curl',
        source: `curl -G http://localhost:3000/gift_card \\
  -d last_characters=7f3k \\
  -d email=ada@example.com \\
  -H 'Authorization: Bearer lgs_…'`,
      },
    ],
  };
}

function update(): Operation {
  return {
    operationId: 'updateGiftCard',
    summary: 'Update a gift card',
    tags: ['Gift cards'],
    description: 'Absent fields stay as they are. All named changes happen together or not at all.',
    security: WRITE,
    parameters: [
      { $ref: '#/components/parameters/IdempotencyKey' },
      {
        name: 'If-Match',
        in: 'header',
        description: 'Change the card only if this is still its `ETag`.',
        schema: { type: 'string' },
      },
    ],
    requestBody: body('GiftCardChange', { balance: '10.00' }),
    responses: {
      200: cardAnswer('The card after the change.'),
      ...refusals(
        'BadRequest',
        'Unauthorized',
        'Forbidden',
        'NotFound',
        'Conflict',
        'PreconditionFailed',
        'Unprocessable',
        'TooManyRequests',
      ),
    },
    'x-codeSamples': [
      {
        lang: 'shell',
        label: 'curl',
        source: `curl -X PUT http://localhost:3000/gift_card/1834672190118 \\
  -H 'Authorization: Bearer lgs_…' \\
  -H 'Content-Type: application/json' \\
  -d '{"balance": "10.00"}'`,
      },
    ],
  };
}

function body(name: string, example: object): NonNullable<Operation['requestBody']> {
  const schema = {
    anyOf: [
      { $ref: `#/components/schemas/${name}` },
      {
        title: 'Wrapped in gift_card',
        type: 'object',
        required: ['gift_card'],
        properties: { gift_card: { $ref: `#/components/schemas/${name}` } },
        additionalProperties: false,
      },
    ],
  };
  return {
    required: true,
    description: 'At most 64 KiB. Bare or wrapped; in a form, an empty value means null.',
    content: { 'application/json': { schema, example }, 'application/x-www-form-urlencoded': { schema } },
  };
}

function cardAnswer(description: string): NonNullable<Operation['responses']>[string] {
  return {
    description,
    headers: {
      ETag: { $ref: '#/components/headers/ETag' },
      'X-Request-Id': { description: 'Names this request in the log.', schema: { type: 'string' } },
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/GiftCardAnswer' },
        example: { gift_card: CARD },
      },
    },
  };
}

const STATUSES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  Conflict: 409,
  PreconditionFailed: 412,
  Unprocessable: 422,
  TooManyRequests: 429,
  Internal: 500,
} as const;

function refusals(...names: readonly (keyof typeof STATUSES)[]): NonNullable<Operation['responses']> {
  const entries = [...names, 'Internal' as const].map(
    (name) => [String(STATUSES[name]), { $ref: `#/components/responses/${name}` }] as const,
  );
  return Object.fromEntries(entries);
}

function problem(description: string, status: number, code: string, errors: string): Response {
  const type = `https://largesse.example/problems/${code}`;
  return {
    description,
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        example: { type, title: description, status, detail: description, errors, request_id: '0198c2f4' },
      },
    },
  };
}

function components(): Components {
  return {
    schemas: schemas(),
    parameters: {
      GiftCardId: {
        name: 'gift_card_id',
        in: 'path',
        required: true,
        description: 'Identifier of the card. One of another store is a 404, as is anything but an integer.',
        schema: { type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991 },
      },
      IdempotencyKey: {
        name: 'Idempotency-Key',
        in: 'header',
        description: 'Any text that is new for every write: an answer already given under it is given again.',
        schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
      },
    },
    headers: { ETag: { description: 'Changes with every change of the card.', schema: { type: 'string' } } },
    responses: {
      BadRequest: problem('The body or the query cannot be read.', 400, 'malformed-request', 'Bad Request'),
      Unauthorized: {
        ...problem('No credential, or one that does not count.', 401, 'unauthorized', 'Unauthorized'),
        headers: { 'WWW-Authenticate': { description: 'The schemes that do.', schema: { type: 'string' } } },
      },
      Forbidden: { description: 'The credential lacks the scope.', 'x-faults': ['missing_scope'] },
      NotFound: problem('No such card, or none that matches.', 404, 'not-found', 'Not Found'),
      Conflict: problem('A request under this key is in progress.', 409, 'request-in-progress', 'Conflict'),
      PreconditionFailed: problem(
        'The card has changed meanwhile.',
        412,
        'stale-version',
        'Precondition Failed',
      ),
      Unprocessable: {
        description: 'A parameter is refused.\n\nAll refused fields are named together.',
        'x-faults': ['invalid_parameter', 'idempotency_key_reused'],
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: {
              amount: {
                summary: 'an amount of nothing',
                value: {
                  type: 'https://largesse.example/problems/invalid-parameter',
                  title: 'Invalid parameter',
                  status: 422,
                  detail: 'A parameter is refused.',
                  errors: { initial_value: ['must be greater than 0'] },
                  request_id: '0198c2f4',
                },
              },
            },
          },
        },
      },
      TooManyRequests: {
        ...problem('Over the rate limit.', 429, 'rate-limited', 'Too Many Requests'),
        headers: {
          'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
        },
      },
      Internal: problem(
        'A fault here; nothing of its cause is told.',
        500,
        'internal',
        'Internal Server Error',
      ),
    },
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'An access token of the store.' },
      accessToken: { type: 'apiKey', in: 'header', name: 'X-Access-Token', description: 'The same token.' },
      gcfAccessToken: {
        type: 'apiKey',
        in: 'header',
        name: 'x-gcf-access-token',
        description: 'The same again.',
      },
      proxy: {
        type: 'apiKey',
        in: 'query',
        name: 'signature',
        description: 'HMAC-SHA-256 over the other parameters, in lower-case hex.',
      },
    },
  };
}

function schemas(): NonNullable<Components['schemas']> {
  const nullable = (schema: object): object => ({ anyOf: [schema, { type: 'null' }] });
  const amount = (description: string, lowest: object): object => ({
    description,
    anyOf: [
      { type: 'number', ...lowest },
      { type: 'string', pattern: String.raw`^(0|[1-9]\d{0,11})(\.\d+)?$` },
    ],
  });
  const expiresOn = nullable({
    type: 'string',
    format: 'date',
    description: 'Last day on which the card is good.',
  });
  const text = { type: 'string', maxLength: 5000 };
  const email = { type: 'string', format: 'email', maxLength: 254 };
  const record = cardProperties(nullable);
  return {
    GiftCard: {
      type: 'object',
      description: 'A card of the store. Every field is always present.',
      required: Object.keys(record),
      properties: record,
    },
    CreatedGiftCard: {
      description: 'The card as it is answered once, on creation.',
      allOf: [
        { $ref: '#/components/schemas/GiftCard' },
        {
          type: 'object',
          required: ['code'],
          properties: { code: { type: 'string', description: 'The whole code, in lower case.' } },
        },
      ],
    },
    GiftCardAnswer: {
      type: 'object',
      required: ['gift_card'],
      properties: { gift_card: { $ref: '#/components/schemas/GiftCard' } },
    },
    CreatedGiftCardAnswer: {
      type: 'object',
      required: ['gift_card'],
      properties: { gift_card: { $ref: '#/components/schemas/CreatedGiftCard' } },
    },
    GiftCardCreation: {
      type: 'object',
      required: ['initial_value'],
      properties: {
        initial_value: amount('Value of the card.', { exclusiveMinimum: 0 }),
        expires_on: expiresOn,
        email: { ...nullable(email), description: 'Customer of the card; becomes one if unknown.' },
        recipient_email: {
          ...nullable(email),
          description: 'Who receives it; becomes a customer if unknown.',
        },
        note: { ...nullable(text), description: 'Internal, never shown to customers.' },
        message: { ...nullable(text), description: 'Stands in the e-mail.' },
        code: {
          type: 'string',
          minLength: 8,
          maxLength: 20,
          description: 'Letters and digits of your own choice; absent, a random code is drawn.',
        },
      },
      additionalProperties: false,
    },
    GiftCardChange: {
      type: 'object',
      properties: {
        disable: { type: 'boolean', description: '`true` disables the card, for good.' },
        balance: amount('The new balance. It may exceed `initial_value`.', { minimum: 0 }),
        expires_on: expiresOn,
        note: {
          type: ['string', 'null'],
          maxLength: 5000,
          description: 'Internal, never shown to customers.',
        },
      },
      additionalProperties: false,
    },
    Problem: {
      type: 'object',
      description: 'What every refusal answers (RFC 9457).',
      required: ['type', 'title', 'status', 'detail', 'errors', 'request_id'],
      properties: {
        type: { type: 'string', format: 'uri', description: 'Ends in a stable [machine code](#problems).' },
        title: { type: 'string' },
        status: { type: 'integer', minimum: 400, maximum: 599 },
        detail: { type: 'string' },
        errors: {
          description: 'Field by field where a field is at fault, else one text.',
          anyOf: [
            { type: 'string' },
            { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
          ],
        },
        request_id: { type: 'string', description: 'The `X-Request-Id` of the answer.' },
      },
    },
  };
}

function cardProperties(nullable: (schema: object) => object): Readonly<Record<string, object>> {
  const id = { type: 'integer' };
  return {
    id: { ...id, description: 'Identifier of the card, below 2^53.' },
    balance: { type: 'string', description: 'Present balance.', examples: ['15.00'] },
    created_at: { type: 'string', format: 'date-time' },
    currency: {
      type: 'string',
      enum: ['USD', 'EUR', 'JPY', 'KWD'],
      description: "The store's own (ISO 4217).",
    },
    initial_value: { type: 'string', description: 'Value at creation; never changes.' },
    disabled_at: {
      ...nullable({ type: 'string', format: 'date-time' }),
      description: 'null while it is not disabled.',
    },
    line_item_id: nullable(id),
    api_client_id: nullable(id),
    user_id: nullable(id),
    customer_id: { ...nullable(id), description: 'Customer assigned through `email`.' },
    customer_email: nullable({ type: 'string', format: 'email' }),
    recipient_id: { ...nullable(id), description: 'Customer assigned through `recipient_email`.' },
    recipient_email: nullable({ type: 'string', format: 'email' }),
    note: { ...nullable({ type: 'string' }), description: 'Internal, never shown to customers.' },
    expires_on: {
      ...nullable({ type: 'string', format: 'date' }),
      description: 'Good through the whole of this day.',
    },
    message: { ...nullable({ type: 'string' }), description: 'Stands in the e-mail.' },
    last_characters: { type: 'string', minLength: 4, maxLength: 4, description: 'The end of the code.' },
    order_id: nullable(id),
  };
}
