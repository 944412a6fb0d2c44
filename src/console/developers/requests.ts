/** The requests to the API in the last 24 hours: their list, and the page of one. */

import {
  requestResultOf,
  requestResults,
  type ApiCaller,
  type ApiRequest,
  type RequestFilter,
} from '../../domain/stores/api-request.ts';
import { Fault } from '../../domain/fault.ts';
import { problemPath } from '../../http/problem.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import {
  listRequests,
  showRequest,
  type ListedRequest,
  type RequestKey,
  type RequestPage,
  type RequestPlace,
} from '../../service/requests/api-requests.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { findToken, listNewestTokens, type Token } from '../../storage/stores/token.ts';
import { developerAccess, developerPage, developersPath, developerTexts } from './parts.ts';
import { inputField, select } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { longReads } from '../kit/long-reads.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fill, fillPlain, plural, type PageLanguage } from '../kit/texts.ts';

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

/** The names of the tokens that made requests. */
function* listNames(
  storeId: number,
  requests: readonly Pick<ApiRequest, 'caller'>[],
  listed: readonly Token[] = [],
): Script<TokenNames> {
  const names = new Map(listed.map(({ id, name }) => [id, name]));
  const ids = new Set(requests.flatMap(({ caller }) => (typeof caller === 'number' ? [caller] : [])));
  const missing = [...ids].filter((id) => !names.has(id));
  const found = yield* parallel(...missing.map((id) => findToken(storeId, id)));
  for (const token of found) if (token) names.set(token.id, token.name);
  return names;
}

function callerText(caller: ApiCaller, names: TokenNames, language: PageLanguage): string {
  const { callers } = developerTexts[language].requests;
  return typeof caller === 'number' ? (names.get(caller) ?? String(caller)) : callers[caller];
}

function resultTag(request: ApiRequest, language: PageLanguage): Markup {
  const result = requestResultOf(request);
  const { results } = developerTexts[language].requests;
  return markup`<span class="tag ${tags[result]}">${results[result]} ${request.status}</span>`;
}

function durationText({ durationMs }: ApiRequest, language: PageLanguage): string {
  const options = durationMs < 10 ? { maximumFractionDigits: 1 } : { maximumFractionDigits: 0 };
  const duration = new Intl.NumberFormat(language, options).format(durationMs);
  return fillPlain(developerTexts[language].requests.took, { duration });
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const { id: storeId } = signedIn.store;
  const { requests: text, older, newest, back } = developerTexts[language];
  const [filter, before] = [filterOf(services, request), placeOf(request)];
  const page = await longReads(services).read(() =>
    listRequests(ctx, storeId, { filter, before, limit: pageSize }),
  );
  const { tokens, names } = await storage.read(function* () {
    const listed = yield* listNewestTokens(storeId, {
      before: Number.MAX_SAFE_INTEGER,
      limit: tokensMax,
      areRevokedIncluded: true,
    });
    const filtered = filter.caller === null ? [] : [{ caller: filter.caller }];
    return { tokens: listed, names: yield* listNames(storeId, [...page.requests, ...filtered], listed) };
  });
  const { basePath } = frame;
  const olderLink =
    page.next === null
      ? undefined
      : markup`<a class="button" rel="next" href="${basePath}${pathOf(filter, page.next)}">${older}</a>`;
  const newestLink =
    before === null
      ? undefined
      : markup`<a class="button quiet" href="${basePath}${pathOf(filter)}">${newest}</a>`;
  const list =
    page.requests.length === 0
      ? markup`<section class="panel empty" role="status"><p>${emptyText(page, filter, language)}</p></section>`
      : requestTable(services, request, page.requests, names);
  const body = markup`<div class="stack"><p class="soft">${text.intro}</p>
${filterForm(services, request, { filter, tokens, names })}
${gapNotices(request, page)}${list}
<div class="row apart"><a class="button quiet" href="${basePath}${developersPath}">${back}</a><span class="row">${newestLink}${olderLink}</span></div></div>`;
  return developerPage(services, request, { title: text.title, body });
}

function emptyText({ next }: RequestPage, filter: RequestFilter, language: PageLanguage): string {
  const { none, noneSuch, noneHere } = developerTexts[language].requests;
  if (next !== null) return noneHere;
  return Object.values(filter).every((value) => value === null) ? none : noneSuch;
}

/** Why requests can be missing. */
function gapNotices(
  { language, signedIn: { store } }: StaffRequest,
  { dropped, completeFrom }: RequestPage,
): MarkupPart {
  const { requests: text } = developerTexts[language];
  return [
    dropped > 0 ? markup`<p class="notice">${plural(language, text.dropped, dropped)}</p>\n` : undefined,
    completeFrom === null
      ? undefined
      : markup`<p class="notice">${fill(text.completeFrom, { time: timeElement(completeFrom, store, language, withSeconds) })}</p>\n`,
  ];
}

