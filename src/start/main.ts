/** The service: the only wiring, in plain calls. */

import type { FastifyInstance } from 'fastify';
import { operationsOf } from '../api/index.ts';
import { startBackground, type Background } from './jobs.ts';
import { assertInRange, systemClock } from '../platform/clock.ts';
import { distributedPeriods } from '../platform/limits.ts';
import { localUseOf, machineRuleOf, type Config } from './config.ts';
import { databaseConfigOf } from './database.ts';
import { loopbackRule, startWebhooks, webhookUrlsOf } from '../delivery/webhooks/webhooks.ts';
import { openOutboundThread } from '../delivery/webhooks/thread.ts';
import { openGoogle, type Google } from '../delivery/wallets/google/wallet-objects.ts';
import { startWallets } from '../delivery/wallets/wallets.ts';
import { createServer } from '../http/server.ts';
import { recordedRequests } from '../http/recorded-requests.ts';
import { codeUses } from '../http/code-uses.ts';
import { tokenUses } from '../http/token-last-used.ts';
import { isExposed } from '../platform/key-file.ts';
import { homePathOf } from '../console/gate/home.ts';
import { readableEmailsOf } from '../console/emails/kept-emails.ts';
import { addConsole } from '../console/kit/server.ts';
import { createLog } from '../platform/log.ts';
import { readSandboxToken } from '../service/stores/sandbox.ts';
import { reportRuns } from '../service/books/report-runs.ts';
import { certificateText, startMessage, logStart, terminalOf } from './message.ts';
import type { CardKey } from '../storage/cards/card.ts';
import type { LookupKey } from '../storage/stocks/code.ts';
import { lastBeat } from '../storage/heartbeat.ts';
import { createTurns } from '../service/turns.ts';
import { consoleServicesOf } from './console-services.ts';
import { backupRuns, type Backups } from './backups/backups.ts';
import type { BackupParts } from './backups/parts.ts';
import { readMounts as systemMounts } from '../platform/mounts.ts';
import { accountantEmails } from './accountants.ts';
import { onlineSales } from './online-sales.ts';
import { saleNotices } from './sale-notices.ts';
import { openPaymentProviders } from '../delivery/payments/payments.ts';
import { pagesUrlOf, sendNotice, setUpEmail, startEmails } from './email.ts';
import { machineCondition } from './health.ts';
import { noCertificate, openHttps, transportSecurityOf, type Https } from './https.ts';
import { listen, listeningUrl } from './listen.ts';
import { restoringOf } from './restoring.ts';
import { findSetupLink } from './mode.ts';
import { ownerNotices } from './owner-notices.ts';
import { versionRuns } from './versions.ts';
import { startTestClock } from './test-clock.ts';
import { type StartOptions, type Base, openBase, prepare } from './base.ts';

export type Service = AsyncDisposable & {
  /** `http://host:port` with the actual port. */
  readonly url: string;
  /** Resolves when the database can no longer be trusted: the process must exit. */
  readonly failed: Promise<unknown>;
  /** Resolves when the next start restores a backup: the service has to be started again. */
  readonly restored: Promise<unknown>;
};

