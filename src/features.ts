/** The features, one in each line, in the order of their commands in the help. */

import type { Feature } from './feature.ts';
import { accountantsFeature } from './features/accountants/feature.ts';
import { appProxyFeature } from './features/app-proxy/feature.ts';
import { backupsFeature } from './features/backups/feature.ts';
import { batchesFeature } from './features/batches/feature.ts';
import { booksFeature } from './features/books/feature.ts';
import { cardCommandsFeature } from './features/card-commands/feature.ts';
import { cardPagesFeature } from './features/card-pages/feature.ts';
import { developersFeature } from './features/developers/feature.ts';
import { doctorFeature } from './features/doctor/feature.ts';
import { emailServerFeature } from './features/email-server/feature.ts';
import { emailsFeature } from './features/emails/feature.ts';
import { healthFeature } from './features/health/feature.ts';
import { httpsFeature } from './features/https/feature.ts';
import { mcpFeature } from './features/mcp/feature.ts';
import { movesFeature } from './features/moves/feature.ts';
import { onlineSalesFeature } from './features/online-sales/feature.ts';
import { privacyFeature } from './features/privacy/feature.ts';
import { proofsFeature } from './features/proofs/feature.ts';
import { recipientFeature } from './features/recipient/feature.ts';
import { sandboxFeature } from './features/sandbox/feature.ts';
import { setupFeature } from './features/setup/feature.ts';
import { shopSettingsFeature } from './features/shop-settings/feature.ts';
import { staffFeature } from './features/staff/feature.ts';
import { stockFeature } from './features/stock/feature.ts';
import { tillFeature } from './features/till/feature.ts';
import { todayFeature } from './features/today/feature.ts';
import { upgradeFeature } from './features/upgrade/feature.ts';
import { walletsFeature } from './features/wallets/feature.ts';
import { webhooksFeature } from './features/webhooks/feature.ts';

export const features: readonly Feature[] = [
  setupFeature,
  sandboxFeature,
  upgradeFeature,
  healthFeature,
  doctorFeature,
  httpsFeature,
  backupsFeature,
  movesFeature,
  staffFeature,
  shopSettingsFeature,
  developersFeature,
  cardCommandsFeature,
  stockFeature,
  booksFeature,
  privacyFeature,
  webhooksFeature,
  proofsFeature,
  emailsFeature,
  appProxyFeature,
  mcpFeature,
  todayFeature,
  cardPagesFeature,
  batchesFeature,
  onlineSalesFeature,
  tillFeature,
  emailServerFeature,
  walletsFeature,
  accountantsFeature,
  recipientFeature,
];