function filterForm(
  { frame, operations }: ConsoleServices,
  { language }: StaffRequest,
  {
    filter,
    tokens,
    names,
  }: { readonly filter: RequestFilter; readonly tokens: readonly Token[]; readonly names: TokenNames },
): Markup {
  const { requests: text } = developerTexts[language];
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
  ].map((each) => ({ value: String(each), text: callerText(each, names, language) }));
  const named = operations.map((each) => ({ value: operationName(each), text: operationName(each) }));
  return markup`<form class="panel filters requests" role="search" aria-label="${text.title}" action="${frame.basePath}${requestsPath}">${select({ name: 'result', label: text.result, options: results, value: result ?? '' })}${select({ name: 'token', label: text.token, options: [{ value: '', text: text.everyToken }, ...callers], value: caller === null ? '' : String(caller) })}${select({ name: 'operation', label: text.operation, options: [{ value: '', text: text.everyOperation }, ...named], value: operation ? operationName(operation) : '' })}${inputField({ name: 'id', label: text.requestId, type: 'search', value: requestId ?? '', isOptional: true })}<button class="button">${text.show}</button></form>`;
}

function requestTable(
  { frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  requests: readonly ListedRequest[],
  names: TokenNames,
): Markup {
  const { requests: text } = developerTexts[language];
  const rows = requests.map((request) => {
    const { at, problem, caller } = request;
    const error = problem === null ? undefined : markup`<br><span class="small soft mono">${problem}</span>`;
    return markup`<tr role="row"><td role="cell"><a class="mono" href="${frame.basePath}${pathOfRequest(request)}">${operationName(request)}</a>${error}</td><td role="cell" class="aside">${resultTag(request, language)}</td><td role="cell" class="small whole-line">${callerText(caller, names, language)}</td><td role="cell" class="soft small nowrap">${durationText(request, language)}</td><td role="cell" class="soft small nowrap whole-line">${timeElement(at, store, language, withSeconds)}</td></tr>
`;
  });
  return markup`<section class="panel flush" aria-label="${text.title}"><table class="table lines" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.request}</th><th scope="col" role="columnheader">${text.result}</th><th scope="col" role="columnheader">${text.token}</th><th scope="col" role="columnheader">${text.duration}</th><th scope="col" role="columnheader">${text.time}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

function keyOfPath({ params }: StaffRequest): RequestKey | undefined {
  const [block, index, ...rest] = (params['request'] ?? '').split('-').map(integerOf);
  return block === undefined || index === undefined || rest.length > 0 ? undefined : { block, index };
}

type Shown = { readonly found: ApiRequest; readonly caller: string };

/** Undefined: it is older than 24 hours, or it never existed. */
async function findShown(
  { ctx, storage }: ConsoleServices,
  request: StaffRequest,
): Promise<Shown | undefined> {
  const { language, signedIn } = request;
  const key = keyOfPath(request);
  if (!key) return undefined;
  try {
    return await storage.read(function* () {
      const found = yield* showRequest(ctx, signedIn.store.id, key);
      const names = yield* listNames(signedIn.store.id, [found]);
      return { found, caller: callerText(found.caller, names, language) };
    });
  } catch (error) {
    if (error instanceof Fault && error.code === 'not-found') return undefined;
    throw error;
  }
}

async function requestPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { basePath } = services.frame;
  const { language, signedIn } = request;
  const { requests: text, back, copy, copied } = developerTexts[language];
  const backLink = markup`<p><a class="button quiet" href="${basePath}${requestsPath}">${back}</a></p>`;
  const shown = await findShown(services, request);
  if (!shown) {
    const body = markup`<section class="panel stack change" aria-label="${text.over.title}"><p role="status">${text.over.text}</p>
${backLink}</section>`;
    return developerPage(services, request, { title: text.over.title, body, status: 404 });
  }
  const { found, caller } = shown;
  const { at, problem, requestId, hasKey } = found;
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
      : markup`<dt>${text.error}</dt><dd><a class="mono" href="${basePath}${problemPath(problem)}">${problem}</a></dd>`;
  const operation = services.operations.find((each) => operationName(each) === operationName(found));
  const same = operation
    ? markup`<a class="button" href="${basePath}${pathOf({ operation })}">${text.sameOperation}</a>`
    : undefined;
  const body = markup`<div class="stack"><section class="panel stack" aria-label="${text.request}"><p>${resultTag(found, language)}</p>
<dl class="facts"><dt>${text.time}</dt><dd>${timeElement(at, signedIn.store, language, withSeconds)}</dd>${error}<dt>${text.duration}</dt><dd>${durationText(found, language)}</dd><dt>${text.token}</dt><dd>${caller}</dd><dt>${text.key}</dt><dd>${hasKey ? text.keySent : text.keyNotSent}</dd><dt>${text.requestId}</dt>${id}</dl>
<p class="hint">${text.idHint}</p>
<p class="row">${copyButton}${same}<a class="button" href="${basePath}${pathOf({ caller: found.caller })}">${text.sameToken}</a></p></section>
${backLink}</div>`;
  return developerPage(services, request, { title: operationName(found), body });
}

export const developerRequestRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: requestsPath, access: developerAccess, handle: listPage },
  { method: 'GET', path: `${requestsPath}/:request`, access: developerAccess, handle: requestPage },
];
