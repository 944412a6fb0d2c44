/** Stocks of printed codes, which become gift cards when they are activated. */

import { startBatchesTool } from '../../batches/service/batch.ts';
import { csvOfTable } from '../../../core/tables/service/csv-parts.ts';
import Type from 'typebox';
import {
  givenCodeLengthMax,
  readChosenCode,
  readNewCode,
  type ChosenCode,
} from '../../../core/cards/domain/given-code.ts';
import { orNull } from '../../../core/cards/domain/new-card.ts';
import { Fault, type FieldErrors } from '../../../core/domain/fault.ts';
import { decimalPattern, parseAmount, type Money } from '../../../core/money/domain/money.ts';
import { stockCodeSchema, stockFailureSchema, stockSchema } from '../../batches/domain/batch-schemas.ts';
import { stockRecordOf } from '../domain/record.ts';
import {
  stockCodesMax,
  stockErrorsMax,
  stockNameLengthMax,
  validMonthsMax,
  valueErrors,
  stockValuesOf,
} from '../../../core/stocks/domain/stock.ts';
import { parseLine, sentLineLengthMax } from '../../../core/domain/text.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { limits } from '../../../platform/limits.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import * as codesOf from '../service/codes.ts';
import * as service from '../service/stock.ts';
import * as examples from '../../../api/examples.ts';
import { field, integerField, type Values } from '../../../api/field.ts';
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

/** Codes that the caller chose, or the errors of some of them. */
type ParsedCodes = {
  readonly codes: readonly ChosenCode[];
  readonly errors: readonly { readonly index: number; readonly message: string }[];
  readonly errorCount: number;
};

function parseCodes(sent: readonly unknown[], readCode: typeof readNewCode): ParsedCodes {
  const codes: ChosenCode[] = [];
  const errors: { readonly index: number; readonly message: string }[] = [];
  let errorCount = 0;
  const add = (index: number, message: string): void => {
    errorCount += 1;
    if (errors.length < stockErrorsMax) errors.push({ index, message });
  };
  const places = new Map<string, number>();
  for (const [index, text] of sent.entries()) {
    const code = readCode(text);
    if (!code.ok) {
      add(index, code.error);
      continue;
    }
    const first = places.get(code.value.code.reveal());
    if (first === undefined) places.set(code.value.code.reveal(), index);
    else add(index, `is the same as codes[${first}]`);
    codes.push(code.value);
  }
  return { codes, errors, errorCount };
}

function codesField(readCode: typeof readNewCode, description: string) {
  return field<ParsedCodes | null>(
    Type.Union(
      [
        Type.Array(Type.String({ minLength: 1, maxLength: givenCodeLengthMax }), {
          minItems: 1,
          maxItems: stockCodesMax,
        }),
        Type.Null(),
      ],
      { description, examples: [['CARD-0000-0001', 'CARD-0000-0002']] },
    ),
    orNull((value: unknown): Parsed<ParsedCodes> => {
      if (!Array.isArray(value)) return rejected('must be a list of codes');
      if (value.length === 0) return rejected('must not be empty');
      if (value.length > stockCodesMax)
        return rejected(`must have at most ${stockCodesMax.toLocaleString('en')} codes`);
      return accepted(parseCodes(value, readCode));
    }),
  );
}

function valueField(description: string, example: string) {
  return field<Money | null>(
    Type.Union(
      [Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern }), Type.Null()],
      { description, examples: [example] },
    ),
    orNull((value, { store }) => parseAmount(value, { currency: store.currency, zeroAllowed: false })),
  );
}

/** The parameters of `POST /stocks`. */
export const stockFields = {
  name: field(
    Type.Union([Type.String({ maxLength: sentLineLengthMax(stockNameLengthMax) }), Type.Null()], {
      description: 'The caller’s name of the stock, on one line of at most 100 characters.',
      examples: ['Cards at the counter'],
    }),
    (value) => parseLine(value, stockNameLengthMax),
  ),
  count: integerField('The number of codes that the service generates. Not with `codes`.', {
    max: stockCodesMax,
    example: 500,
  }),
  codes: codesField(
    readNewCode,
    'The store’s own codes, at most 10,000, each as `code` of `POST /gift_card`. An error has the place in the list in its name: `codes[12]`.',
  ),
  fixed_value: valueField(
    'The value of each gift card. By default, and with null, the value is open.',
    '25.00',
  ),
  minimum_value: valueField(
    'The lowest value of a gift card whose value is open. By default the smallest amount.',
    '10.00',
  ),
  maximum_value: valueField(
    'The highest value of a gift card whose value is open. By default the store’s limit.',
    '150.00',
  ),
  valid_months: integerField(
    'How many months a gift card is valid after its activation. By default it never expires.',
    { max: validMonthsMax, example: 36 },
  ),
};

type StockValues = Partial<Values<typeof stockFields>>;

