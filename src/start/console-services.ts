/** The services that the pages for staff and recipients use. */

import { consoleRoutes } from './routes.ts';
import { operations } from '../api/index.ts';
import { machineRuleOf, type Config } from './config.ts';
import { emailToolsOf } from '../features/emails/delivery/tools.ts';
import type { Database } from './database.ts';
import { hintLimiter, rateLimiter, visitorLimiter } from '../http/rate-limit.ts';
import type { RetiredCodeUses, StockTries } from '../core/cards/http/code-uses.ts';
import type { addConsole } from '../pages/kit/server.ts';
import { brandOf } from '../features/emails/delivery/colour.ts';
import { languageOf, languages } from '../features/emails/delivery/language.ts';
import { serverToolsOf } from '../features/email-server/delivery/server-tools.ts';
import type { EmailTransport } from '../features/emails/delivery/transport.ts';
import { Fault } from '../core/domain/fault.ts';
import type { SaleKey } from '../features/online-sales/domain/sale.ts';
import type { PreviewedEmail } from '../features/emails/domain/preview.ts';
import type { Google } from '../features/wallets/delivery/google/wallet-objects.ts';
import { previewStored } from '../features/emails/delivery/stored.ts';
import { findInstallation } from '../features/upgrade/platform/installation.ts';
import { createTableTurns } from '../features/batches/service/table-turns.ts';
import { passwordsOf } from '../features/staff/service/password.ts';
import type { CardKey } from '../core/cards/storage/card.ts';
import type { LookupKey } from '../core/stocks/storage/code.ts';
import { backupToolsOf } from '../features/backups/start/tools.ts';
import type { Backups } from '../features/backups/start/backups.ts';
import { pagesUrlOf, type EmailSetup } from '../features/emails/start/email.ts';
import type { AccountantEmails } from '../features/accountants/start/accountants.ts';
import type { OnlineSales } from '../features/online-sales/start/online-sales.ts';
import type { OwnerNotices } from '../features/health/start/owner-notices.ts';
import type { VersionRuns } from '../features/upgrade/start/versions.ts';
import { walletToolsOf } from '../features/wallets/start/wallets.ts';

type ConsoleParts = {
  readonly database: Database;
  readonly email: EmailSetup;
  readonly developmentMode: boolean;
  readonly retiredUses: RetiredCodeUses;
  readonly stockTries: StockTries;
  readonly backups: Backups | null;
  readonly versions: VersionRuns;
  readonly notices: OwnerNotices;
  readonly google: Google;
  readonly accountants: AccountantEmails;
  readonly onlineSales: OnlineSales | null;
} & Pick<
  Parameters<typeof addConsole>[1],
  | 'onCommit'
  | 'condition'
  | 'restoring'
  | 'restoredCopies'
  | 'turns'
  | 'reports'
  | 'webhookUrls'
  | 'startBatches'
>;

export function consoleServicesOf(
  config: Config,
  {
    database: { ctx, storage },
    email,
    developmentMode,
    retiredUses,
    stockTries,
    backups,
    versions,
    notices,
    google,
    accountants,
    onlineSales,
    ...parts
  }: ConsoleParts,
): Parameters<typeof addConsole>[1] {
  const { publicUrl, basePath, lookupFailuresPerHour, limits } = config;
  const pagesUrl = pagesUrlOf(config);
  const emailParts = (transport: EmailTransport | null) => ({
    emailTools: emailToolsOf(ctx, { transport, pagesUrl }),
    previewOf: (previewed: PreviewedEmail) =>
      previewStored(previewed, { from: transport?.from ?? null, pagesUrl }),
  });
  return {
    ...parts,
    routes: consoleRoutes,
    streamsMax: limits.eventStreamsMax,
    ctx,
    storage,
    passwords: passwordsOf(ctx.random, limits),
    tableTurns: createTableTurns(limits),
    origin: { url: publicUrl, basePath },
    emailLocales: languages,
    developmentMode,
    hasKeptEmails: email.kept !== null,
    canSend: email.transportKind !== 'none',
    operations: operations.map(({ method, path }) => ({ method, route: path })),
    customerLanguage: languageOf,
    ...emailParts(email.senders.transport),
    serverTools: {
      rule: email.rule,
      ofOperator: email.senders.transport?.server ?? null,
      ...serverToolsOf(ctx, email.network),
    },
    backups: backups && backupToolsOf(backups.parts, backups.runs),
    versions: { ...versions, machineRule: machineRuleOf(config), installation: findInstallation() },
    sendOwnerNotices: notices.sendOf,
    sendAccountantEmails: accountants.sendOf,
    async emailPartsOf(storeId) {
      const transport = await email.ownTransport(storeId);
      if (!transport) return null;
      const condition = { ...parts.condition, emailTransport: 'smtp' } as const;
      return { ...emailParts(transport), canSend: true, condition };
    },
    pagesUrl,
    wallets: walletToolsOf(config, { ctx, storage }, google),
    onlineSales,
    brandOf,
    lookups: {
      perHour: lookupFailuresPerHour,
      recordRetired: (use: CardKey) => retiredUses.note(use),
      recordTried: (tried: LookupKey) => stockTries.note(tried),
    },
    limitWithdrawal: withdrawalLimiter(limits.rateLimitedCallersMax),
    limitHint: hintLimiter(
      { perSecond: limits.hintsPerSecond, burst: limits.hintsBurst },
      { placesOfNetwork: limits.hintedStoresOfNetwork, callersMax: limits.rateLimitedCallersMax },
    ),
    limitVisitor: visitorLimiter(
      { perSecond: limits.visitorRequestsPerSecond, burst: limits.visitorRequestsBurst },
      { clientsOfNetwork: limits.visitorsOfNetwork, callersMax: limits.rateLimitedCallersMax },
    ),
  };
}

/** Attempts to withdraw from one order, each with an address: five, then five an hour. */
const withdrawalAttempts = { perSecond: 5 / 3_600, burst: 5 } as const;

function withdrawalLimiter(callersMax: number): (sale: SaleKey, now: number) => void {
  const limit = rateLimiter(withdrawalAttempts, callersMax);
  return ({ storeId, saleId }, now) => {
    const { allowed, retryAfterSeconds } = limit(`${storeId} ${saleId}`, now);
    if (!allowed) throw new Fault('too-many-requests', { retryAfterSeconds });
  };
}