/** Starts the service. @throws StartError, or the error of opening the database. */
export async function start(given: Config, options?: StartOptions): Promise<Service> {
  const {
    clock: source,
    log,
    terminal,
    emailNetwork = {},
    readMounts = systemMounts,
  }: StartOptions = options ?? {
    clock: systemClock,
    log: await createLog(given),
    terminal: terminalOf(process.stdout),
  };
  const { logger } = log;
  const { level } = logger;
  // Only warnings come before the start message.
  if (terminal && ['trace', 'debug', 'info'].includes(level)) logger.level = 'warn';
  assertInRange(source.now());
  const base = await openBase(given, { clock: source, log, emailNetwork, readMounts });
  const { config, database, failed } = base;
  try {
    const developmentMode = await prepare(base);
    const { app, parts, hasPages } = serverOf(base, developmentMode);
    await listen(app, config);
    const https = await openSecurely(base, app);
    const url = listeningUrl(app, config);
    const workers = startWorkers(base, parts);
    const link = hasPages ? await findSetupLink(database) : null;
    const setupToken = link ? link.token.reveal() : null;
    const port = Number(new URL(url).port);
    logger.level = level;
    const { email } = parts.shared;
    const hasOwnServers = await email.hasOwnServers();
    const greet = (): void =>
      terminal?.(startMessage(config, { port, developmentMode, setupToken, hasOwnServers }));
    if (https?.keeper && terminal) {
      const { keeper } = https;
      // The link works when there is a certificate.
      const startedAt = database.ctx.wallClock.now();
      void keeper.settled.then(() => {
        terminal(certificateText(keeper.state, startedAt));
        greet();
      });
    } else greet();
    if (!terminal)
      logStart(config, {
        url,
        ports: https?.ports,
        developmentMode,
        email,
        hasSetup: setupToken !== null,
        hasOwnServers,
        logger,
      });
    if (isExposed(config.keysFile))
      logger.warn({ file: config.keysFile }, 'users other than its owner can read the key file');
    return {
      url,
      failed,
      restored: base.restored.promise,
      [Symbol.asyncDispose]: () => stop(base, { app, https, workers }),
    };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

/** `openHttps`; if it fails, the server no longer listens. @throws StartError. */
async function openSecurely(
  { config, certificate, database: { ctx }, metrics, log: { logger } }: Base,
  app: FastifyInstance,
): Promise<Https | null> {
  try {
    const status = certificate ?? noCertificate();
    return await openHttps(config, {
      app,
      status,
      clock: ctx.wallClock,
      random: ctx.random,
      metrics,
      logger,
    });
  } catch (error) {
    await app.close();
    throw error;
  }
}

type Parts = ReturnType<typeof partsOf>;

/** The base of links for browsers on this machine, where gift cards have no value; null: there are no such pages. */
function localPagesUrlOf(config: Config): string | null {
  const { hasConsole, isSandbox, port, basePath } = config;
  const isLocal = isSandbox || localUseOf(config).isDevelopment;
  return hasConsole && isLocal && port !== 0 ? `http://localhost:${port}${basePath}` : null;
}

/** Returns the common parts of the server, the pages and the jobs. */
function partsOf(base: Base) {
  const {
    config,
    log: { logger },
    emailNetwork,
    database,
    guard,
  } = base;
  const { ctx, storage } = database;
  const { limits } = config;
  const { isDevelopment, isPublicUrlLocal } = localUseOf(config);
  const isForThisMachine = isPublicUrlLocal || config.isSandbox;
  const mayUseLoopback = loopbackRule({ isDevelopment, isPublicUrlLocal: isForThisMachine }, storage);
  const turns = createTurns(limits.waitingListsMax);
  const email = setUpEmail(config, { database, logger, network: emailNetwork });
  const pagesUrl = pagesUrlOf(config) ?? localPagesUrlOf(config);
  const payments = openPaymentProviders({
    network: emailNetwork,
    now: () => ctx.wallClock.now(),
    sandbox: config.isSandbox || isDevelopment ? { ctx, storage, basePath: config.basePath } : null,
  });
  return {
    mayUseLoopback,
    // While the clock is not trusted, days are closed that ended before it was trusted for the last time.
    trustedUntil: async (): Promise<number> =>
      guard.isTrusted() ? Number.POSITIVE_INFINITY : await storage.read(lastBeat),
    backups: backupsOf(base),
    versions: versionRuns({ config, database, logger }),
    google: openGoogle(emailNetwork, () => ctx.wallClock.now()),
    notices: ownerNotices({
      database,
      send: async (notice) => await sendNotice(ctx, email, notice),
      rule: machineRuleOf(config),
      certificate: base.certificate,
      logger,
    }),
    accountants: accountantEmails({ database, email, pagesUrl: pagesUrlOf(config), logger }),
    payments,
    onlineSales:
      pagesUrl === null
        ? null
        : onlineSales({
            database,
            providers: payments,
            pagesUrl,
            isPublic: !isForThisMachine,
            logger,
            notify: saleNotices({ database, email, pagesUrl }),
          }),
    shared: {
      email,
      webhookUrls: webhookUrlsOf(ctx, mayUseLoopback),
      turns,
      reports: reportRuns({
        clock: ctx.clock,
        storage,
        turns,
        maxMs: limits.reportMaxMs,
        runsMax: limits.reportsMax,
        tookTooLong: ({ store, name }) =>
          logger.warn({ store: store.domain, report: name }, 'a report took too long and was ended'),
      }),
      tokenUses: tokenUses(),
      retiredCodeUses: codeUses<CardKey>(),
      stockTries: codeUses<LookupKey>(),
      recordedRequests: recordedRequests({
        requestsMax: limits.requestsWaitingMax,
        requestsOfStoreMax: limits.requestsOfStoreWaitingMax,
      }),
    },
  };
}

/** The sealed backups of the embedded database; null: the database is on a server. */
function backupsOf({
  config,
  database,
  emailNetwork,
  readMounts,
  freeSpace,
  guard,
  log,
}: Base): Backups | null {
  if (config.database.kind !== 'file') return null;
  const { backupFolder } = config;
  const parts: BackupParts = {
    config: databaseConfigOf(config),
    database,
    rule: machineRuleOf(config),
    operatorPlace: backupFolder === null ? null : { kind: 'folder', folder: backupFolder },
    network: emailNetwork,
    readMounts,
    freeSpace,
    isClockTrusted: () => guard.isTrusted(),
    logger: log.logger,
  };
  return { parts, runs: backupRuns(parts) };
}

/** The server with its pages, which does not listen yet. */
function serverOf(base: Base, developmentMode: boolean) {
  const { config, log, database, metrics, tracing, commits, state, certificate } = base;
  const parts = partsOf(base);
  const pages = config.hasConsole ? pagesOf(base, parts, developmentMode) : null;
  const app = createServer({
    ...parts.shared,
    operations: operationsOf(config.isSandbox),
    async loadDocumentation() {
      const { documentationOf } = await import('../docs/documentation.ts');
      const sandbox = config.isSandbox ? { token: await shownTokenOf(base) } : null;
      return (origin) => documentationOf({ basePath: config.basePath, origin, sandbox });
    },
    config,
    ctx: database.ctx,
    storage: database.storage,
    metrics,
    tracing,
    log,
    developmentMode,
    onCommit: commits.add,
    isClosing: () => state.isClosing,
    isReady: () => state.isReady(),
    transportSecurity: certificate && (() => transportSecurityOf(certificate)),
    startBatches: () => state.startBatches(),
    testClock: () => state.testClock,
    addConsole: pages && ((server) => addConsole(server, pages)),
    homePath: pages && ((request) => homePathOf(pages, request)),
    readableEmails: (request) =>
      readableEmailsOf({ storage: database.storage, pages, isSandbox: config.isSandbox }, request),
  });
  return { app, parts, hasPages: pages !== null };
}

/** The token of a sandbox that only this machine can reach; null: others could read it in the documentation. */
async function shownTokenOf({ config, database: { ctx, storage } }: Base): Promise<string | null> {
  if (!config.isLoopback || !(config.publicUrl === null || localUseOf(config).isPublicUrlLocal)) return null;
  const token = await storage.read(() => readSandboxToken(ctx));
  return token?.reveal() ?? null;
}

/** The wait before a restart, in which the response is sent. */
const restartDelayMs = 300;

function pagesOf(base: Base, parts: Parts, developmentMode: boolean) {
  const { config, database, commits, state } = base;
  const { email, retiredCodeUses, stockTries, turns, reports, webhookUrls } = parts.shared;
  return consoleServicesOf(config, {
    database,
    email,
    backups: parts.backups,
    versions: parts.versions,
    notices: parts.notices,
    google: parts.google,
    accountants: parts.accountants,
    onlineSales: parts.onlineSales,
    developmentMode,
    retiredUses: retiredCodeUses,
    stockTries,
    onCommit: commits.add,
    turns,
    reports,
    webhookUrls,
    startBatches: () => state.startBatches(),
    restoredCopies: base.restoredCopies,
    // A sandbox does not become live.
    restoring: config.isSandbox
      ? null
      : restoringOf({
          config,
          storage: database.storage,
          freeSpace: base.freeSpace,
          clock: database.ctx.wallClock,
          network: base.emailNetwork,
          logger: base.log.logger,
          // The browser has the response before.
          restart: () => setTimeout(base.restored.resolve, restartDelayMs).unref(),
        }),
    condition: {
      emailTransport: email.transportKind,
      machineRule: machineRuleOf(config),
      ofMachine: () => machineCondition(base),
      trustedUntil: parts.trustedUntil,
    },
  });
}

type Workers = {
  readonly background: Background;
  readonly stopDeliveries: () => Promise<unknown>;
  /** Its connections close last, because requests use them as well. */
  readonly google: Google;
  readonly payments: Disposable;
};

/** Starts the jobs, and the workers that send emails and webhooks. */
function startWorkers(
  base: Base,
  {
    shared,
    backups,
    versions,
    notices,
    accountants,
    onlineSales: sales,
    payments,
    google,
    mayUseLoopback,
    trustedUntil,
  }: Parts,
): Workers {
  const { email } = shared;
  const { config, database, guard, metrics, tracing, log, commits, state } = base;
  const { logger } = log;
  const background = startBackground({
    ...shared,
    backups: backups?.runs ?? null,
    versions,
    notices,
    accountants,
    onlineSales: sales,
    trustedUntil,
    database,
    limits: { ...config.limits, ...(database.storage.isDistributed && distributedPeriods) },
    retention: config.retention,
    guard,
    metrics,
    examined: (upkeep) => (state.upkeep = upkeep),
    logger,
  });
  state.startBatches = () => background.startBatches();
  const emails = startEmails(email.senders, { config, database, metrics, tracing, logger });
  if (emails) commits.add(() => emails.wake());
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
  commits.add(() => webhooks.wake());
  // A sandbox offers no wallets.
  const wallets = config.isSandbox
    ? null
    : startWallets({
        ...database,
        network: base.emailNetwork,
        google,
        pagesUrl: pagesUrlOf(config),
        logger,
      });
  if (wallets) commits.add(() => wallets.wake());
  const clock = config.isSandbox
    ? startTestClock({ database, background, emails: emails ?? null, webhooks, logger })
    : null;
  state.testClock = clock;
  return {
    background,
    google,
    payments,
    // The clock stops before the queues, which it waits for.
    stopDeliveries: async () => {
      const stopped = clock?.stop();
      await Promise.all([webhooks.stop(), wallets?.stop(), emails?.stop(), stopped]);
    },
  };
}

/** Waits for the requests in flight, and stops everything. */
async function stop(
  { config, log, database, state }: Base,
  {
    app,
    https,
    workers,
  }: { readonly app: FastifyInstance; readonly https: Https | null; readonly workers: Workers },
): Promise<void> {
  state.isClosing = true;
  log.logger.info('stopping: waiting for requests in flight');
  // A connection that was busy when the server closed is idle after its response.
  const idle = setInterval(() => app.server.closeIdleConnections(), 50);
  const delivered = workers.stopDeliveries();
  const late = setTimeout(() => app.server.closeAllConnections(), config.limits.stopTimeoutMs);
  await Promise.all([app.close(), https?.close()]);
  clearTimeout(late);
  clearInterval(idle);
  await Promise.all([workers.background.stop(), delivered]);
  workers.google[Symbol.dispose]();
  workers.payments[Symbol.dispose]();
  await database[Symbol.asyncDispose]();
  log.logger.info('stopped');
  await log.flush();
}
