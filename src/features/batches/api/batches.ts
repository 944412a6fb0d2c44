/** Issue many gift cards with one request. */

import { startBatchesTool } from '../service/batch.ts';
import { csvOfTable } from '../../../core/tables/service/csv-parts.ts';
import Type from 'typebox';
import { limits } from '../../../platform/limits.ts';
import {
  batchCardsMax,
  batchErrorsMax,
  batchNameLengthMax,
  equalCards,
  errorsByName,
  expectationErrors,
  parseBatch,
  totalTooLarge,
  type ParsedBatch,
} from '../domain/batch.ts';
import { batchCardRecordOf, batchRecordOf } from '../domain/record.ts';
import type { FieldErrors } from '../../../core/domain/fault.ts';
import { decimalPattern, parseAmount, type Money } from '../../../core/money/domain/money.ts';
import {
  newCardErrors,
  newCardFieldNames,
  newCardOf,
  orNull,
  type CardToIssue,
} from '../../../core/cards/domain/new-card.ts';

import { resultOf } from '../../../core/domain/paused.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { batchCardSchema, batchFailureSchema, batchSchema } from '../domain/batch-schemas.ts';
import { parseLine, sentLineLengthMax } from '../../../core/domain/text.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { batchExport, batchExportOf } from '../service/export.ts';
import * as service from '../service/batch.ts';
import * as lists from '../service/batch-lists.ts';
import { locationOf } from '../../../core/stores/service/location.ts';
import { creationFields } from '../../../core/cards/api/cards.ts';
import { notInStock } from '../../../core/stocks/service/activation.ts';
import * as examples from '../../../api/examples.ts';
import { field, integerField, optional, type Values } from '../../../api/field.ts';
import { list, recordsOf } from '../../../api/list.ts';
import { read, write } from '../../../api/operation.ts';
import { type Operation, commonDocumentation, queryReader, routeOf } from '../../../api/operation-route.ts';
import { idReader } from '../../../api/path.ts';
import {
  csvOfPlaces,
  pageOfPlaces,
  placesOf,
  placesQuery,
  readsOf,
} from '../../../core/stores/api/places.ts';

const cardSchema = Type.Object(
  Object.fromEntries(
    newCardFieldNames.map((name) => {
      const { schema } = creationFields[name];
      return [name, name === 'initial_value' ? schema : Type.Optional(schema)];
    }),
  ),
  { additionalProperties: false },
);

const cardsField = field<ParsedBatch>(
  Type.Array(cardSchema, {
    minItems: 1,
    maxItems: batchCardsMax,
    description:
      'The gift cards, at most 10,000, each with the fields of `POST /gift_card`. An error has the place in the list in its name: `cards[12].initial_value`.',
    examples: [
      [{ initial_value: '25.00', recipient_email: 'grace@example.com' }, { initial_value: '50.00' }],
    ],
  }),
  (value, { store, now, canSend = false }) => {
    if (!Array.isArray(value)) return rejected('must be a list of objects');
    if (value.length === 0) return rejected('must not be empty');
    if (value.length > batchCardsMax)
      return rejected(`must have at most ${batchCardsMax.toLocaleString('en')} gift cards`);
    return accepted(resultOf(parseBatch(value, { store, now, canSend })));
  },
);

/** A code, a storefront id and an external id belong to one card. */
const {
  code: _code,
  storefront_customer_id: _storefrontId,
  external_id: _externalId,
  ...sharedFields
} = creationFields;

const equalFields = { ...sharedFields, initial_value: optional(creationFields.initial_value) };
const equalFieldNames = Object.keys(equalFields) as (keyof typeof equalFields)[];

/** The parameters of `POST /batches`. */
export const batchFields = {
  name: field(
    Type.Union([Type.String({ maxLength: sentLineLengthMax(batchNameLengthMax) }), Type.Null()], {
      description: 'The caller’s name of the batch, on one line of at most 100 characters.',
      examples: ['Spring campaign'],
    }),
    (value) => parseLine(value, batchNameLengthMax),
  ),
  count: integerField(
    'The number of equal gift cards, with the other fields of this request. Not with `cards`.',
    { max: batchCardsMax, example: 500 },
  ),
  cards: cardsField,
  expected_count: integerField(
    'The number of gift cards that the caller expects. If it differs, nothing is issued.',
    { max: Number.MAX_SAFE_INTEGER, example: 500 },
  ),
  expected_total: field<Money | null>(
    Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: decimalPattern }), Type.Null()], {
      description: 'The sum of the values that the caller expects. If it differs, nothing is issued.',
      examples: ['12500.00'],
    }),
    orNull((value, { store }) => parseAmount(value, { currency: store.currency, zeroAllowed: true })),
  ),
  ...equalFields,
};

type BatchValues = Partial<Values<typeof batchFields>>;

type Cards = { readonly cards: readonly CardToIssue[]; readonly total: Money };

