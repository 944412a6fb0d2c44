/** Serves the pages: finds who is signed in, checks that forms come from these pages, and what the person may do. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault, type FaultCode } from '../../core/domain/fault.ts';
import type { Markup } from '../../platform/markup.ts';
import { Secret } from '../../platform/secret.ts';
import { isPermitted } from '../../core/staff/domain/staff.ts';
import type { RawBody } from '../../http/body.ts';
import { clientKey, networkKey } from '../../http/client-address.ts';
import { sendDocument } from '../../http/documents.ts';
import type { SendErrorPage } from '../../http/error-pages.ts';
import { problemHeaders, problems } from '../../http/problem.ts';
import { loggedFault } from '../../http/logged-fault.ts';
import { parseUrlEncoded, queryOf } from '../../http/query.ts';
import { extend, isExtensionDue, isRecentlyAuthenticated } from '../../core/staff/service/session.ts';
import { limitedStreams, type StreamsOptions } from '../../http/streams.ts';
import { loadAssets, type Assets } from './assets.ts';
import { findBrandFile } from './brand.ts';
import { readFileForm, type FileForm } from './file-form.ts';
import { cookieNameOf, hasTillCookie, sessionCookie } from './cookie.ts';
import { errorPage, forbiddenPage } from './error-page.ts';
import { assertHost, assertSameOrigin, isOwnHost, type ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './services.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type UnknownPage,
  type StaffRoute,
} from './route.ts';
import { pageLanguageOf } from './texts.ts';
import { visitorOf } from './visitor.ts';
import { framedErrorHeaders, pageHeaders, send } from './send.ts';

/** The parts of the service that the server needs; it adds the rest of `ConsoleServices`. */
export type ConsoleParts = Omit<ConsoleServices, 'frame' | 'live' | 'pagePaths'> &
  Pick<StreamsOptions, 'onCommit' | 'streamsMax'> & { readonly pages: Required<FeaturePages> };

/** The pages of a feature, or of all. */
export type FeaturePages = {
  readonly routes: readonly ConsoleRoute[];
  /** Files and services that are neither pages nor forms. */
  readonly endpoints?: readonly Endpoint[];
};

/** Adds files or a service of a feature. */
type Endpoint = (app: FastifyInstance, services: ConsoleServices, assets: Assets) => void;

/** A page shows changes at most so often. */
const livePauseMs = 500;

/**
 * Adds the pages.
 * @returns what sends a page for an error at a path without a page.
 */
export function addConsole(
  app: FastifyInstance,
  { onCommit, streamsMax, pages: { routes, endpoints }, ...services }: ConsoleParts,
): SendErrorPage {
  const { basePath } = services.origin;
  const assets = loadAssets();
  const folder = `${basePath}/assets/${assets.version}`;
  const frame = {
    basePath,
    assetUrl: (name: string) => `${folder}/${name}`,
    isSandbox: services.ctx.testClock !== null,
    restoredFrom: (storeId: number) => services.restoredCopies.get(storeId),
  };
  const live = limitedStreams({ onCommit, streamsMax, pauseMs: livePauseMs });
  app.addHook('preClose', (done) => {
    live.close();
    done();
  });
  const pagePaths = new Set(routes.filter(({ method }) => method === 'GET').map(({ path }) => path));
  const all: ConsoleServices = { ...services, frame, live, pagePaths };

  app.get(`${folder}/:name`, { config: { isFile: true } }, async (request, reply) => {
    const { name } = request.params as { readonly name: string };
    const asset = assets.find(name) ?? findBrandFile(name, services.brandOf);
    if (!asset) throw new Fault('not-found');
    reply.header('x-content-type-options', 'nosniff');
    return sendDocument(request, reply, asset, 'public, max-age=31536000, immutable');
  });
  for (const add of endpoints) add(app, all, assets);
  for (const route of routes) {
    app.route({
      method: route.method,
      url: `${basePath}${route.path}`,
      ...(route.formBytesMax !== undefined && { bodyLimit: route.formBytesMax }),
      onRequest: async (request) => {
        assertHost(request.headers, all.origin);
        if (route.method !== 'GET' && route.acceptsOtherSites !== true)
          assertSameOrigin(request.headers, all.origin);
        if (route.formBytesMax !== undefined && isLongForm(request, app))
          await assertMaySend(all, route, request);
      },
      handler: async (request, reply) => {
        const response = await handle(all, route, request, reply);
        return send(reply, response, all, route);
      },
      errorHandler: (error, request, reply) =>
        void sendRouteError(reply, request, { error, services: all, route }),
    });
  }
  return (request, reply, error) => sendErrorPage(reply, request, { ...error, services: all });
}

