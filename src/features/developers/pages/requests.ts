/** The requests to the API in the last 24 hours: their list, and the page of one. */

import { requestResultOf, requestResults, type RequestFilter } from '../domain/api-request.ts';
import type { ApiCaller, ApiRequest } from '../../../core/requests/domain/api-request.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { problemPath } from '../../../http/problem.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import {
  listRequests,
  showRequest,
  type ListedRequest,
  type RequestKey,
  type RequestPage,
  type RequestPlace,
} from '../service/api-requests.ts';
import { listNewestTokens, nameTokens } from '../../../core/stores/service/token.ts';
import type { Token } from '../../../core/stores/storage/token.ts';
import { inputField, select } from '../../../pages/kit/form.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';
import { panel, table, tag, type Row } from '../../../pages/kit/parts.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { developerAccess, developersPath } from '../../webhooks/pages/developer-parts.ts';

const pageSize = 50;
/** Tokens that the filter offers, the newest. */
const tokensMax = 50;
const requestIdLengthMax = 128;

export const requestsPath = `${developersPath}/requests`;

const withSeconds = { dateStyle: 'medium', timeStyle: 'medium' } as const;
const tags = { success: 'good', rejected: 'wait', failed: 'bad' } as const;
const otherCallers = ['customer', 'development'] as const;

type TokenNames = ReadonlyMap<number, string>;

