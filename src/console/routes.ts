/** Every page and form, by area. */

import { accountRoutes } from './account.ts';
import { auditRoutes } from './audit.ts';
import { batchRoutes } from './batches.ts';
import { cardActionRoutes } from './card-actions.ts';
import { cardRoutes } from './card.ts';
import { cardsRoutes } from './cards.ts';
import { developerRoutes } from './developers.ts';
import { emailRoutes } from './emails.ts';
import { issueRoutes } from './issue.ts';
import { joinRoutes } from './join.ts';
import { liveRoutes } from './live.ts';
import { morePage } from './page.ts';
import { passkeyRoutes } from './passkeys.ts';
import { reportRoutes } from './reports.ts';
import { recipientRoutes } from './recipient.ts';
import type { ConsoleRoute } from './route.ts';
import { emailSettingsRoutes } from './settings-emails.ts';
import { proxySettingsRoutes } from './settings-proxy.ts';
import { shopSettingsRoutes } from './settings-shop.ts';
import { textSettingsRoutes } from './settings-texts.ts';
import { setupRoutes } from './setup.ts';
import { signInRoutes } from './sign-in.ts';
import { staffRoutes } from './staff-pages.ts';
import { tillDayRoutes } from './till-day.ts';
import { tillDeviceRoutes } from './till-devices.ts';
import { tillSaleRoutes } from './till-sales.ts';
import { tillRoutes } from './till.ts';
import { todayRoutes } from './today.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...setupRoutes,
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
  ...reportRoutes,
  ...emailRoutes,
  ...tillRoutes,
  ...tillSaleRoutes,
  ...tillDeviceRoutes,
  ...tillDayRoutes,
  ...staffRoutes,
  ...accountRoutes,
  ...auditRoutes,
  ...developerRoutes,
  ...shopSettingsRoutes,
  ...emailSettingsRoutes,
  ...textSettingsRoutes,
  ...proxySettingsRoutes,
  ...recipientRoutes,
  {
    method: 'GET',
    path: '/more',
    access: 'staff',
    handle: (services, request) => Promise.resolve({ status: 200, body: morePage(services, request) }),
  },
];