/** Whether a form is longer than those that anyone can send, or its length is unknown. */
function isLongForm(
  { headers }: FastifyRequest,
  { initialConfig: { bodyLimit = 0 } }: Pick<FastifyInstance, 'initialConfig'>,
): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || Number(length ?? 0) > bodyLimit;
}

/** Before a long form is read. @throws Fault `body-too-large`. */
async function assertMaySend(
  services: ConsoleServices,
  route: ConsoleRoute,
  raw: FastifyRequest,
): Promise<void> {
  const may =
    'mayUpload' in route
      ? await route.mayUpload(services, raw.params as ConsoleRequest['params'])
      : (await visitorOf(services, raw)).signedIn !== null;
  if (!may) throw new Fault('body-too-large');
}

async function handle(
  services: ConsoleServices,
  route: ConsoleRoute,
  raw: FastifyRequest,
  reply: FastifyReply,
): Promise<ConsoleResponse> {
  const { ctx, storage, origin } = services;
  const { cookies, isLocal, signedIn } = await visitorOf(services, raw);
  if (!signedIn) services.limitVisitor(raw.clientAddress, ctx.clock.monotonic());
  const { form, file, fileName, files } =
    route.acceptsFile === true ? fileFormOf(raw) : { ...noFile, form: formOf(raw) };
  const request: ConsoleRequest = {
    method: raw.method,
    language: pageLanguageOf(raw.headers['accept-language'], signedIn?.store),
    acceptLanguage: raw.headers['accept-language'] ?? '',
    requestId: raw.id,
    signal: raw.signal,
    // `assertHost` has accepted the host.
    pageOrigin: origin.url ?? new URL(`http://${raw.headers.host ?? 'localhost'}`),
    params: raw.params as Readonly<Record<string, string>>,
    query: fieldsOf(queryOf(raw.url)),
    form,
    file,
    fileName,
    files,
    signedIn,
    isLocal,
    client: clientKey(raw),
    network: networkKey(raw.clientAddress),
    isGone: () => !raw.socket.writable,
    userAgent: raw.headers['user-agent'] ?? '',
    cookies,
    lastEventId: textOfHeader(raw.headers['last-event-id']),
  };
  if (route.access === 'anyone') return await route.handle(services, request);
  const resumed = signedIn ? undefined : route.resumed?.(request);
  const next = encodeURIComponent(resumed ?? pageOf(services, route, pathOf(raw, origin.basePath)));
  if (!signedIn && isTillPath(route.path) && hasTillCookie(services, request))
    return seeOther(resumed === undefined ? '/till/pin' : `/till/pin?next=${next}`);
  if (!signedIn) return seeOther(`/sign-in?next=${next}`);
  if (route.isAutomatic !== true && isExtensionDue(ctx, signedIn.session)) {
    const session = await storage.write(() => extend(ctx, signedIn.session));
    const token = new Secret(cookies.get(cookieNameOf('session', origin)) ?? '');
    reply.header('set-cookie', [sessionCookie({ ctx, origin }, { session, token })]);
  }
  // A PIN is short, so it opens the till only, whatever the role of the person is.
  if (signedIn.session.tillId !== null && !isOpenWithPin(route))
    return { status: 403, body: services.onlyTillPage(services, { ...request, signedIn }) };
  if (route.access !== 'staff' && !isPermitted(signedIn.member, route.access))
    return {
      status: 403,
      body: forbiddenPage(services, request, { role: signedIn.member.role, place: signedIn.store.name }),
    };
  // The owner of the demonstration has no password.
  const { demonstration } = signedIn.store;
  if (route.isSensitive === true && !demonstration && !isRecentlyAuthenticated(ctx, signedIn.session))
    return seeOther(`/confirm?next=${next}`);
  const own = await services.emailPartsOf(signedIn.store.id);
  return await route.handle(own ? { ...services, ...own } : services, { ...request, signedIn });
}