function integerOf(text: string | undefined): number | undefined {
  const value = /^\d{1,16}$/.test(text ?? '') ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A place of the query; null: the first page. */
function placeOf({ query }: StaffRequest): RequestPlace | null {
  const [at, block, index, ...rest] = (query.get('before') ?? '').split('.').map(integerOf);
  return at === undefined || block === undefined || index === undefined || rest.length > 0
    ? null
    : { at, block, index };
}

function operationName({ method, route }: Pick<ApiRequest, 'method' | 'route'>): string {
  return `${method} ${route}`;
}

function filterOf({ operations }: ConsoleServices, { query }: StaffRequest): RequestFilter {
  const caller = query.get('token') ?? '';
  const name = query.get('operation');
  return {
    result: requestResults.find((each) => each === query.get('result')) ?? null,
    caller: otherCallers.find((each) => each === caller) ?? integerOf(caller) ?? null,
    operation: operations.find((each) => operationName(each) === name) ?? null,
    requestId: (query.get('id') ?? '').trim().slice(0, requestIdLengthMax) || null,
  };
}

/** The list with a filter, from a place on. */
function pathOf(filter: Partial<RequestFilter>, before: RequestPlace | null = null): string {
  const { result = null, caller = null, operation = null, requestId = null } = filter;
  const parameters = new URLSearchParams({
    ...(result !== null && { result }),
    ...(caller !== null && { token: String(caller) }),
    ...(operation !== null && { operation: operationName(operation) }),
    ...(requestId !== null && { id: requestId }),
    ...(before !== null && { before: `${before.at}.${before.block}.${before.index}` }),
  });
  return `${requestsPath}${parameters.size > 0 ? '?' : ''}${parameters.toString()}`;
}

function pathOfRequest({ block, index }: RequestKey): string {
  return `${requestsPath}/${block}-${index}`;
}

function tokenIds(requests: readonly Pick<ApiRequest, 'caller'>[]): readonly number[] {
  return requests.flatMap(({ caller }) => (typeof caller === 'number' ? [caller] : []));
}

function callerText({ text }: Page, caller: ApiCaller, names: TokenNames): string {
  const { callers } = text.developers.requests;
  return typeof caller === 'number' ? (names.get(caller) ?? String(caller)) : callers[caller];
}

function resultTag({ text }: Page, request: ApiRequest): Markup {
  const result = requestResultOf(request);
  return tag(tags[result], markup`${text.developers.requests.results[result]} ${request.status}`);
}

function durationText({ text, language }: Page, { durationMs }: ApiRequest): string {
  const options = durationMs < 10 ? { maximumFractionDigits: 1 } : { maximumFractionDigits: 0 };
  const duration = new Intl.NumberFormat(language, options).format(durationMs);
  return fillPlain(text.developers.requests.took, { duration });
}

/** The choices of the filter of the list, and the names of the tokens in the list. */
type Choices = {
  readonly filter: RequestFilter;
  readonly tokens: readonly Token[];
  readonly names: TokenNames;
};

async function listPage(page: Page): Promise<ConsoleResponse> {
  const { ctx, services, request } = page;
  const { id: storeId } = page.store;
  const { requests: text, older, newest, back } = page.text.developers;
  const [filter, before] = [filterOf(services, request), placeOf(request)];
  const found = await longReads(services).read(() =>
    listRequests(ctx, storeId, { filter, before, limit: pageSize }),
  );
  const tokens = await page.read(() =>
    listNewestTokens(storeId, {
      before: Number.MAX_SAFE_INTEGER,
      limit: tokensMax,
      areRevokedIncluded: true,
    }),
  );
  const filtered = filter.caller === null ? [] : [{ caller: filter.caller }];
  const ids = tokenIds([...found.requests, ...filtered]);
  const names = await page.read(() => nameTokens(storeId, ids, tokens));
  const olderLink =
    found.next === null
      ? undefined
      : markup`<a class="button" rel="next" href="${page.url(pathOf(filter, found.next))}">${older}</a>`;
  const newestLink = before === null ? undefined : page.link(pathOf(filter), newest, 'quiet');
  const list =
    found.requests.length === 0
      ? markup`<section class="panel empty" role="status"><p>${emptyText(page, found, filter)}</p></section>`
      : requestTable(page, found.requests, names);
  const body = markup`<div class="stack"><p class="soft">${text.intro}</p>
${filterForm(page, { filter, tokens, names })}
${gapNotices(page, found)}${list}
<div class="row apart">${page.link(developersPath, back, 'quiet')}<span class="row">${newestLink}${olderLink}</span></div></div>`;
  return page.show(developersPath, { title: text.title, body });
}

function emptyText({ text }: Page, { next }: RequestPage, filter: RequestFilter): string {
  const { none, noneSuch, noneHere } = text.developers.requests;
  if (next !== null) return noneHere;
  return Object.values(filter).every((value) => value === null) ? none : noneSuch;
}

/** The reason why requests can be missing. */
function gapNotices(page: Page, { dropped, completeFrom }: RequestPage): MarkupPart {
  const { requests: text } = page.text.developers;
  return [
    dropped > 0 ? markup`<p class="notice">${plural(page.language, text.dropped, dropped)}</p>\n` : undefined,
    completeFrom === null
      ? undefined
      : markup`<p class="notice">${fill(text.completeFrom, { time: page.time(completeFrom, withSeconds) })}</p>\n`,
  ];
}

function filterForm(page: Page, { filter, tokens, names }: Choices): Markup {
  const { requests: text } = page.text.developers;
  const { result, caller, operation, requestId } = filter;
  const results = [
    { value: '', text: text.everyResult },
    ...requestResults.map((each) => ({ value: each, text: text.resultChoices[each] })),
  ];
  const callers = [
    ...new Set<ApiCaller>([
      ...tokens.map(({ id }) => id),
      ...(caller === null ? [] : [caller]),
      ...otherCallers,
    ]),
  ].map((each) => ({ value: String(each), text: callerText(page, each, names) }));
  const named = page.services.operations.map((each) => ({
    value: operationName(each),
    text: operationName(each),
  }));
  return markup`<form class="panel filters requests" role="search" aria-label="${text.title}" action="${page.url(requestsPath)}">${select({ name: 'result', label: text.result, options: results, value: result ?? '' })}${select({ name: 'token', label: text.token, options: [{ value: '', text: text.everyToken }, ...callers], value: caller === null ? '' : String(caller) })}${select({ name: 'operation', label: text.operation, options: [{ value: '', text: text.everyOperation }, ...named], value: operation ? operationName(operation) : '' })}${inputField({ name: 'id', label: text.requestId, type: 'search', value: requestId ?? '', isOptional: true })}<button class="button">${text.show}</button></form>`;
}

function requestTable(page: Page, requests: readonly ListedRequest[], names: TokenNames): Markup {
  const { requests: text } = page.text.developers;
  const rows = requests.map((request): Row => {
    const { at, problem, caller } = request;
    const error = problem === null ? undefined : markup`<br><span class="small soft mono">${problem}</span>`;
    return [
      markup`<a class="mono" href="${page.url(pathOfRequest(request))}">${operationName(request)}</a>${error}`,
      { class: 'aside', html: resultTag(page, request) },
      { class: 'small whole-line', html: callerText(page, caller, names) },
      { class: 'soft small nowrap', html: durationText(page, request) },
      { class: 'soft small nowrap whole-line', html: page.time(at, withSeconds) },
    ];
  });
  const columns = [text.request, text.result, text.token, text.duration, text.time];
  return markup`<section class="panel flush" aria-label="${text.title}">${table({ caption: text.caption, columns, rows })}</section>`;
}

function keyOfPath({ params }: StaffRequest): RequestKey | undefined {
  const [block, index, ...rest] = (params['request'] ?? '').split('-').map(integerOf);
  return block === undefined || index === undefined || rest.length > 0 ? undefined : { block, index };
}

/** Undefined: it is older than 24 hours, or it never existed. */
async function findShown({ ctx, services, request, store }: Page): Promise<ApiRequest | undefined> {
  const key = keyOfPath(request);
  if (!key) return undefined;
  try {
    return await services.storage.read(() => showRequest(ctx, store.id, key));
  } catch (error) {
    if (error instanceof Fault && error.code === 'not-found') return undefined;
    throw error;
  }
}

async function requestPage(page: Page): Promise<ConsoleResponse> {
  const { requests: text, back } = page.text.developers;
  const backLink = markup`<p>${page.link(requestsPath, back, 'quiet')}</p>`;
  const found = await findShown(page);
  if (!found) {
    const { title } = text.over;
    const gone = markup`<p role="status">${text.over.text}</p>
${backLink}`;
    return page.show(developersPath, { title, body: panel(title, gone), status: 404 });
  }
  const names = await page.read(() => nameTokens(page.store.id, tokenIds([found])));
  const body = markup`<div class="stack">${foundPanel(page, found, names)}
${backLink}</div>`;
  return page.show(developersPath, { title: operationName(found), body });
}

function foundPanel(page: Page, found: ApiRequest, names: TokenNames): Markup {
  const { requests: text, copy, copied } = page.text.developers;
  const { at, problem, requestId, hasKey, caller } = found;
  const id =
    requestId === null
      ? markup`<dd class="soft">${text.notStored}</dd>`
      : markup`<dd><span class="mono" id="request-id">${requestId}</span></dd>`;
  const copyButton =
    requestId === null
      ? undefined
      : markup`<button class="button" type="button" data-copy="request-id" data-copied="${copied}" hidden>${copy}</button>`;
  const error =
    problem === null
      ? undefined
      : markup`<dt>${text.error}</dt><dd><a class="mono" href="${page.url(problemPath(problem))}">${problem}</a></dd>`;
  const operation = page.services.operations.find((each) => operationName(each) === operationName(found));
  const same = operation ? page.link(pathOf({ operation }), text.sameOperation) : undefined;
  return markup`<section class="panel stack" aria-label="${text.request}"><p>${resultTag(page, found)}</p>
<dl class="facts"><dt>${text.time}</dt><dd>${page.time(at, withSeconds)}</dd>${error}<dt>${text.duration}</dt><dd>${durationText(page, found)}</dd><dt>${text.token}</dt><dd>${callerText(page, caller, names)}</dd><dt>${text.key}</dt><dd>${hasKey ? text.keySent : text.keyNotSent}</dd><dt>${text.requestId}</dt>${id}</dl>
<p class="hint">${text.idHint}</p>
<p class="row">${copyButton}${same}${page.link(pathOf({ caller }), text.sameToken)}</p></section>`;
}

export const developerRequestRoutes: readonly StaffRoute[] = [
  get(requestsPath, developerAccess, listPage),
  get(`${requestsPath}/:request`, developerAccess, requestPage),
];
