/** Every page and form, by area. */

import type { Endpoint } from '../pages/kit/server.ts';
import { addPaymentHints } from '../features/online-sales/pages/payments/hints.ts';
import { addAppleService } from '../features/wallets/pages/apple-service.ts';
import { addRecipientWorker } from '../features/recipient/pages/place.ts';
import { monthRoutes } from '../features/accountants/pages/open.ts';
import { accountantRoutes } from '../features/accountants/pages/settings.ts';
import { accountRoutes } from '../features/staff/pages/account.ts';
import { auditRoutes } from '../features/staff/pages/actions.ts';
import { batchRoutes } from '../features/batches/pages/list.ts';
import { buyRoutes } from '../features/online-sales/pages/buy/buy.ts';
import { orderRoutes } from '../features/online-sales/pages/buy/order-actions.ts';
import { cardActionRoutes } from '../features/card-pages/pages/actions.ts';
import { cardRoutes } from '../features/card-pages/pages/card.ts';
import { cardsRoutes } from '../features/card-pages/pages/list.ts';
import { developerRoutes } from '../features/developers/pages/developers.ts';
import { emailRoutes } from '../features/emails/pages/list.ts';
import { issueRoutes } from '../features/card-pages/pages/issue.ts';
import { joinRoutes } from '../features/staff/pages/gate/join.ts';
import { liveRoutes } from '../features/today/pages/live.ts';
import { morePage } from '../pages/kit/page.ts';
import { passkeyRoutes } from '../features/staff/pages/passkeys.ts';
import { onlineSaleRoutes } from '../features/online-sales/pages/sale.ts';
import { reportRoutes } from '../features/books/pages/reports.ts';
import { sandboxPaymentRoutes } from '../features/online-sales/pages/payments/sandbox.ts';
import { recipientRoutes } from '../features/recipient/pages/recipient.ts';
import type { ConsoleRoute } from '../pages/kit/route.ts';
import { backupSettingsRoutes } from '../features/backups/pages/backups.ts';
import { emailServerRoutes } from '../features/email-server/pages/email-server.ts';
import { emailSettingsRoutes } from '../features/emails/pages/settings/emails.ts';
import { limitSettingsRoutes } from '../features/shop-settings/pages/limits.ts';
import { locationSettingsRoutes } from '../features/shop-settings/pages/locations.ts';
import { onlineSaleSettingsRoutes } from '../features/online-sales/pages/settings/page.ts';
import { proxySettingsRoutes } from '../features/app-proxy/pages/proxy.ts';
import { shopSettingsRoutes } from '../features/shop-settings/pages/shop.ts';
import { versionRoutes } from '../features/upgrade/pages/versions.ts';
import { walletRoutes } from '../features/wallets/pages/settings.ts';
import { textSettingsRoutes } from '../features/emails/pages/settings/wording.ts';
import { restoreRoutes } from '../features/setup/pages/restore.ts';
import { restoredRoutes } from '../features/backups/pages/restored.ts';
import { setupRoutes } from '../features/setup/pages/setup.ts';
import { signInRoutes } from '../features/staff/pages/gate/sign-in.ts';
import { staffRoutes } from '../features/staff/pages/people.ts';
import { stockRoutes } from '../features/stock/pages/routes.ts';
import { addTillWorker, tillAppRoutes } from '../features/till/pages/app.ts';
import { tillDayRoutes } from '../features/till/pages/day.ts';
import { tillDeviceRoutes } from '../features/till/pages/devices.ts';
import { tillSaleRoutes } from '../features/till/pages/sales.ts';
import { tillRoutes } from '../features/till/pages/till.ts';
import { todayRoutes } from '../features/today/pages/today.ts';

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

/** The files and services of features that are neither pages nor forms. */
export const consoleEndpoints: readonly Endpoint[] = [
  addTillWorker,
  addRecipientWorker,
  addAppleService,
  addPaymentHints,
];
