/** What the service tells of itself: health, readiness, metrics, and its documentation. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../config.ts';
import { Fault } from '../domain/fault.ts';
import { sameBytes } from '../keys.ts';
import { addDevelopmentMails } from './dev-mails.ts';
import { isForwarded } from './forwarded.ts';
import { openApiDocument } from './openapi.ts';
import { renderReference } from './reference/reference.ts';
import { pagePaths } from './routes.ts';
import type { Services } from './server.ts';

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Told to whoever looks at the readiness: the service is ready without, but somebody may have forgotten it. */
const noMail = 'none: SMTP_URL is not set, so no mail is sent';

export function addPages(app: FastifyInstance, services: Services, prefix: string): void {
  const { config, metrics, storage, mail } = services;
  const documentation = documentationOf(config.basePath);
  const at = (name: keyof typeof pagePaths): string => `${prefix}${pagePaths[name]}`;

  app.get(at('health'), (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );

  app.get(at('readiness'), async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    if (!(await services.isReady()))
      throw new Fault('unavailable', { detail: 'The database does not take writes.', retryAfterSeconds: 1 });
    return { status: 'ready', details: { mail: mail.way === 'none' ? noMail : mail.way } };
  });

  app.get(at('metrics'), async (request, reply) => {
    if (!mayReadMetrics(request, services)) throw new Fault('unauthenticated');
    return reply
      .header('cache-control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.render());
  });

  app.get(at('openapi'), (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(documentation().json),
  );

  app.get(at('reference'), (_request, reply) =>
    reply
      .headers({ 'content-security-policy': contentSecurityPolicy, 'x-content-type-options': 'nosniff' })
      .type('text/html; charset=utf-8')
      .send(documentation().html),
  );
  app.get(at('referenceStyle'), (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(documentation().css),
  );
  if (mail.kept) addDevelopmentMails(app, { storage, kept: mail.kept }, prefix);
  // The address that a problem's type names leads to its explanation.
  app.get(at('problem'), (request, reply) => {
    const { code } = request.params as { readonly code: string };
    if (!/^[a-z-]{1,64}$/.test(code)) throw new Fault('not-found');
    return reply.redirect(`../../docs#problem-${code}`, 302);
  });
}

type Documentation = { readonly json: string; readonly html: string; readonly css: string };

/** The API's description and its pages, made when somebody first asks for one of them. */
function documentationOf(basePath: string): () => Documentation {
  let made: Documentation | undefined;
  return () => {
    if (!made) {
      const document = openApiDocument(basePath);
      made = { json: JSON.stringify(document, null, 2), ...renderReference(document) };
    }
    return made;
  };
}

/** A scraper on this machine, or one that presents the token. */
function mayReadMetrics({ socket, headers }: FastifyRequest, { config }: Services): boolean {
  if (config.metricsToken) {
    const presented = Buffer.from(headers.authorization ?? '');
    return sameBytes(presented, Buffer.from(`Bearer ${config.metricsToken.reveal()}`));
  }
  return !isForwarded(headers) && isLoopback((socket.remoteAddress ?? '').replace('::ffff:', ''));
}
