/** Starts the sending of emails of every store. */

import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import { emailTransportOf, machineRuleOf, type Config } from '../../../start/config.ts';
import { emailWorkerLimits, type EmailSenders } from '../delivery/destinations.ts';
import { emailFolder, type EmailFolder } from '../delivery/folder.ts';
import { noticeEmail, type Notice } from '../delivery/notice.ts';
import type { EmailOutcome } from '../delivery/outcome.ts';
import { emailQueue } from '../delivery/queue.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { sandboxTransport } from '../delivery/sandbox.ts';
import { storeServers } from '../delivery/store-servers.ts';
import { folderTransport, smtpTransport, type EmailTransport } from '../delivery/transport.ts';
import { startWorker, type Worker } from '../../../delivery/worker.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Database } from '../../../start/database.ts';
import type { Metrics } from '../../../http/metrics.ts';
import type { EmailServices } from '../../../http/services.ts';
import type { Log } from '../../../platform/log.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import { findEmailServer, hasEmailServers, openServer, type StoredServer } from '../storage/server.ts';
import type { ReadCache } from '../../../database/storage.ts';

export type EmailSetup = EmailServices & {
  /** The folder of emails in development, for their page; null: there is no page. */
  readonly kept: EmailFolder | null;
  readonly senders: EmailSenders;
  /** The people who may set the mail server of a store. */
  readonly rule: MachineRule;
  readonly network: PublicNetwork;
  /** The transport of a store with a mail server of its own; null: the store has none. */
  readonly ownTransport: (storeId: number) => Promise<EmailTransport | null>;
};

type Parts = {
  readonly database: Database;
  readonly logger: Log['logger'];
  readonly network: PublicNetwork;
};

/**
 * Sends the emails of every store. A mail server of the operator sends them all. Without one, stores can have
 * servers of their own. In development the emails of other stores are kept in a folder, and a page shows them, unless a
 * proxy in front of the service could make it public.
 */
export function setUpEmail(config: Config, { database, logger, network }: Parts): EmailSetup {
  const transportKind = emailTransportOf(config);
  const rule = config.email || config.isSandbox ? 'operator' : machineRuleOf(config);
  const servers = rule === 'operator' ? null : storeServers(network);
  const folder = transportKind === 'folder' ? emailFolder(config.emailFolder) : null;
  const shared = config.email ? smtpTransport(config.email) : folder && folderOf(folder, config);
  const senders = { transport: shared, servers };
  return {
    transportKind,
    kept: config.trustedProxies.length === 0 ? folder : null,
    logUnsent: createUnsentLogger(logger),
    senders,
    rule,
    network,
    ...ownServersOf(database, senders),
  };
}

function folderOf(folder: EmailFolder, { isSandbox }: Config): EmailTransport {
  const transport = folderTransport(folder);
  return isSandbox ? sandboxTransport(transport) : transport;
}

type Found = { readonly stored: StoredServer | undefined };

/** The parts that depend on the mail servers of stores, by a cache that every write of any process ends. */
function ownServersOf(
  { ctx, storage }: Database,
  { transport, servers }: EmailSenders,
): Pick<EmailSetup, 'canSend' | 'hasOwnServers' | 'ownTransport'> {
  if (!servers)
    return {
      canSend: () => transport !== null,
      hasOwnServers: () => Promise.resolve(false),
      ownTransport: () => Promise.resolve(null),
    };
  const cache: ReadCache<Found> = storage.cache({ entriesMax: 1_000 });
  const read = async (storeId: number): Promise<StoredServer | undefined> => {
    const found = await cache.read(String(storeId), function* find() {
      return { stored: yield* findEmailServer(storeId) };
    });
    return found?.stored;
  };
  return {
    canSend(storeId) {
      if (transport) return true;
      const found = cache.find(String(storeId));
      return found ? found.stored !== undefined : read(storeId).then((stored) => stored !== undefined);
    },
    // In a distributed database a start must not need every server.
    hasOwnServers: async () => storage.isDistributed || (await storage.read(hasEmailServers)),
    async ownTransport(storeId) {
      const stored = (cache.find(String(storeId)) ?? { stored: await read(storeId) }).stored;
      if (!stored) return null;
      const opened = (): EmailTransport => servers.transportOf(storeId, openServer(ctx, storeId, stored));
      return {
        from: stored.sender,
        server: stored,
        connectionsMax: 1,
        emailMaxMs: 0,
        send: (...sent) => opened().send(...sent),
        async [Symbol.asyncDispose]() {
          // The connections belong to the pool of the store.
        },
      };
    },
  };
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

/** The longest wait for a mail server, in which a person waits for the page. */
const noticeMaxMs = 20_000;

/** An email that is sent now. */
type SentNotice = Notice & { readonly store: Store; readonly to: string };

/**
 * Sends an email about the service itself, through the mail server of the operator or of the store.
 * @param name the local part of the Message-ID, the same in every attempt. @param date ms. @returns null: there is no server.
 */
export async function deliverNotice(
  { senders, ownTransport }: Pick<EmailSetup, 'senders' | 'ownTransport'>,
  { store, to, ...notice }: SentNotice,
  { name, date }: { readonly name: string; readonly date: number },
): Promise<EmailOutcome | null> {
  const transport = senders.transport ?? (await ownTransport(store.id));
  if (!transport) return null;
  const email = noticeEmail(notice, { id: name, date, store, from: transport.from, to });
  return await transport.send(email, { name, sendAt: date }, AbortSignal.timeout(noticeMaxMs));
}

/** Sends an email to an owner as `deliverNotice` does. Returns whether it was accepted. */
export async function sendNotice(
  { clock, random }: Context,
  setup: Pick<EmailSetup, 'senders' | 'ownTransport'>,
  notice: SentNotice,
): Promise<boolean> {
  const name = `service-${random.id()}`;
  const outcome = await deliverNotice(setup, notice, { name, date: clock.now() });
  return outcome?.kind === 'sent' || outcome?.kind === 'kept';
}

type Emails = Worker;

/** Sends queued emails. Without a mail server, they wait for a process that has one. */
export function startEmails(
  senders: EmailSenders,
  {
    config,
    database,
    metrics,
    tracing,
    logger,
  }: { config: Config; database: Database; metrics: Metrics; tracing: Tracing | null; logger: Log['logger'] },
): Emails | undefined {
  const { transport, servers } = senders;
  if (!transport && !servers) return undefined;
  const observer = {
    attempted: metrics.emailAttempted,
    reclaimed: metrics.emailReclaimed,
    operatorNeeded: (response: string, domain: string | null) =>
      domain === null
        ? logger.error({ response }, 'the mail server rejects this service: check SMTP_URL and MAIL_FROM')
        : logger.error(
            { response, store: domain },
            'the mail server of a store rejects it: an owner has to check it',
          ),
  };
  const queue = emailQueue({ ...database, senders, observer, pagesUrl: pagesUrlOf(config), tracing });
  const worker = startWorker(queue, logger, emailWorkerLimits(senders, database.storage));
  return {
    wake: () => worker.wake(),
    drain: () => worker.drain(),
    sent: () => worker.sent(),
    whileIdle: (task) => worker.whileIdle(task),
    async stop() {
      await worker.stop();
      await Promise.all([transport?.[Symbol.asyncDispose](), servers?.[Symbol.asyncDispose]()]);
    },
  };
}

/** The base of links to the pages in emails and QR codes; null: there are none. */
export function pagesUrlOf({ hasConsole, publicUrl, basePath }: Config): string | null {
  return hasConsole && publicUrl ? `${publicUrl.origin}${basePath}` : null;
}
