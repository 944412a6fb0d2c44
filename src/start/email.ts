/** How the service sends the emails of every store. */

import { emailTransportOf, type Config } from './config.ts';
import { emailFolder } from '../delivery/email/folder.ts';
import { emailQueue, emailWorkerLimits } from '../delivery/email/queue.ts';
import { folderTransport, smtpTransport, type EmailTransport } from '../delivery/email/transport.ts';
import { startWorker, type Worker } from '../delivery/worker.ts';
import type { Database } from './database.ts';
import type { Metrics } from '../http/metrics.ts';
import type { EmailServices } from '../http/services.ts';
import type { Log } from '../platform/log.ts';
import type { Tracing } from '../platform/tracing.ts';

export type EmailSetup = EmailServices & { readonly transport: EmailTransport | null };

/**
 * How the emails of every store are sent. In development without a mail server they are kept in a folder, and a page
 * shows them, unless a proxy in front of the service could make it public.
 */
export function setUpEmail(config: Config, logger: Log['logger']): EmailSetup {
  const transportKind = emailTransportOf(config);
  const logUnsent = createUnsentLogger(logger);
  if (config.email) return { transportKind, kept: null, logUnsent, transport: smtpTransport(config.email) };
  if (transportKind === 'none') return { transportKind, kept: null, logUnsent, transport: null };
  const folder = emailFolder(config.emailFolder);
  const kept = config.trustedProxies.length === 0 ? folder : null;
  return { transportKind, kept, logUnsent, transport: folderTransport(folder) };
}

/** Logs a store's first card that is not emailed, so that the log does not grow with every card. */
function createUnsentLogger(logger: Log['logger']): EmailServices['logUnsent'] {
  const noted = new Set<number>();
  return ({ id, domain }) => {
    if (noted.has(id)) return;
    noted.add(id);
    logger.warn(
      { store: domain },
      'a gift card was not emailed because SMTP_URL is not set; further cards of this store are not logged',
    );
  };
}

type Emails = Pick<Worker, 'wake' | 'stop'>;

/** Sends queued emails. Without a transport, they wait for a process that has one. */
export function startEmails(
  transport: EmailTransport | null,
  {
    config,
    database,
    metrics,
    tracing,
    logger,
  }: {
    config: Config;
    database: Database;
    metrics: Metrics;
    tracing: Tracing | null;
    logger: Log['logger'];
  },
): Emails | undefined {
  if (!transport) return undefined;
  const observer = {
    attempted: metrics.emailAttempted,
    reclaimed: metrics.emailReclaimed,
    operatorNeeded: (response: string) =>
      logger.error({ response }, 'the mail server rejects this service: check SMTP_URL and MAIL_FROM'),
  };
  const queue = emailQueue({ ...database, transport, observer, pagesUrl: pagesUrlOf(config), tracing });
  const worker = startWorker(queue, logger, emailWorkerLimits(transport, database.storage));
  return {
    wake: () => worker.wake(),
    async stop() {
      await worker.stop();
      await transport[Symbol.asyncDispose]();
    },
  };
}

/** The base of links to the pages in emails and QR codes; null: there are none. */
export function pagesUrlOf({ hasConsole, publicUrl, basePath }: Config): string | null {
  return hasConsole && publicUrl ? `${publicUrl.origin}${basePath}` : null;
}
