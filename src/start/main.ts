/** The service: its server, pages and workers, wired in plain calls. `parts.ts` opens what they share. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { operationsOf } from '../api/index.ts';
import { startBackground, type Background } from './jobs.ts';
import { assertInRange, systemClock } from '../platform/clock.ts';
import { distributedPeriods } from '../platform/limits.ts';
import { localUseOf, machineRuleOf, type Config } from './config.ts';
import { startWebhooks } from '../features/webhooks/delivery/webhooks.ts';
import { openOutboundThread } from '../features/webhooks/delivery/thread.ts';
import type { Google } from '../features/wallets/delivery/google/wallet-objects.ts';
import { startWallets } from '../features/wallets/delivery/wallets.ts';
import { createServer } from '../http/server.ts';
import { isExposed } from '../platform/key-file.ts';
import { homePathOf } from '../features/staff/pages/gate/home.ts';
import { addDevelopmentEmails } from '../features/emails/http/development-emails.ts';
import { readableEmailsOf } from '../features/emails/pages/kept-emails.ts';
import { upkeepGauges } from '../features/health/http/upkeep-gauges.ts';
import { eventStreamsTool } from '../features/webhooks/http/event-stream.ts';
import { addConsole } from '../pages/kit/server.ts';
import { createLog } from '../platform/log.ts';
import { readSandboxToken } from '../features/sandbox/service/sandbox.ts';
import { certificateText, startMessage, logStart, terminalOf } from './message.ts';
import { consoleServicesOf } from './console-services.ts';
import { readMounts as systemMounts } from '../platform/mounts.ts';
import { pagesUrlOf, startEmails } from '../features/emails/start/email.ts';
import { machineCondition } from '../features/health/start/health.ts';
import { noCertificate, openHttps, transportSecurityOf, type Https } from '../features/https/start/https.ts';
import { listen, listeningUrl } from './listen.ts';
import { restoringOf } from '../features/backups/start/restoring.ts';
import { findSetupLink } from './mode.ts';
import { partsOf, type Parts } from './parts.ts';
import { loadPages } from './routes.ts';
import type { Channel } from './processes/channel.ts';
import { startTestClock } from '../features/sandbox/start/test-clock.ts';
import { hasRealStores } from '../core/stores/storage/store.ts';
import { type StartOptions, type Base, openBase, prepare } from './base.ts';

export type Service = AsyncDisposable & {
  /** `http://host:port` with the actual port. */
  readonly url: string;
  /** Resolves when the database can no longer be trusted: the process must exit. */
  readonly failed: Promise<unknown>;
  /** Resolves when the next start restores a backup: the service has to be started again. */
  readonly restored: Promise<unknown>;
};

/** The options of a process that runs the service. */
export async function processOptions(given: Config, channel: Channel | null): Promise<StartOptions> {
  return {
    clock: systemClock,
    log: await createLog(given, { isShared: channel !== null }),
    // Only one process writes the message there.
    terminal: channel && channel.number > 1 ? undefined : terminalOf(process.stdout),
    channel,
  };
}

/** Starts the service. @throws StartError, or the error of opening the database. */
export async function start(given: Config, options?: StartOptions): Promise<Service> {
  const {
    clock: source,
    log,
    terminal,
    emailNetwork = {},
    readMounts = systemMounts,
    channel = null,
  } = options ?? (await processOptions(given, null));
  const { logger } = log;
  const { level } = logger;
  // Only warnings come before the start message.
  if (terminal && ['trace', 'debug', 'info'].includes(level)) logger.level = 'warn';
  assertInRange(source.now());
  const base = await openBase(given, { clock: source, log, emailNetwork, readMounts, channel });
  const { config, database, failed } = base;
  try {
    const developmentMode = await prepare(base);
    const { app, parts, hasPages } = await serverOf(base, developmentMode);
    const { email } = parts.shared;
    // Reads that can fail come first: nothing listens then, and no job uses the connections.
    const link = hasPages ? await findSetupLink(database) : null;
    const hasOwnServers = await email.hasOwnServers();
    await listen(app, config);
    const https = await openSecurely(base, app);
    const url = listeningUrl(app, config);
    const workers = startWorkers(base, parts);
    const setupToken = link ? link.token.reveal() : null;
    const port = Number(new URL(url).port);
    logger.level = level;
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
        process: channel?.number,
        logger,
      });
    if (channel) await reportServing(base, channel);
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

/** The period of searches for a store, which a command can create as well. */
const alonePeriodMs = 500;

/** Reports that this process serves. Until there is a store, a backup can be restored, which only one process knows of. */
async function reportServing({ config, database: { storage } }: Base, channel: Channel): Promise<void> {
  const report = async (): Promise<void> => {
    const isAlone = config.database.kind === 'file' && !(await storage.read(hasRealStores));
    channel.serving(isAlone);
    if (!isAlone) clearInterval(again);
  };
  // A read that fails is repeated.
  const tryReport = async (): Promise<void> => await report().catch(() => undefined);
  const again = setInterval(() => void tryReport(), alonePeriodMs).unref();
  await tryReport();
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

/** The server with its pages, which does not listen yet. */
async function serverOf(base: Base, developmentMode: boolean) {
  const { config, log, database, metrics, tracing, onAnyCommit, state, certificate } = base;
  const parts = partsOf(base);
  const pages = config.hasConsole ? await pagesOf(base, parts, developmentMode) : null;
  const { kept } = parts.shared.email;
  const app = createServer({
    ...parts.shared,
    operations: operationsOf(config.isSandbox),
    async loadDocumentation() {
      const { documentationOf } = await import('../features/reference/docs/documentation.ts');
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
    onCommit: onAnyCommit,
    isClosing: () => state.isClosing,
    unreadiness: () => state.unreadiness(),
    transportSecurity: certificate && (() => transportSecurityOf(certificate)),
    tools: parts.tools,
    onClose: () => parts.tools.of(eventStreamsTool).close(),
    addConsole: pages && ((server) => addConsole(server, pages)),
    homePath: pages && ((request) => homePathOf(pages, request)),
    addKeptEmails:
      kept &&
      ((server, prefix) => {
        const readableEmails = async (request: FastifyRequest) =>
          await readableEmailsOf({ storage: database.storage, pages, isSandbox: config.isSandbox }, request);
        addDevelopmentEmails(server, { kept, readableEmails, isSandbox: config.isSandbox }, prefix);
      }),
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

async function pagesOf(base: Base, parts: Parts, developmentMode: boolean) {
  const { config, database, onAnyCommit } = base;
  const { email, retiredCodeUses, stockTries, turns } = parts.shared;
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
    onCommit: onAnyCommit,
    turns,
    tools: parts.tools,
    pages: await loadPages(),
    ofMachine: () => machineCondition(base),
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
    recordedRequests,
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
  const setGauges = upkeepGauges(metrics.registry, { hasBackups: base.freeSpace !== null });
  const background = startBackground({
    ...shared,
    recordedRequests,
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
    examined(upkeep, delays) {
      setGauges(upkeep, delays);
      state.upkeep = upkeep;
    },
    onCommit: commits.add,
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
