/** The parts of a running service that its server, its pages and its jobs share. */

import { localUseOf, machineRuleOf, type Config } from './config.ts';
import { databaseConfigOf } from './database.ts';
import { loopbackRule, webhookUrlsOf } from '../features/webhooks/delivery/webhooks.ts';
import { openGoogle, type Google } from '../features/wallets/delivery/google/wallet-objects.ts';
import { recordedRequests, type RecordedRequests } from '../features/developers/http/recorded-requests.ts';
import { Tools } from '../platform/tools.ts';
import { startBatchesTool } from '../features/batches/service/batch.ts';
import { testClockTool } from '../features/sandbox/service/test-clock.ts';
import { eventStreams, eventStreamsTool } from '../features/webhooks/http/event-stream.ts';
import { webhookUrlsTool } from '../features/webhooks/service/webhook.ts';
import { codeUses } from '../core/cards/http/code-uses.ts';
import { tokenUses } from '../core/stores/http/token-last-used.ts';
import type { Services } from '../http/services.ts';
import { reportRuns, reportRunsTool } from '../features/books/service/report-runs.ts';
import { lastBeat } from '../database/heartbeat.ts';
import { createTurns } from '../core/service/turns.ts';
import { backupRuns, type Backups } from '../features/backups/start/backups.ts';
import type { BackupParts } from '../features/backups/start/parts.ts';
import { accountantEmails, type AccountantEmails } from '../features/accountants/start/accountants.ts';
import { onlineSales, type OnlineSales } from '../features/online-sales/start/online-sales.ts';
import { saleNotices } from '../features/online-sales/start/sale-notices.ts';
import { openPaymentProviders, type PaymentProviders } from '../features/online-sales/delivery/payments.ts';
import { pagesUrlOf, sendNotice, setUpEmail, type EmailSetup } from '../features/emails/start/email.ts';
import { ownerNotices, type OwnerNotices } from '../features/owner-notices/start/owner-notices.ts';
import { versionRuns, type VersionRuns } from '../features/upgrade/start/versions.ts';
import type { Base } from './base.ts';

export type Parts = {
  readonly mayUseLoopback: ReturnType<typeof loopbackRule>;
  /** The instant (ms) up to which the clock is trusted. */
  readonly trustedUntil: () => Promise<number>;
  /** Null: the database is on a server. */
  readonly backups: Backups | null;
  readonly versions: VersionRuns;
  readonly google: Google;
  readonly notices: OwnerNotices;
  readonly accountants: AccountantEmails;
  readonly payments: PaymentProviders;
  /** Null: the service does not know its own address. */
  readonly onlineSales: OnlineSales | null;
  readonly tools: Tools;
  readonly recordedRequests: RecordedRequests;
  readonly shared: Pick<
    Services,
    'turns' | 'tokenUses' | 'retiredCodeUses' | 'stockTries' | 'noteRequest'
  > & { readonly email: EmailSetup };
};

/** The base of links for browsers on this machine, where gift cards have no value; null: there are no such pages. */
function localPagesUrlOf(config: Config): string | null {
  const { hasConsole, isSandbox, port, basePath } = config;
  const isLocal = isSandbox || localUseOf(config).isDevelopment;
  return hasConsole && isLocal && port !== 0 ? `http://localhost:${port}${basePath}` : null;
}

/** Returns the common parts of the server, the pages and the jobs. */
export function partsOf(base: Base): Parts {
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
  const requests = recordedRequests({
    requestsMax: limits.requestsWaitingMax,
    requestsOfStoreMax: limits.requestsOfStoreWaitingMax,
  });
  return {
    mayUseLoopback,
    // While the clock is not trusted, days are closed that ended before it was trusted for the last time.
    trustedUntil: async () => (guard.isTrusted() ? Number.POSITIVE_INFINITY : await storage.read(lastBeat)),
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
            isStopping: () => base.state.isClosing,
            metrics: base.metrics,
          }),
    tools: toolsOf(base, { turns, mayUseLoopback }),
    recordedRequests: requests,
    shared: {
      email,
      turns,
      tokenUses: tokenUses(),
      retiredCodeUses: codeUses(),
      stockTries: codeUses(),
      noteRequest: (storeId, request) => requests.note(storeId, request),
    },
  };
}

/** The tools of features for their operations. */
function toolsOf(
  { config: { limits }, database: { ctx, storage }, log: { logger }, onAnyCommit, state }: Base,
  { turns, mayUseLoopback }: Pick<Services, 'turns'> & Pick<Parts, 'mayUseLoopback'>,
): Tools {
  const reports = reportRuns({
    clock: ctx.clock,
    storage,
    turns,
    maxMs: limits.reportMaxMs,
    runsMax: limits.reportsMax,
    tookTooLong: ({ store, name }) =>
      logger.warn({ store: store.domain, report: name }, 'a report took too long and was ended'),
  });
  const streams = { ctx, storage, onCommit: onAnyCommit, streamsMax: limits.eventStreamsMax };
  return new Tools()
    .add(reportRunsTool, reports)
    .add(webhookUrlsTool, webhookUrlsOf(ctx, mayUseLoopback))
    .add(eventStreamsTool, eventStreams(streams))
    .add(startBatchesTool, () => state.startBatches())
    .add(testClockTool, () => state.testClock);
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
