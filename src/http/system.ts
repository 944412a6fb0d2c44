/** The service's own pages: health, readiness, metrics and documentation. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../config.ts';
import { Fault } from '../domain/fault.ts';
import { sameBytes } from '../keys.ts';
import { hostName } from './auth.ts';
import { addDevelopmentEmails } from './development-emails.ts';
import { looksForwarded } from './forwarded.ts';
import { addHome } from './home.ts';
import { pagePaths } from './page-paths.ts';
import type { Services } from './services.ts';

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Shown by the readiness check: the service is ready without email, but the setting may be missing by mistake. */
const noEmail = 'none: SMTP_URL is not set, so no email is sent';

export function addPages(app: FastifyInstance, services: Services, prefix: string): void {
  const { metrics, email } = services;
  const documentation = documentationOf(services);
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

  app.get(at('openapi'), async (_request, reply) => {
    const { json } = await documentation();
    return reply.type('application/json; charset=utf-8').send(json);
  });

  app.get(at('reference'), async (_request, reply) => {
    const { html } = await documentation();
    return reply
      .header('content-security-policy', contentSecurityPolicy)
      .type('text/html; charset=utf-8')
      .send(html);
  });
  app.get(at('referenceStyle'), async (_request, reply) => {
    const { css } = await documentation();
    return reply.type('text/css; charset=utf-8').send(css);
  });
  addHome(app, services, prefix);
  if (email.kept) addDevelopmentEmails(app, { kept: email.kept }, prefix);
  // The `type` of a problem is this URL. It redirects to the explanation of the code.
  app.get(at('problem'), (request, reply) => {
    const { code } = request.params as { readonly code: string };
    if (!/^[a-z-]{1,64}$/.test(code)) throw new Fault('not-found');
    return reply.redirect(`../../docs#problem-${code}`, 302);
  });
}

type Documentation = { readonly json: string; readonly html: string; readonly css: string };

/** The API's description and its pages, generated at the first request for one of them. */
function documentationOf({ describe }: Services): () => Promise<Documentation> {
  const generate = async (): Promise<Documentation> => {
    const [document, { renderReference }] = await Promise.all([
      describe(),
      import('./reference/reference.ts'),
    ]);
    return { json: JSON.stringify(document, null, 2), ...renderReference(document) };
  };
  let generated: Promise<Documentation> | undefined;
  return () => (generated ??= generate());
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
