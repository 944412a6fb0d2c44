/** The services that the pages for staff and recipients use. */

import { operations } from '../api/index.ts';
import { machineRuleOf, type Config } from './config.ts';
import { emailToolsOf } from '../delivery/email/tools.ts';
import type { Database } from './database.ts';
import { hintLimiter, rateLimiter, visitorLimiter } from '../http/rate-limit.ts';
import type { RetiredCodeUses, StockTries } from '../http/code-uses.ts';
import type { addConsole } from '../console/kit/server.ts';
import { brandOf } from '../delivery/email/colour.ts';
import { languageOf, languages } from '../delivery/email/language.ts';
import { serverToolsOf } from '../delivery/email/server-tools.ts';
import type { EmailTransport } from '../delivery/email/transport.ts';
import { Fault } from '../domain/fault.ts';
import type { SaleKey } from '../domain/online-sales/sale.ts';
import type { PreviewedEmail } from '../domain/emails/preview.ts';
import type { Google } from '../delivery/wallets/google/wallet-objects.ts';
import { previewStored } from '../delivery/email/stored.ts';
import { findInstallation } from '../platform/installation.ts';
import { createTableTurns } from '../service/batches/table-turns.ts';
import { passwordsOf } from '../service/staff/password.ts';
import type { CardKey } from '../storage/cards/card.ts';
import type { LookupKey } from '../storage/stocks/code.ts';
import { backupToolsOf } from './backups/tools.ts';
import type { Backups } from './backups/backups.ts';
import { pagesUrlOf, type EmailSetup } from './email.ts';
import type { AccountantEmails } from './accountants.ts';
import type { OnlineSales } from './online-sales.ts';
import type { OwnerNotices } from './owner-notices.ts';
import type { VersionRuns } from './versions.ts';
import { walletToolsOf } from './wallets.ts';

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
