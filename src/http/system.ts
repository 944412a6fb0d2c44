/** The service's own pages: health, readiness, metrics and documentation. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../platform/loopback.ts';
import { Fault } from '../core/domain/fault.ts';
import { sameBytes } from '../platform/keys.ts';
import { hostName } from './auth.ts';
import { clientAddresses, type ClientAddresses } from './client-address.ts';
import { sendDocument, type DocumentationOf } from './documents.ts';
import { looksForwarded } from './forwarded.ts';
import { addHome } from './home.ts';
import { pagePaths } from './page-paths.ts';
import { problems } from './problem.ts';
import { unreadinessTexts } from './readiness.ts';
import type { Services } from './services.ts';

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; font-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Shown by the readiness check: the service is ready without email, but the setting may be missing by mistake. */
const noEmail = 'none: SMTP_URL is not set, so no email is sent';
const ownServers = 'stores: SMTP_URL is not set, and only stores with a mail server of their own send email';

async function emailPartsOf({ transportKind, hasOwnServers }: Services['email']): Promise<string> {
  if (transportKind !== 'none') return transportKind;
  return (await hasOwnServers()) ? ownServers : noEmail;
}

export function addPages(app: FastifyInstance, services: Services, prefix: string): void {
  const { metrics, email } = services;
  const documentation = loadedOnce(services.loadDocumentation);
  const clients = clientAddresses(services.config.trustedProxies);
  const at = (name: keyof typeof pagePaths): string => `${prefix}${pagePaths[name]}`;

  app.get(at('health'), (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );

  app.get(at('readiness'), async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    const unreadiness = await services.unreadiness();
    if (unreadiness !== null)
      throw new Fault('unavailable', { detail: unreadinessTexts[unreadiness], retryAfterSeconds: 1 });
    return {
      status: 'ready',
      details: { mail: await emailPartsOf(email) },
    };
  });

  app.get(at('metrics'), async (request, reply) => {
    if (!mayReadMetrics(request, services)) throw new Fault('unauthenticated');
    return reply
      .header('cache-control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.render());
  });

  for (const name of [
    'openapi',
    'reference',
    'referenceMarkdown',
    'referencePage',
    'llms',
    'llmsFull',
  ] as const) {
    app.get(at(name), async (request, reply) => {
      const { page = '' } = request.params as { readonly page?: string };
      const { find } = await documentation(originOf(request, services.config, clients));
      const document = find(pagePaths[name].replace(':page', () => page));
      if (!document) throw new Fault('not-found');
      if (name !== 'openapi') reply.header('content-security-policy', contentSecurityPolicy);
      return sendDocument(request, reply, document);
    });
  }
  addHome(app, services, prefix);
  services.addKeptEmails?.(app, prefix);
  // The `type` of a problem is this URL. It redirects to the explanation of the code.
  app.get(at('problem'), (request, reply) => {
    const { code } = request.params as { readonly code: string };
    if (!Object.hasOwn(problems, code)) throw new Fault('not-found');
    return reply.redirect(`../errors#${code}`, 302);
  });
}

/** The maximum number of origins that get documents with their URL, because each one's are generated and kept. */
const originsMax = 8;

/** The documentation for an origin. It is loaded with the first request for a part of it. */
function loadedOnce(
  load: Services['loadDocumentation'],
): (origin: string) => Promise<ReturnType<DocumentationOf>> {
  let loaded: Promise<DocumentationOf> | undefined;
  const documentations = new Map<string, ReturnType<DocumentationOf>>();
  return async (origin) => {
    const documentationOf = await (loaded ??= load());
    // A service has one or two origins. If clients invent more, they get documents with a path instead of a URL.
    const served = documentations.has(origin) || documentations.size < originsMax ? origin : '';
    const documentation = documentations.get(served) ?? documentationOf(served);
    documentations.set(served, documentation);
    return documentation;
  };
}

/**
 * The scheme and host of the service: those of `PUBLIC_URL`, or without it the loopback name that the client uses. Any other
 * Host is empty, because documents could be cached with the name of a stranger.
 */
function originOf(
  { raw, headers, socket }: FastifyRequest,
  { publicUrl }: Services['config'],
  { isTrusted }: ClientAddresses,
): string {
  if (publicUrl) return publicUrl.origin;
  const { host = '' } = headers;
  if (!isLoopback(hostName(host))) return '';
  // The first of several proxies is the one that the client uses.
  const isHttps =
    isTrusted(socket.remoteAddress) && /^https(?:,|$)/i.test(String(raw.headers['x-forwarded-proto']));
  return `http${isHttps ? 's' : ''}://${host.toLowerCase()}`;
}

/**
 * Allows a scraper with the configured token. Without one, it allows a scraper on this machine that uses a local host
 * name, because another site can resolve its own name to this machine (DNS rebinding).
 */
function mayReadMetrics({ raw, socket, headers }: FastifyRequest, { config }: Services): boolean {
  if (config.metricsToken) {
    const presented = Buffer.from(headers.authorization ?? '');
    return sameBytes(presented, Buffer.from(`Bearer ${config.metricsToken.reveal()}`));
  }
  const isAskedHere = isLoopback(hostName(headers.host ?? ''));
  return (
    isAskedHere && !looksForwarded(raw) && isLoopback((socket.remoteAddress ?? '').replace('::ffff:', ''))
  );
}