/** The cards of a request; undefined if they have errors. */
function cardsOf(values: BatchValues, { canSend }: Pick<RequestContext, 'canSend'>): Cards | undefined {
  const { cards, count, initial_value: value } = values;
  if (cards) return cards.ok ? cards : undefined;
  if (typeof count !== 'number' || !value) return undefined;
  return equalCards(newCardOf({ ...values, initial_value: value }, { canSend }), count);
}

function countCodesOf({ cards }: BatchValues): number {
  return cards?.ok ? service.countChosenCodes(cards.cards) : 0;
}

/** The names of the first codes of a batch, none of which can be in stock. */
function namesOfCodes({ cards }: Cards): readonly string[] {
  const named = cards.flatMap(({ code }, index) => (code ? [`cards[${index}].code`] : []));
  return named.slice(0, batchErrorsMax);
}

function addErrors(values: BatchValues, errors: FieldErrors, requestContext: RequestContext): void {
  const { cards, count } = values;
  if (cards && !cards.ok) {
    const { errors: found, errorCount } = cards;
    for (const [name, messages] of Object.entries(errorsByName(found)))
      for (const message of messages) errors.add(name, message);
    if (errorCount > found.length)
      errors.add(
        'cards',
        `is invalid: it has ${errorCount} errors, of which the first ${batchErrorsMax} are listed`,
      );
  }
  if (cards || errors.has('cards')) {
    for (const name of ['count', ...equalFieldNames] as const)
      if (values[name] !== undefined) errors.add(name, 'cannot be combined with cards');
  } else {
    if ((count ?? null) === null && !errors.has('count')) errors.add('count', 'is required without cards');
    if (values.initial_value === undefined && !errors.has('initial_value'))
      errors.add('initial_value', 'is required without cards');
    for (const [name, message] of newCardErrors(values, requestContext, (each) => errors.has(each)))
      errors.add(name, message);
  }
  const { perHour } = requestContext.lookup;
  if (countCodesOf(values) > perHour)
    errors.add(
      'cards',
      `must have at most ${perHour.toLocaleString('en')} codes, the limit of failed lookups`,
    );
  if (errors.any) return;
  const found = cardsOf(values, requestContext);
  if (!found) errors.add('count', totalTooLarge);
  else {
    if (requestContext.caller.store.stockRequired === 'yes')
      for (const name of namesOfCodes(found)) errors.add(name, notInStock);
    const { expected_count: expectedCount = null, expected_total: expectedTotal = null } = values;
    for (const [name, message] of expectationErrors(found, { expectedCount, expectedTotal }))
      errors.add(name, message);
  }
}

const oneBatch = {
  description: 'The batch, and how many gift cards were issued so far.',
  members: { batch: batchSchema },
  example: { batch: examples.batch },
};

export const createBatch = write({
  id: 'createBatch',
  method: 'POST',
  path: '/batches',
  scopes: ['write_gift_cards'],
  tag: 'Batches',
  summary: 'Create a batch',
  description:
    'Issues many gift cards: `count` equal ones, or those in `cards`, at most 10,000. All parameters are validated before the response; if any is invalid, nothing is issued, and at most 100 errors are returned. The gift cards are issued after the response: `GET /batches/{batch_id}` returns the progress, and `GET /batches/{batch_id}/cards` the gift cards with their codes. At the end, `batch.completed` is published. Gift cards with an email address are emailed, as by `POST /gift_card`. With `dry_run=true`, the response has the count and the total, and nothing is issued. The body can have 4 MiB. A store can have 20 running batches. A `code` that is taken is a failed lookup, so a batch can have at most as many codes as the caller has failed lookups left.',
  bodyBytesMax: limits.batchBodyBytesMax,
  body: {
    name: 'CreateBatch',
    wrapper: 'batch',
    fields: batchFields,
    example: {
      name: 'Spring campaign',
      cards: [{ initial_value: '25.00', recipient_email: 'grace@example.com' }, { initial_value: '50.00' }],
      expected_count: 2,
      expected_total: '75.00',
    },
  },
  response: {
    ...oneBatch,
    status: 202,
    example: {
      batch: {
        ...examples.batch,
        state: 'running',
        issued: 0,
        issued_total: '0.00',
        completed_at: null,
        codes_until: null,
      },
    },
    headers: ['Location'],
  },
  errors: [],
  sample: { body: { count: 500, initial_value: '25.00' }, idempotencyKey: 'spring-campaign' },
  prepare: async ({ canSend }) => ({ canSend }),
  check: addErrors,
  async inspect({ ctx, store, body, requestContext }, errors) {
    const found = cardsOf(body, requestContext);
    if (!found) return;
    const { storage } = requestContext;
    const taken = await service.checkBatch({ ctx, storage }, { store, cards: found.cards });
    for (const [name, messages] of Object.entries(errorsByName(taken)))
      for (const message of messages) errors.add(name, message);
  },
  countCodes: countCodesOf,
  *run({ ctx, caller, store, body, requestContext, after }) {
    const found = cardsOf(body, requestContext);
    // `check` has rejected a request without cards.
    if (!found) throw new Error('a batch without cards');
    const batch = yield* service.startBatch(ctx, {
      store,
      name: body.name ?? null,
      actor: caller.actor,
      apiClientId: caller.apiClientId,
      locationId: yield* locationOf(store.id, { own: caller.locationId, named: null }),
      ...found,
    });
    after((hasSucceeded) => {
      if (hasSucceeded && !requestContext.isDryRun) requestContext.tools.of(startBatchesTool)();
    });
    return {
      body: { batch: batchRecordOf(batch, ctx.clock.earliest()) },
      headers: { location: `${requestContext.basePath}/batches/${batch.id}` },
    };
  },
});

