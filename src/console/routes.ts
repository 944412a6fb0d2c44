/** Every page and form, by area. */

import { monthRoutes } from './accountant/open.ts';
import { accountantRoutes } from './accountant/settings.ts';
import { accountRoutes } from './staff/account.ts';
import { auditRoutes } from './staff/actions.ts';
import { batchRoutes } from './batches/list.ts';
import { buyRoutes } from './buy/buy.ts';
import { orderRoutes } from './buy/order-actions.ts';
import { cardActionRoutes } from './cards/actions.ts';
import { cardRoutes } from './cards/card.ts';
import { cardsRoutes } from './cards/list.ts';
import { developerRoutes } from './developers/developers.ts';
import { emailRoutes } from './emails/list.ts';
import { issueRoutes } from './cards/issue.ts';
import { joinRoutes } from './gate/join.ts';
import { liveRoutes } from './kit/live.ts';
import { morePage } from './kit/page.ts';
import { passkeyRoutes } from './staff/passkeys.ts';
import { onlineSaleRoutes } from './online-sales/sale.ts';
import { reportRoutes } from './reports/reports.ts';
import { sandboxPaymentRoutes } from './payments/sandbox.ts';
import { recipientRoutes } from './recipient/recipient.ts';
import type { ConsoleRoute } from './kit/route.ts';
import { backupSettingsRoutes } from './settings/backups.ts';
import { emailServerRoutes } from './settings/email-server.ts';
import { emailSettingsRoutes } from './settings/emails.ts';
import { limitSettingsRoutes } from './settings/limits.ts';
import { locationSettingsRoutes } from './settings/locations.ts';
import { onlineSaleSettingsRoutes } from './settings/online-sales/page.ts';
import { proxySettingsRoutes } from './settings/proxy.ts';
import { shopSettingsRoutes } from './settings/shop.ts';
import { versionRoutes } from './settings/versions.ts';
import { walletRoutes } from './settings/wallets.ts';
import { textSettingsRoutes } from './settings/wording.ts';
import { restoreRoutes } from './gate/restore.ts';
import { restoredRoutes } from './settings/restored.ts';
import { setupRoutes } from './gate/setup.ts';
import { signInRoutes } from './gate/sign-in.ts';
import { staffRoutes } from './staff/people.ts';
import { stockRoutes } from './stock/routes.ts';
import { tillAppRoutes } from './till/app.ts';
import { tillDayRoutes } from './till/day.ts';
import { tillDeviceRoutes } from './till/devices.ts';
import { tillSaleRoutes } from './till/sales.ts';
import { tillRoutes } from './till/till.ts';
import { todayRoutes } from './today/today.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...setupRoutes,
  ...restoreRoutes,
  ...restoredRoutes,
  ...signInRoutes,
  ...passkeyRoutes,
  ...joinRoutes,
  ...todayRoutes,
  ...liveRoutes,
  ...cardsRoutes,
  ...cardRoutes,
  ...cardActionRoutes,
  ...issueRoutes,
  ...batchRoutes,
  ...stockRoutes,
  ...onlineSaleRoutes,
  ...reportRoutes,
  ...emailRoutes,
  ...tillRoutes,
  ...tillSaleRoutes,
  ...tillDeviceRoutes,
  ...tillDayRoutes,
  ...tillAppRoutes,
  ...staffRoutes,
  ...accountRoutes,
  ...auditRoutes,
  ...developerRoutes,
  ...shopSettingsRoutes,
  ...emailSettingsRoutes,
  ...limitSettingsRoutes,
  ...emailServerRoutes,
  ...backupSettingsRoutes,
  ...versionRoutes,
  ...walletRoutes,
  ...onlineSaleSettingsRoutes,
  ...accountantRoutes,
  ...monthRoutes,
  ...textSettingsRoutes,
  ...locationSettingsRoutes,
  ...proxySettingsRoutes,
  ...recipientRoutes,
  ...sandboxPaymentRoutes,
  ...buyRoutes,
  ...orderRoutes,
  {
    method: 'GET',
    path: '/more',
    access: 'staff',
    handle: (services, request) => Promise.resolve({ status: 200, body: morePage(services, request) }),
  },
];
