/** The service: the only wiring, in plain calls. */

import { dirname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { operations } from '../api/index.ts';
import { startBackground } from './jobs.ts';
import { assertInRange, systemClock, type TimeSource } from '../platform/clock.ts';
import { guardClock } from './clock-guard.ts';
import { distributedPeriods } from '../platform/limits.ts';
import { emailTransportOf, isDevelopment, localUseOf, shownLocation, type Config } from './config.ts';
import { emailFolder } from '../delivery/email/folder.ts';
import { emailQueue, emailWorkerLimits } from '../delivery/email/queue.ts';
import { emailToolsOf } from '../delivery/email/tools.ts';
import { folderTransport, smtpTransport, type EmailTransport } from '../delivery/email/transport.ts';
import { startWorker, type Worker } from '../delivery/worker.ts';
import { openDatabase, type Database } from './database.ts';
import { loopbackRule, startWebhooks, webhookUrlsOf } from '../delivery/webhooks/webhooks.ts';
import { openOutboundThread } from '../delivery/webhooks/thread.ts';
import { freeSpaceOf } from '../platform/disk.ts';
import { createMetrics, type Metrics } from '../http/metrics.ts';
import { visitorLimiter } from '../http/rate-limit.ts';
import { createServer } from '../http/server.ts';
import type { EmailServices } from '../http/services.ts';
import { recordedRequests } from '../http/recorded-requests.ts';
import { codeUses, type RetiredCodeUses, type StockTries } from '../http/code-uses.ts';
import { tokenUses } from '../http/token-last-used.ts';
import { isExposed } from '../platform/key-file.ts';
import { homePathOf } from '../console/gate/home.ts';
import { readableEmailsOf } from '../console/emails/kept-emails.ts';
import { addConsole } from '../console/kit/server.ts';
import { brandOf } from '../delivery/email/colour.ts';
import { languageOf, languages } from '../delivery/email/language.ts';
import { previewStored } from '../delivery/email/stored.ts';
import { passwordsOf } from '../service/staff/password.ts';
import { createSetupLink } from '../service/stores/setup.ts';
import { createLog, type Log } from '../platform/log.ts';
import { readiness, watchPrimaries } from './readiness.ts';
import { reportRuns } from '../service/books/report-runs.ts';
import { removeAbandonedCopies } from '../storage/sqlite/restore.ts';
import { ensureDemonstrationStore } from '../service/stores/store.ts';
import { assertDurable, checkClock, clockLog } from './checks.ts';
import { StartError } from './error.ts';
import { startMessage } from './message.ts';
import type { CardKey } from '../storage/cards/card.ts';
import type { LookupKey } from '../storage/stocks/code.ts';
import { lastBeat } from '../storage/heartbeat.ts';
import { findDemonstrationStore, hasRealStores } from '../storage/stores/store.ts';
import { Fault } from '../domain/fault.ts';
import { programCommand } from '../platform/program-files.ts';
import type { Storage } from '../storage/storage.ts';
import { hasRealTokens } from '../storage/stores/token.ts';
import { tracedStorage } from '../storage/traced.ts';
import { openTracing, type Tracing } from '../platform/tracing.ts';
import { createTurns } from '../service/turns.ts';

export type Service = AsyncDisposable & {
  /** `http://host:port`, with the actual port. */
  readonly url: string;
  /** Resolves when the database can no longer be trusted: the process must exit. */
  readonly failed: Promise<unknown>;
};

/** The clock and the log, which tests replace. */
export type StartOptions = {
  readonly clock: TimeSource;
  readonly log: Log;
  /** Writes to the terminal of the person who starts the service. Absent: there is none, and the log says where it serves. */
  readonly terminal?: ((text: string) => void) | undefined;
};

/** While the database is not open. */
function neverReady(): Promise<boolean> {
  return Promise.resolve(false);
}

/** Removes the copies of all data that an interrupted restore has left. */
function removeCopies(file: string, logger: Log['logger']): void {
  const { removed, left } = removeAbandonedCopies(file);
  if (removed.length > 0)
    logger.warn({ files: removed }, 'removed the copies of a restore that was interrupted');
  if (left.length > 0)
    logger.error({ files: left }, 'a restore that was interrupted left copies of all data: delete them');
}

/** Starts the service. @throws StartError, or the error of opening the database. */
export async function start(config: Config, options?: StartOptions): Promise<Service> {
  const {
    clock: source,
    log,
    terminal,
  } = options ?? { clock: systemClock, log: await createLog(config), terminal: terminalOf(process.stdout) };
  const { logger } = log;
  const { level } = logger;
  // Only warnings come before the start message.
  if (terminal && ['trace', 'debug', 'info'].includes(level)) logger.level = 'warn';
  assertInRange(source.now());
  const guard = guardClock(source, config.limits, clockLog(config, logger));
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
  let isClosing = false;
  let hasFailed = false;
  const commitListeners = new Set<() => void>();
  const notifyOfCommit = (): void => {
    for (const listener of commitListeners) listener();
  };
  const onCommit = (listener: () => void): (() => void) => {
    commitListeners.add(listener);
    return () => void commitListeners.delete(listener);
  };

  let isReady = neverReady;
  const freeSpace = config.database.kind === 'file' ? freeSpaceOf(dirname(config.database.file)) : null;
  const metrics = createMetrics({
    queueDepth: () => database.storage.queueDepth,
    clockJumpMs: () => guard.jumpMs(),
    freeSpace,
    isReady: () => isReady(),
  });
  const primaries = watchPrimaries(metrics, logger);
  const tracing = openTracing();
  const opened = await openDatabase(config, {
    prepare: true,
    serves: true,
    clock: guard.clock,
    observer: {
      committed(group) {
        metrics.committed(group);
        if (tracing) tracing.outside(notifyOfCommit);
        else notifyOfCommit();
      },
      readOnly(cause) {
        logger.error({ err: cause }, 'the database is read-only: every change is rejected');
      },
      failed(cause) {
        hasFailed = true;
        logger.fatal({ err: cause }, 'the database can no longer be trusted; the service ends');
        fail(cause);
      },
      primariesFound: primaries.found,
      warned: (message, cause) => logger.warn({ err: cause }, message),
    },
  });
  const database = tracing ? traced(opened, tracing) : opened;
  try {
    primaries.assertOne();
    await assertDurable(config, database.storage, (risk) => logger.warn(risk));
    await checkClock(config, { database, guard, logger });
    if (config.database.kind === 'file') removeCopies(config.database.file, logger);
    const developmentMode = await chooseMode(config, database);
    isReady = readiness(
      config,
      { ...database, guard, freeSpace },
      () => !isClosing && !hasFailed && primaries.hasAtMostOne(),
    );
    const uses = tokenUses();
    const retiredUses: RetiredCodeUses = codeUses();
    const stockTries: StockTries = codeUses();
    const requests = recordedRequests({
      requestsMax: config.limits.requestsWaitingMax,
      requestsOfStoreMax: config.limits.requestsOfStoreWaitingMax,
    });
    const mayUseLoopback = loopbackRule(localUseOf(config), database.storage);
    const email = setUpEmail(config, logger);
    const turns = createTurns(config.limits.waitingListsMax);
    const reports = reportRuns({
      clock: database.ctx.clock,
      storage: database.storage,
      turns,
      maxMs: config.limits.reportMaxMs,
      runsMax: config.limits.reportsMax,
      tookTooLong: ({ store, name }) =>
        logger.warn({ store: store.domain, report: name }, 'a report took too long and was ended'),
    });
    const webhookUrls = webhookUrlsOf(database.ctx, mayUseLoopback);
    /** Does nothing until the jobs are started, which then find new batches themselves. */
    const batches = { start: (): void => {} };
    const startBatches = (): void => batches.start();
    const closing = { start: (): Promise<void> => Promise.resolve() };
    const startClosing = (): Promise<void> => closing.start();
    // While the clock is not trusted, days are closed that ended before it was trusted for the last time.
    const trustedUntil = async (): Promise<number> =>
      guard.isTrusted() ? Number.POSITIVE_INFINITY : await database.storage.read(lastBeat);
    const pages = config.hasConsole
      ? consoleServicesOf(config, {
          database,
          email,
          developmentMode,
          retiredUses,
          stockTries,
          onCommit,
          turns,
          reports,
          webhookUrls,
          startBatches,
          startClosing,
          condition: {
            emailTransport: email.transportKind,
            isDiskLow: async () =>
              ((await freeSpace?.()) ?? Number.POSITIVE_INFINITY) < config.limits.diskFreeBytesMin * 8,
            clockJumpMs: () => guard.jumpMs(),
            trustedUntil,
          },
        })
      : null;
    const app = createServer({
      operations,
      async loadDocumentation() {
        const { documentationOf } = await import('../docs/documentation.ts');
        return (origin) => documentationOf({ basePath: config.basePath, origin });
      },
      config,
      ctx: database.ctx,
      storage: database.storage,
      metrics,
      tracing,
      tokenUses: uses,
      retiredCodeUses: retiredUses,
      stockTries,
      recordedRequests: requests,
      log,
      developmentMode,
      webhookUrls,
      onCommit,
      isClosing: () => isClosing,
      isReady,
      email,
      turns,
      reports,
      startBatches,
      addConsole: pages && ((server) => addConsole(server, pages)),
      homePath: pages && ((request) => homePathOf(pages, request)),
      readableEmails: (request) => readableEmailsOf({ storage: database.storage, pages }, request),
    });
    await listen(app, config);
    const url = urlOf(app, config);
    const background = startBackground({
      database,
      limits: { ...config.limits, ...(database.storage.isDistributed && distributedPeriods) },
      retention: config.retention,
      guard,
      trustedUntil,
      metrics,
      tokenUses: uses,
      retiredCodeUses: retiredUses,
      stockTries,
      recordedRequests: requests,
      canSend: email.transportKind !== 'none',
      logger,
    });
    batches.start = () => background.startBatches();
    closing.start = () => background.startClosing();
    const emails = startEmails(email.transport, { config, database, metrics, tracing, logger });
    if (emails) commitListeners.add(() => emails.wake());
    const webhooks = startWebhooks({
      ...database,
      outbound: openOutboundThread(),
      mayUseLoopback,
      tracing,
      observer: {
        attempted: (outcome, seconds) => metrics.deliveryAttempted(outcome, seconds),
        paused({ storeId, id, url: endpoint, paused, failing }) {
          metrics.webhookPaused();
          logger.error(
            { store_id: storeId, webhook: id, endpoint, reason: paused?.reason, failure: failing?.failure },
            'a webhook was paused because its deliveries failed',
          );
        },
      },
      logger,
    });
    commitListeners.add(() => webhooks.wake());
    const link = pages && (await findSetupLink(database));
    const setupToken = link ? link.token.reveal() : null;
    const port = Number(new URL(url).port);
    logger.level = level;
    if (terminal) terminal(startMessage(config, { port, developmentMode, setupToken }));
    else logStart(config, { url, developmentMode, email, hasSetup: setupToken !== null, logger });
    if (isExposed(config.keysFile))
      logger.warn({ file: config.keysFile }, 'users other than its owner can read the key file');

    return {
      url,
      failed,
      async [Symbol.asyncDispose]() {
        isClosing = true;
        logger.info('stopping: waiting for requests in flight');
        // A connection that was busy when the server closed is idle after its response.
        const idle = setInterval(() => app.server.closeIdleConnections(), 50);
        const delivered = Promise.all([webhooks.stop(), emails?.stop()]);
        const late = setTimeout(() => app.server.closeAllConnections(), config.limits.stopTimeoutMs);
        await app.close();
        clearTimeout(late);
        clearInterval(idle);
        await Promise.all([background.stop(), delivered]);
        await database[Symbol.asyncDispose]();
        logger.info('stopped');
        await log.flush();
      },
    };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

function traced(database: Database, tracing: Tracing): Database {
  const ctx = { ...database.ctx, messageContext: tracing.messageContext };
  return { ...database, ctx, storage: tracedStorage(database.storage, tracing) };
}

type ConsoleParts = {
  readonly database: Database;
  readonly email: EmailSetup;
  readonly developmentMode: boolean;
  readonly retiredUses: RetiredCodeUses;
  readonly stockTries: StockTries;
} & Pick<
  Parameters<typeof addConsole>[1],
  'onCommit' | 'condition' | 'turns' | 'reports' | 'webhookUrls' | 'startBatches' | 'startClosing'
>;

/** The base of links to the pages in emails and QR codes; null: there are none. */
function pagesUrlOf({ hasConsole, publicUrl, basePath }: Config): string | null {
  return hasConsole && publicUrl ? `${publicUrl.origin}${basePath}` : null;
}

function consoleServicesOf(
  config: Config,
  { database: { ctx, storage }, email, developmentMode, retiredUses, stockTries, ...parts }: ConsoleParts,
): Parameters<typeof addConsole>[1] {
  const { publicUrl, basePath, lookupFailuresPerHour, limits } = config;
  const pagesUrl = pagesUrlOf(config);
  return {
    ...parts,
    streamsMax: limits.eventStreamsMax,
    ctx,
    storage,
    passwords: passwordsOf(ctx.random, limits),
    origin: { url: publicUrl, basePath },
    emailLocales: languages,
    developmentMode,
    hasKeptEmails: email.kept !== null,
    canSend: email.transportKind !== 'none',
    operations: operations.map(({ method, path }) => ({ method, route: path })),
    customerLanguage: languageOf,
    emailTools: emailToolsOf(ctx, { transport: email.transport, pagesUrl }),
    previewOf: (previewed) => previewStored(previewed, { from: email.transport?.from ?? null, pagesUrl }),
    pagesUrl,
    brandOf,
    lookups: {
      perHour: lookupFailuresPerHour,
      recordRetired: (use: CardKey) => retiredUses.note(use),
      recordTried: (tried: LookupKey) => stockTries.note(tried),
    },
    limitVisitor: visitorLimiter(
      { perSecond: limits.visitorRequestsPerSecond, burst: limits.visitorRequestsBurst },
      { clientsOfNetwork: limits.visitorsOfNetwork, callersMax: limits.rateLimitedCallersMax },
    ),
  };
}

/**
 * Whether requests without a credential are accepted. Outside of development, the service starts only with a store and
 * a token, or with pages on which an owner creates them.
 */
async function chooseMode(config: Config, { ctx, storage }: Database): Promise<boolean> {
  const hasStores = await storage.read(hasRealStores);
  const hasPages = config.hasConsole && config.publicUrl !== null;
  if (!isDevelopment(config) && !hasPages && !(hasStores && (await hasTokens(storage)))) {
    const why = config.isProduction ? 'NODE_ENV=production' : `HOST=${config.host}`;
    throw new StartError(
      `With ${why} the service needs a store and an access token. Create them first:\n` +
        `  ${programCommand} store create flowers.example --currency USD\n` +
        `  ${programCommand} token create --store flowers.example\n` +
        'To set up a shop in a browser instead, set PUBLIC_URL to the address at which browsers reach the service.',
      { isPermanent: true },
    );
  }
  // Stores are never removed, so development mode cannot be switched on later.
  if (!isDevelopment(config) || hasStores) return false;
  // If the store exists, nothing is written, because the disk can be full or read-only.
  if (!(await storage.read(findDemonstrationStore))) await storage.write(() => ensureDemonstrationStore(ctx));
  return true;
}

/** Returns the link for the first owner, if there is none yet. Without a server of a cluster, that is unknown. */
async function findSetupLink({ ctx, storage }: Database) {
  try {
    return await storage.read(() => createSetupLink(ctx));
  } catch (error) {
    if (storage.isDistributed && error instanceof Fault && error.code === 'unavailable') return null;
    throw error;
  }
}

/** In a distributed database a start must not need every server, so tokens are not searched there. */
async function hasTokens(storage: Storage): Promise<boolean> {
  return storage.isDistributed || storage.read(hasRealTokens);
}

type EmailSetup = EmailServices & { readonly transport: EmailTransport | null };

/**
 * How the emails of every store are sent. In development without a mail server they are kept in a folder, and a page
 * shows them, unless a proxy in front of the service could make it public.
 */
function setUpEmail(config: Config, logger: Log['logger']): EmailSetup {
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
function startEmails(
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

/** @throws StartError if the address cannot be listened on. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const advice = listenAdvice.get(code);
    if (advice === undefined) throw error;
    throw new StartError(advice({ host, port }), { cause: error, isPermanent: code === 'EACCES' });
  }
}

/** Advice for an address that cannot be listened on, by the code of the system's error. */
const listenAdvice: ReadonlyMap<string, (address: Pick<Config, 'host' | 'port'>) => string> = new Map([
  ['EADDRINUSE', ({ host, port }) => `port ${port} of ${host} is in use: set PORT to another port`],
  ['EACCES', ({ port }) => `port ${port} needs more rights than this account has: set PORT to another port`],
  [
    'EADDRNOTAVAIL',
    ({ host }) => `${host} is not an address of this machine: set HOST to an address of this machine`,
  ],
  ['ENOTFOUND', ({ host }) => `${host} cannot be resolved to an address: set HOST to another host`],
]);

function urlOf(app: FastifyInstance, { host }: Config): string {
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

function terminalOf(stream: NodeJS.WriteStream): ((text: string) => void) | undefined {
  return stream.isTTY ? (text) => void stream.write(text) : undefined;
}

function logStart(
  config: Config,
  {
    url,
    developmentMode,
    email: { transportKind, kept },
    hasSetup,
    logger,
  }: {
    readonly url: string;
    readonly developmentMode: boolean;
    readonly email: EmailServices;
    /** Whether the service waits for its first owner. */
    readonly hasSetup: boolean;
    readonly logger: Log['logger'];
  },
): void {
  logger.info(
    {
      url: `${url}${config.basePath}`,
      docs: `${url}${config.basePath}/docs`,
      database: shownLocation(config.database),
      ...(kept && { emails: `${url}${config.basePath}/dev/mails` }),
    },
    'largesse serves',
  );
  // The link itself is not logged, because a log is stored for longer, and more people read it.
  if (hasSetup)
    logger.info('there is no owner yet: "largesse setup link" prints a link to set up the shop in a browser');
  if (transportKind === 'folder') {
    logger.warn(
      { folder: config.emailFolder },
      'SMTP_URL is not set: the emails of every store are kept in the folder and are not sent',
    );
  }
  if (transportKind === 'none') {
    logger.warn(
      'SMTP_URL is not set: no email is sent, and the response to the creation of a card that would be emailed has the header Email-Status: not-configured',
    );
  }
  if (developmentMode) {
    logger.warn(
      'DEVELOPMENT MODE: until the database contains a real store, requests from this machine do not need a credential and use the demonstration store',
    );
  }
}