const scopes = ['read_gift_cards', 'write_gift_cards'] as const;

export const listBatches = list({
  id: 'listBatches',
  path: '/batches',
  scopes,
  tag: 'Batches',
  summary: 'List batches',
  description: 'Returns the store’s batches, newest first. `Link` has the neighboring pages.',
  member: 'batches',
  record: batchSchema,
  example: examples.batch,
  responseDescription: 'A page of batches.',
  cursor: { isPublic: false, of: ({ id }) => id },
  errors: [],
  *page({ ctx, store }, page) {
    const now = ctx.clock.earliest();
    return recordsOf(yield* lists.listStoreBatches(store.id, page), (batch) => batchRecordOf(batch, now));
  },
});

export const retrieveBatch = read({
  id: 'retrieveBatch',
  path: '/batches/:batch_id',
  scopes,
  tag: 'Batches',
  summary: 'Retrieve a batch',
  description:
    'Returns the batch and its progress. `failures` has the reasons why gift cards were not issued, at most 100.',
  response: {
    ...oneBatch,
    members: { batch: batchSchema, failures: Type.Array(batchFailureSchema) },
    example: { batch: examples.batch, failures: [] },
  },
  errors: ['not-found'],
  *run({ ctx, store, ids: { batch_id: batchId } }) {
    const key = { storeId: store.id, batchId };
    const batch = yield* lists.showBatch(key);
    const failures = batch.failed > 0 ? yield* lists.listFailures(key) : [];
    return { body: { batch: batchRecordOf(batch, ctx.clock.earliest()), failures: [...failures] } };
  },
});

const cardsQuery = placesQuery('Only gift cards from this place in the batch on. By default all, from 0.');

const listBatchCardsDefinition = {
  id: 'listBatchCards',
  path: '/batches/:batch_id/cards',
  scopes,
  tag: 'Batches',
  summary: 'List the gift cards of a batch',
  description:
    'Returns the issued gift cards in the order of the request. Their codes are included for callers with `write_gift_cards` while the batch is running and until `codes_until`, 24 hours after its completion; afterwards they are erased. A gift card that was emailed has no code here. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.',
  errors: ['not-found'],
} as const;

const readCardsIds = idReader(listBatchCardsDefinition.path);
const readCardsQuery = queryReader(cardsQuery, 'invalid-query');

export const listBatchCards: Operation<'listBatchCards'> = {
  ...routeOf(listBatchCardsDefinition, 'GET'),
  query: Object.keys(cardsQuery),
  async handle(requestContext) {
    const { ctx, storage, caller, turns } = requestContext;
    const { store } = caller;
    const { ids } = readCardsIds(requestContext);
    const query = readCardsQuery(requestContext, { store, now: ctx.clock.now() });
    const { limit, from, isCsv } = placesOf(query, requestContext);
    // No batch has the id 0.
    const key = { storeId: store.id, batchId: ids?.batch_id ?? 0 };
    const withCodes = caller.scopes.includes('write_gift_cards');
    if (isCsv) {
      // An unknown batch is rejected here, while an error response is possible.
      const { id } = await storage.read(() => lists.showBatch(key));
      const place = { ctx, storage: readsOf(requestContext) };
      const parts = () => csvOfTable(batchExport(place, key, { from, withCodes }));
      return csvOfPlaces(requestContext, { name: `batch-${id}.csv`, parts });
    }
    const page = { from, limit, withCodes };
    const { cards, next } = await turns(() => storage.read(() => lists.listCardsOfBatch(ctx, key, page)));
    const body = { cards: cards.map((each) => batchCardRecordOf(ctx.keys.publicIds, each)) };
    return pageOfPlaces(requestContext, { body, next, limit });
  },
  documentation: {
    ...commonDocumentation(listBatchCardsDefinition),
    query: cardsQuery,
    response: {
      status: 200,
      description: 'Gift cards of the batch.',
      headers: ['Link'],
      content: { members: { cards: Type.Array(batchCardSchema) }, example: { cards: [examples.batchCard] } },
      alternative: { type: 'text/csv', example: batchExportOf(examples.batchCard) },
    },
  },
};
