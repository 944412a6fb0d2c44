/** The service's own pages: health, readiness, metrics and documentation. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../config.ts';
import { Fault } from '../domain/fault.ts';
import { sameBytes } from '../keys.ts';
import { hostName } from './auth.ts';
import { clientAddresses, type ClientAddresses } from './client-address.ts';
import { addDevelopmentEmails } from './development-emails.ts';
import { sendDocument, type ServedDocumentation, type ServedDocument } from './documents.ts';
import { looksForwarded } from './forwarded.ts';
import { addHome } from './home.ts';
import { pagePaths } from './page-paths.ts';
import { problems } from './problem.ts';
import type { Services } from './services.ts';

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Shown by the readiness check: the service is ready without email, but the setting may be missing by mistake. */
const noEmail = 'none: SMTP_URL is not set, so no email is sent';

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
    if (!(await services.isReady()))
      throw new Fault('unavailable', {
        detail: 'The database does not accept writes, or more than one server does.',
        retryAfterSeconds: 1,
      });
    return {
      status: 'ready',
      details: { mail: email.transportKind === 'none' ? noEmail : email.transportKind },
    };
  });

  app.get(at('metrics'), async (request, reply) => {
    if (!mayReadMetrics(request, services)) throw new Fault('unauthenticated');
    return reply
      .header('cache-control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.render());
  });

  app.get(at('openapi'), async (request, reply) =>
    sendDocument(request, reply, await documentation.openApi(originOf(request, clients))),
  );
  for (const name of ['reference', 'referenceMarkdown', 'referencePage', 'llms', 'llmsFull'] as const) {
    app.get(at(name), async (request, reply) => {
      const { page = '' } = request.params as { readonly page?: string };
      const document = await documentation.find(pagePaths[name].replace(':page', () => page));
      if (!document) throw new Fault('not-found');
      reply.header('content-security-policy', contentSecurityPolicy);
      return sendDocument(request, reply, document);
    });
  }
  addHome(app, services, prefix);
  if (email.kept) addDevelopmentEmails(app, { kept: email.kept }, prefix);
  // The `type` of a problem is this URL. It redirects to the explanation of the code.
  app.get(at('problem'), (request, reply) => {
    const { code } = request.params as { readonly code: string };
    if (!Object.hasOwn(problems, code)) throw new Fault('not-found');
    return reply.redirect(`../errors#${code}`, 302);
  });
}

type LoadedDocumentation = {
  readonly find: (path: string) => Promise<ServedDocument | undefined>;
  readonly openApi: (origin: string) => Promise<ServedDocument>;
};

/** The maximum number of origins that get a document with their URL, because each one is generated and kept. */
const originsMax = 8;

/** The documentation, generated with the first request for a part of it. */
function loadedOnce(load: Services['loadDocumentation']): LoadedDocumentation {
  let loaded: Promise<ServedDocumentation> | undefined;
  const loadOnce = (): Promise<ServedDocumentation> => (loaded ??= load());
  const openApis = new Map<string, ServedDocument>();
  return {
    find: async (path) => (await loadOnce()).find(path),
    async openApi(origin) {
      const { openApi } = await loadOnce();
      // A service has one or two origins. If clients invent more, they get a document with a path instead of a URL.
      const served = openApis.has(origin) || openApis.size < originsMax ? origin : '';
      const document = openApis.get(served) ?? openApi(served);
      openApis.set(served, document);
      return document;
    },
  };
}

/** The scheme and host that the client uses; empty if the host is malformed. */
function originOf({ raw, headers, socket }: FastifyRequest, { isTrusted }: ClientAddresses): string {
  const { host = '' } = headers;
  if (!/^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i.test(host)) return '';
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
