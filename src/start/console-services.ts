/** The services that the pages for staff and recipients use. */

import type { RestoreTools } from '../features/backups/domain/restore.ts';
import type { MachineCondition } from '../features/health/domain/health.ts';
import { onlyTillPage } from '../features/till/pages/pin.ts';
import { checkoutTool, withdrawalLimitTool } from '../features/online-sales/pages/tools.ts';
import { walletTool } from '../features/wallets/pages/tools.ts';
import { accountantEmailsTool } from '../features/accountants/pages/tools.ts';
import { machineConditionTool } from '../features/health/pages/tools.ts';
import { ownerNoticesTool } from '../features/owner-notices/pages/tools.ts';
import { versionTool } from '../features/upgrade/pages/tools.ts';
import { backupTool, restoreTool } from '../features/backups/pages/tools.ts';
import { emailServerTool } from '../features/emails/pages/server-tool.ts';
import { longReads } from '../pages/kit/long-reads.ts';
import { figuresReader, figuresTool } from '../features/today/service/today.ts';
import { emailPreviewTool, emailTool } from '../features/emails/pages/tools.ts';
import { Tools } from '../platform/tools.ts';
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
import type { Google } from '../features/wallets/delivery/google/wallet-objects.ts';
import { previewStored } from '../features/emails/delivery/stored.ts';
import { findInstallation } from '../features/upgrade/platform/installation.ts';
import { createTableTurns, tableTurnsTool } from '../features/batches/service/table-turns.ts';
import { passwordsOf } from '../core/staff/service/password.ts';
import type { CardKey } from '../core/cards/storage/card.ts';
import type { LookupKey } from '../core/stocks/storage/code.ts';
import { backupToolsOf } from '../features/backups/start/tools.ts';
import type { Backups } from '../features/backups/start/backups.ts';
import { pagesUrlOf, type EmailSetup } from '../features/emails/start/email.ts';
import type { AccountantEmails } from '../features/accountants/start/accountants.ts';
import type { OnlineSales } from '../features/online-sales/start/online-sales.ts';
import type { OwnerNotices } from '../features/owner-notices/start/owner-notices.ts';
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
  'onCommit' | 'condition' | 'restoredCopies' | 'turns' | 'tools' | 'pages'
> & {
    readonly ofMachine: () => Promise<MachineCondition>;
    readonly restoring: RestoreTools | null;
  };

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
    restoring,
    ofMachine,
    ...parts
  }: ConsoleParts,
): Parameters<typeof addConsole>[1] {
  const { publicUrl, basePath, lookupFailuresPerHour, limits } = config;
  const pagesUrl = pagesUrlOf(config);
  const addEmailTools = (tools: Tools, transport: EmailTransport | null): Tools =>
    tools
      .add(emailTool, emailToolsOf(ctx, { transport, pagesUrl }))
      .add(emailPreviewTool, (previewed) =>
        previewStored(previewed, { from: transport?.from ?? null, pagesUrl }),
      );
  const tools = addEmailTools(new Tools(parts.tools), email.senders.transport)
    .add(tableTurnsTool, createTableTurns(limits))
    .add(figuresTool, figuresReader({ ctx, storage: longReads({ storage, turns: parts.turns }) }))
    .add(emailServerTool, {
      rule: email.rule,
      ofOperator: email.senders.transport?.server ?? null,
      ...serverToolsOf(ctx, email.network),
    })
    .add(backupTool, backups && backupToolsOf(backups.parts, backups.runs))
    .add(restoreTool, restoring)
    .add(versionTool, {
      ...versions,
      machineRule: machineRuleOf(config),
      installation: findInstallation(),
    })
    .add(machineConditionTool, ofMachine)
    .add(ownerNoticesTool, notices.sendOf)
    .add(accountantEmailsTool, accountants.sendOf)
    .add(walletTool, walletToolsOf(config, { ctx, storage }, google))
    .add(checkoutTool, onlineSales)
    .add(withdrawalLimitTool, withdrawalLimiter(limits.rateLimitedCallersMax));
  return {
    ...parts,
    tools,
    onlyTillPage,
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
    async emailPartsOf(storeId) {
      const transport = await email.ownTransport(storeId);
      if (!transport) return null;
      const condition = { ...parts.condition, emailTransport: 'smtp' } as const;
      return { tools: addEmailTools(new Tools(tools), transport), canSend: true, condition };
    },
    pagesUrl,
    brandOf,
    lookups: {
      perHour: lookupFailuresPerHour,
      recordRetired: (use: CardKey) => retiredUses.note(use),
      recordTried: (tried: LookupKey) => stockTries.note(tried),
    },
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
