/** Serves the pages: finds who is signed in, checks that forms come from these pages, and what the person may do. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../domain/fault.ts';
import { isPermitted } from '../domain/staff.ts';
import type { RawBody } from '../http/body.ts';
import { clientKey } from '../http/client-address.ts';
import { parseUrlEncoded, queryOf } from '../http/query.ts';
import { markup } from '../markup.ts';
import {
  extend,
  findSignedIn,
  isExtensionDue,
  isRecentlyAuthenticated,
  sessionTokens,
  type SignedIn,
} from '../service/staff-session.ts';
import { accountRoutes } from './account.ts';
import { auditRoutes } from './audit.ts';
import { loadAssets } from './assets.ts';
import { cookieNameOf } from './cookie.ts';
import { joinRoutes } from './join.ts';
import { gatePage } from './page.ts';
import { assertHost, assertSameOrigin, cookiesOf, type ConsoleRequest } from './request.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute, type ConsoleServices } from './route.ts';
import { signInRoutes } from './sign-in.ts';
import { staffRoutes } from './staff-pages.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...joinRoutes,
  ...staffRoutes,
  ...accountRoutes,
  ...auditRoutes,
];

const policy =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const pageHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'camera=(self), geolocation=(), microphone=()',
};

export function addConsole(app: FastifyInstance, services: Omit<ConsoleServices, 'frame'>): void {
  const { basePath } = services.origin;
  const assets = loadAssets();
  const folder = `${basePath}/assets/${assets.version}`;
  const frame = { basePath, styleUrl: `${folder}/largesse.css`, iconUrl: `${folder}/mark.svg` };
  const all: ConsoleServices = { ...services, frame };

  app.get(`${folder}/:name`, (request, reply) => {
    const { name } = request.params as { readonly name: string };
    const asset = assets.find(name);
    if (!asset) throw new Fault('not-found');
    return reply
      .headers({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      })
      .type(asset.type)
      .send(asset.bytes);
  });
  for (const route of consoleRoutes) {
    app.route({
      method: route.method,
      url: `${basePath}${route.path}`,
      onRequest(request, _reply, done) {
        assertHost(request.headers, all.origin);
        if (route.method !== 'GET') assertSameOrigin(request.headers, all.origin);
        done();
      },
      handler: async (request, reply) => send(reply, await handle(all, route, request), all),
    });
  }
}

async function handle(
  services: ConsoleServices,
  route: ConsoleRoute,
  raw: FastifyRequest,
): Promise<ConsoleResponse> {
  const { ctx, storage, origin } = services;
  const cookies = cookiesOf(raw.headers);
  const token = sessionTokens.parse(cookies.get(cookieNameOf('session', origin)) ?? '');
  const signedIn = token ? ((await storage.read(() => findSignedIn(ctx, token))) ?? null) : null;
  const request: ConsoleRequest = {
    method: raw.method,
    params: raw.params as Readonly<Record<string, string>>,
    query: fieldsOf(queryOf(raw.url)),
    form: formOf(raw),
    signedIn,
    client: clientKey(raw),
    userAgent: raw.headers['user-agent'] ?? '',
    cookies,
  };
  if (route.access === 'anyone') return await route.handle(services, request);
  if (!signedIn) return seeOther(`/sign-in?next=${encodeURIComponent(pathOf(raw, origin.basePath))}`);
  if (isExtensionDue(ctx, signedIn.session)) await storage.write(() => extend(ctx, signedIn.session));
  if (route.access !== 'staff' && !isPermitted(signedIn.member.role, route.access))
    return forbidden(services, signedIn);
  if (route.isSensitive === true && !isRecentlyAuthenticated(ctx, signedIn.session))
    return seeOther(`/confirm?next=${encodeURIComponent(pathOf(raw, origin.basePath))}`);
  return await route.handle(services, { ...request, signedIn });
}

function forbidden({ frame }: ConsoleServices, { member, store }: SignedIn): ConsoleResponse {
  const body = markup`<section class="panel stack"><p>Your role, ${member.role}, does not include this page. An owner can change it.</p>
<p><a class="button" href="${frame.basePath}/">Back</a></p></section>`;
  return { status: 403, body: gatePage(frame, { title: 'Not for your role', place: store.name, body }) };
}

/** The path of a request without the base path and the query. */
function pathOf({ url }: FastifyRequest, basePath: string): string {
  const [path = ''] = url.split('?', 1);
  return path.slice(basePath.length) || '/';
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

/** @throws Fault `invalid-body`. */
function fieldsOf(text: string): ReadonlyMap<string, string> {
  try {
    return new Map(parseUrlEncoded(text));
  } catch (error) {
    throw new Fault('invalid-body', { cause: error });
  }
}

function send(
  reply: FastifyReply,
  response: ConsoleResponse,
  { origin }: Pick<ConsoleServices, 'origin'>,
): FastifyReply {
  reply.headers(pageHeaders).code(response.status);
  if (response.cookies) reply.header('set-cookie', [...response.cookies]);
  if (response.status === 303) return reply.header('location', `${origin.basePath}${response.path}`).send();
  return reply.type('text/html; charset=utf-8').send(String(response.body));
}