function addCodeErrors(
  { codes }: Pick<StockValues, 'codes'>,
  errors: FieldErrors,
  { lookup: { perHour } }: Pick<RequestContext, 'lookup'>,
): void {
  if (!codes) return;
  for (const { index, message } of codes.errors) errors.add(`codes[${index}]`, message);
  if (codes.errorCount > codes.errors.length)
    errors.add(
      'codes',
      `is invalid: it has ${codes.errorCount} errors, of which the first ${stockErrorsMax} are listed`,
    );
  if (codes.codes.length > perHour)
    errors.add(
      'codes',
      `must have at most ${perHour.toLocaleString('en')} codes, the limit of failed lookups`,
    );
}

function sentValues(values: StockValues) {
  const { fixed_value: fixedValue, minimum_value: minimumValue, maximum_value: maximumValue } = values;
  return {
    ...(fixedValue && { fixedValue }),
    ...(minimumValue && { minimumValue }),
    ...(maximumValue && { maximumValue }),
  };
}

function addErrors(values: StockValues, errors: FieldErrors, requestContext: RequestContext): void {
  const { count = null, codes = null } = values;
  if (count !== null && codes) errors.add('count', 'cannot be combined with codes');
  else if (count === null && !codes && !errors.has('count') && !errors.has('codes'))
    errors.add('count', 'is required without codes');
  addCodeErrors(values, errors, requestContext);
  const { store } = requestContext.caller;
  for (const [name, message] of valueErrors(sentValues(values), store)) errors.add(name, message);
}

function countCodesOf({ codes }: Pick<StockValues, 'codes'>): number {
  return codes?.codes.length ?? 0;
}

const oneStock = {
  description: 'The stock, and how many of its codes were sold.',
  members: { stock: stockSchema },
  example: { stock: examples.stock },
};

export const createStock = write({
  id: 'createStock',
  method: 'POST',
  path: '/stocks',
  scopes: ['write_gift_cards'],
  tag: 'Stock',
  summary: 'Create a stock',
  description:
    'Adds codes of printed cards to the stock: `count` generated ones, or the store’s own in `codes`, at most 10,000. A code in stock is neither a gift card nor money that the store owes, and counts as used: only its activation takes it. `POST /gift_card` with the `code` activates it: with the fixed value of the stock, or a value within its limits. The codes are added after the response, in a few seconds; at the end, `stock.completed` is published. `GET /stocks/{stock_id}/codes` returns them for printing until `codes_until`. With `dry_run=true`, nothing is added. The body can have 4 MiB. Print the codes so that they are covered: who reads a code before the sale can spend the card after it.',
  bodyBytesMax: limits.batchBodyBytesMax,
  body: {
    name: 'CreateStock',
    wrapper: 'stock',
    fields: stockFields,
    example: {
      name: 'Cards at the counter',
      count: 500,
      minimum_value: '10.00',
      maximum_value: '150.00',
      valid_months: 36,
    },
  },
  response: {
    ...oneStock,
    status: 202,
    example: {
      stock: {
        ...examples.stock,
        state: 'running',
        printed: 0,
        sold: 0,
        left: 0,
        voided: 0,
        completed_at: null,
        codes_until: null,
      },
    },
    headers: ['Location'],
  },
  errors: [],
  sample: { body: { count: 500, fixed_value: '25.00' }, idempotencyKey: 'print-run-7' },
  check: addErrors,
  async inspect({ ctx, store, body: { codes }, requestContext: { storage } }, errors) {
    if (!codes) return;
    const taken = await service.checkStock({ ctx, storage }, { store, codes: codes.codes });
    for (const { index, message } of taken) errors.add(`codes[${index}]`, message);
  },
  countCodes: countCodesOf,
  *run({ ctx, caller, store, body, requestContext, after }) {
    const stock = yield* service.startStock(ctx, {
      store,
      name: body.name ?? null,
      actor: caller.actor,
      apiClientId: caller.apiClientId,
      terms: { ...stockValuesOf(sentValues(body), store), validMonths: body.valid_months ?? null },
      codes: body.codes?.codes.map(({ code }) => code) ?? body.count ?? 0,
    });
    after((hasSucceeded) => {
      if (hasSucceeded && !requestContext.isDryRun) requestContext.tools.of(startBatchesTool)();
    });
    const counts = { sold: 0, voided: 0 };
    return {
      body: { stock: stockRecordOf({ stock, counts }, ctx.clock.earliest()) },
      headers: { location: `${requestContext.basePath}/stocks/${stock.id}` },
    };
  },
});

export const listStocks = list({
  id: 'listStocks',
  path: '/stocks',
  scopes: ['read_gift_cards'],
  tag: 'Stock',
  summary: 'List stocks',
  description:
    'Returns the store’s stocks, newest first, each with the number of codes that were printed, sold, voided, and are left. `Link` has the neighboring pages.',
  member: 'stocks',
  record: stockSchema,
  example: examples.stock,
  responseDescription: 'A page of stocks.',
  cursor: { isPublic: false, of: ({ id }) => id },
  errors: [],
  *page({ ctx, store }, page) {
    const now = ctx.clock.earliest();
    return recordsOf(yield* service.listStoreStocks(store.id, page), (stock) => stockRecordOf(stock, now));
  },
});