function textOfHeader(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isTillPath(path: string): boolean {
  return path === '/till' || path.startsWith('/till/');
}

/** Whether a session that was opened with a PIN includes a route: the till, and signing out. */
export function isOpenWithPin({ path, access, isSensitive = false }: StaffRoute): boolean {
  if (path === '/sign-out') return true;
  return isTillPath(path) && !isSensitive && ['useTill', 'staff'].includes(access);
}

/** The path of a request without the base path; that of a page with its query, which never has a code. */
function pathOf({ url, method }: FastifyRequest, basePath: string): string {
  const [path = ''] = method === 'GET' ? [url] : url.split('?', 1);
  return path.slice(basePath.length) || '/';
}

/** The page at which a person continues after signing in: that of the form, for a path that only accepts forms. */
function pageOf(
  { pagePaths }: Pick<ConsoleServices, 'pagePaths'>,
  { method, path: pattern }: ConsoleRoute,
  path: string,
): string {
  if (method === 'GET') return path;
  const [patterns, parts] = [pattern.split('/'), path.split('/')];
  for (let length = patterns.length; length > 1; length -= 1) {
    if (pagePaths.has(patterns.slice(0, length).join('/'))) return parts.slice(0, length).join('/');
  }
  return '/';
}

/** @throws Fault `unsupported-media-type` or `invalid-body`. */
function formOf({ method, body }: FastifyRequest): ReadonlyMap<string, string> {
  const { contentType, bytes } = (body ?? {}) as Partial<RawBody>;
  if (method === 'GET' || !bytes || bytes.length === 0) return new Map();
  const [type = ''] = (contentType ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new Fault('unsupported-media-type');
  return fieldsOf(Buffer.from(bytes).toString());
}

const noFile = { file: null, fileName: '', files: new Map<string, Uint8Array>() } as const;

/** @throws Fault `unsupported-media-type` or `invalid-body`. */
function fileFormOf(raw: FastifyRequest): FileForm {
  const { contentType = '', bytes } = (raw.body ?? {}) as Partial<RawBody>;
  if (bytes && contentType === 'application/octet-stream') return { ...noFile, form: new Map(), file: bytes };
  if (!bytes || !/^multipart\/form-data *;/i.test(contentType)) return { ...noFile, form: formOf(raw) };
  return readFileForm(contentType, bytes);
}

/** @throws Fault `invalid-body`. */
function fieldsOf(text: string): ReadonlyMap<string, string> {
  try {
    return new Map(parseUrlEncoded(text));
  } catch (error) {
    throw new Fault('invalid-body', { cause: error });
  }
}

/** Sends a page instead of a problem document. Changes nothing but the form of the response. */
async function sendRouteError(
  reply: FastifyReply,
  request: FastifyRequest,
  {
    error,
    services,
    route,
  }: { readonly error: unknown; readonly services: ConsoleServices; readonly route: ConsoleRoute },
): Promise<FastifyReply> {
  const fault = loggedFault(request, error);
  const page =
    fault.code === 'body-too-large' && 'tooLarge' in route
      ? await tooLargePage(services, route, request, reply)
      : undefined;
  if (page) return await send(reply, page, services, route);
  if (route.visitorErrorPage) {
    const headers = route.isFramed === true ? framedErrorHeaders : pageHeaders;
    return sendFaultPage(
      reply,
      fault,
      route.visitorErrorPage(services, visitOf(request), fault.code),
      headers,
    );
  }
  const { status } = problems[fault.code];
  const unknown = status >= 500 ? unknownPageOf(services, route, request) : undefined;
  if (!unknown) return await sendErrorPage(reply, request, { fault, shown: fault.code, services });
  const { path, seconds } = unknown.refresh;
  reply.header('refresh', `${seconds};url=${services.origin.basePath}${path}`);
  return sendFaultPage(reply, fault, unknown.body);
}

function sendFaultPage(
  reply: FastifyReply,
  fault: Fault,
  body: Markup,
  headers: Readonly<Record<string, string>> = pageHeaders,
): FastifyReply {
  return reply
    .headers({ ...problemHeaders(fault), ...headers })
    .code(problems[fault.code].status)
    .type('text/html; charset=utf-8')
    .send(String(body));
}

/** The language of a visitor whose request was not read. Its query can be invalid. */
function visitOf({ url, headers }: FastifyRequest): Pick<ConsoleRequest, 'acceptLanguage' | 'query'> {
  const [, query = ''] = url.split('?', 2);
  return {
    acceptLanguage: headers['accept-language'] ?? '',
    query: new Map(new URLSearchParams(query)),
  };
}

/** The page of a form that was not read; undefined: there is none. */
async function tooLargePage(
  services: ConsoleServices,
  { tooLarge, ...route }: StaffRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ConsoleResponse | undefined> {
  if (!tooLarge) return undefined;
  try {
    const { signedIn } = await visitorOf(services, request);
    if (!signedIn) return undefined;
    return await handle(services, { ...route, handle: tooLarge }, request, reply);
  } catch {
    // Without the page, the error of the form is shown.
    return undefined;
  }
}

async function sendErrorPage(
  reply: FastifyReply,
  request: FastifyRequest,
  {
    fault,
    shown,
    services,
  }: { readonly fault: Fault; readonly shown: FaultCode; readonly services: ConsoleServices },
): Promise<FastifyReply> {
  const signedIn = hasNavigation.has(shown) ? await navigatorOf(services, request) : null;
  const language = pageLanguageOf(request.headers['accept-language'], signedIn?.store);
  const person = { language, requestId: request.id, signedIn };
  return sendFaultPage(reply, fault, errorPage(services, person, { code: shown, errors: fault.errors }));
}

/** The errors after which a person continues elsewhere. After the others, the session is not read. */
const hasNavigation: ReadonlySet<FaultCode> = new Set(['not-found', 'method-not-allowed', 'internal-error']);

/**
 * The member of staff that gets a page with the navigation; null: there is none, or the session cannot be read. A PIN opens
 * the till only.
 */
async function navigatorOf(
  services: ConsoleServices,
  request: FastifyRequest,
): Promise<ConsoleRequest['signedIn']> {
  if (!isOwnHost(request.headers, services.origin)) return null;
  try {
    const { signedIn } = await visitorOf(services, request);
    return signedIn?.session.tillId === null ? signedIn : null;
  } catch {
    return null;
  }
}

function unknownPageOf(
  services: ConsoleServices,
  { unknownPage }: ConsoleRoute,
  raw: FastifyRequest,
): UnknownPage | undefined {
  // The service can have rejected the request before its body was read.
  const { bytes } = (raw.body ?? {}) as Partial<RawBody>;
  if (!unknownPage || !bytes) return undefined;
  return unknownPage(services, {
    language: pageLanguageOf(raw.headers['accept-language']),
    requestId: raw.id,
    params: raw.params as Readonly<Record<string, string>>,
    form: formOf(raw),
  });
}