export const retrieveStock = read({
  id: 'retrieveStock',
  path: '/stocks/:stock_id',
  scopes: ['read_gift_cards'],
  tag: 'Stock',
  summary: 'Retrieve a stock',
  description:
    'Returns the stock with the number of its codes. `failures` has the reasons why codes were not added, at most 100.',
  response: {
    ...oneStock,
    members: { stock: stockSchema, failures: Type.Array(stockFailureSchema) },
    example: { stock: examples.stock, failures: [] },
  },
  errors: ['not-found'],
  *run({ ctx, store, ids: { stock_id: stockId } }) {
    const key = { storeId: store.id, stockId };
    const found = yield* service.showStock(key);
    const failures = found.stock.failed > 0 ? yield* service.listFailedCodes(key) : [];
    return { body: { stock: stockRecordOf(found, ctx.clock.earliest()), failures: [...failures] } };
  },
});

/** The parameters of `POST /stocks/{stock_id}/void`. */
export const voidFields = {
  codes: codesField(
    readChosenCode,
    'The codes to void, at most 10,000: all of them or none. By default, and with null, all that are left.',
  ),
};

export const voidStock = write({
  id: 'voidStock',
  method: 'POST',
  path: '/stocks/:stock_id/void',
  scopes: ['write_gift_cards'],
  tag: 'Stock',
  summary: 'Void codes of a stock',
  description:
    'Voids all codes that are left, or those in `codes`, such as the ones of lost cards. A voided code can never be activated or used again. A code that was voided before stays voided; one that was activated, or is not in the stock, is rejected, and nothing is voided. `stock.voided` is published.',
  bodyBytesMax: limits.batchBodyBytesMax,
  body: { name: 'VoidStock', wrapper: 'stock', fields: voidFields, example: { codes: ['CARD-0000-0001'] } },
  response: { ...oneStock, status: 200 },
  errors: ['not-found'],
  check: addCodeErrors,
  countCodes: countCodesOf,
  *run({ ctx, caller, store, ids: { stock_id: stockId }, body: { codes } }) {
    const key = { storeId: store.id, stockId };
    const chosen = codes ? codes.codes : null;
    const found = yield* service.voidCodesOf(ctx, { key, codes: chosen, actor: caller.actor });
    return { body: { stock: stockRecordOf(found, ctx.clock.earliest()) } };
  },
});

const codesQuery = placesQuery('Only codes from this place in the stock on. By default all, from 0.');

const listStockCodesDefinition = {
  id: 'listStockCodes',
  path: '/stocks/:stock_id/codes',
  scopes: ['write_gift_cards'],
  tag: 'Stock',
  summary: 'Download the codes of a stock',
  description:
    'Returns the codes that are left, without those that were activated or voided, until `codes_until`, 24 hours after the stock is complete; afterwards they are erased, and the response is 404. Each download publishes `stock.codes_read`. As JSON, a page; as CSV, with `format=csv` or `Accept: text/csv`, all from `from` on.',
  errors: ['not-found'],
} as const;

const readCodesIds = idReader(listStockCodesDefinition.path);
const readCodesQuery = queryReader(codesQuery, 'invalid-query');

export const listStockCodes: Operation<'listStockCodes'> = {
  ...routeOf(listStockCodesDefinition, 'GET'),
  query: Object.keys(codesQuery),
  async handle(requestContext) {
    const { ctx, storage, caller, request, turns } = requestContext;
    const { store, actor } = caller;
    const { ids } = readCodesIds(requestContext);
    if (!ids) throw new Fault('not-found');
    const query = readCodesQuery(requestContext, { store, now: ctx.clock.now() });
    const { limit, from, isCsv } = placesOf(query, requestContext);
    const key = { storeId: store.id, stockId: ids.stock_id };
    const { stock } =
      request.method === 'HEAD'
        ? await storage.read(() => codesOf.findReadable(ctx, key))
        : await storage.write(() => codesOf.recordStockCodesRead(ctx, key, { actor }));
    if (isCsv) {
      const place = { ctx, storage: readsOf(requestContext) };
      const parts = () => csvOfTable(codesOf.stockExport(place, stock, { from }));
      return csvOfPlaces(requestContext, { name: `stock-${stock.id}.csv`, parts });
    }
    const page = { from, limit };
    const { codes, next } = await turns(() => storage.read(() => codesOf.listLeftCodes(ctx, stock, page)));
    const body = { codes: codes.map(({ index, code }) => ({ index, code: code.reveal() })) };
    return pageOfPlaces(requestContext, { body, next, limit });
  },
  documentation: {
    ...commonDocumentation(listStockCodesDefinition),
    query: codesQuery,
    response: {
      status: 200,
      description: 'Codes that are left.',
      headers: ['Link'],
      content: { members: { codes: Type.Array(stockCodeSchema) }, example: { codes: [examples.stockCode] } },
      alternative: { type: 'text/csv', example: codesOf.stockExportOf(examples.stockCode) },
    },
  },
};
