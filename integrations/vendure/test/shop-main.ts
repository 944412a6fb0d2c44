/**
 * A real Vendure server: `node shop-main.ts serve|populate`. Its database is a file of sql.js, or one of PostgreSQL if
 * `SHOP_DATABASE` is a URL.
 */

import { join } from 'node:path';
import {
  bootstrap,
  DefaultLogger,
  dummyPaymentHandler,
  LanguageCode,
  LogLevel,
  type InitialData,
  type VendureConfig,
} from '@vendure/core';
import { populate } from '@vendure/core/cli/index.js';
import { createGiftCardHandler } from '../src/index.ts';

const environment = process.env as Readonly<
  Record<'SHOP_DATABASE' | 'SHOP_PORT' | 'LARGESSE_URL' | 'LARGESSE_TOKEN', string>
>;
const { SHOP_DATABASE: database, SHOP_PORT: port, LARGESSE_URL: url, LARGESSE_TOKEN: token } = environment;

const config: VendureConfig = {
  apiOptions: {
    port: Number(port),
    hostname: '127.0.0.1',
    adminApiPath: 'admin-api',
    shopApiPath: 'shop-api',
  },
  authOptions: {
    tokenMethod: 'bearer',
    superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
    cookieOptions: { secret: 'secret' },
  },
  dbConnectionOptions: {
    ...(database.startsWith('postgres')
      ? { type: 'postgres' as const, url: database }
      : { type: 'sqljs' as const, location: database, autoSave: true }),
    synchronize: process.argv[2] === 'populate',
    logging: false,
  },
  // All that Vendure logs is in the output.
  logger: new DefaultLogger({ level: LogLevel.Debug, timestamp: false }),
  paymentOptions: {
    paymentMethodHandlers: [
      createGiftCardHandler({ url, token, checkoutTimeoutMs: 2_000, adminTimeoutMs: 2_000, attemptsMax: 3 }),
      dummyPaymentHandler,
    ],
  },
};

const initialData: InitialData = {
  defaultLanguage: LanguageCode.en,
  defaultZone: 'Europe',
  countries: [{ code: 'DE', name: 'Germany', zone: 'Europe' }],
  taxRates: [{ name: 'Standard', percentage: 19 }],
  shippingMethods: [{ name: 'Parcel', price: 500 }],
  paymentMethods: [
    { name: 'gift-card', handler: { code: 'largesse-gift-card', arguments: [] } },
    {
      name: 'bank-card',
      handler: { code: 'dummy-payment-handler', arguments: [{ name: 'automaticSettle', value: 'false' }] },
    },
  ],
  collections: [],
};

if (process.argv[2] === 'populate') {
  const app = await populate(() => bootstrap(config), initialData, join(import.meta.dirname, 'products.csv'));
  await app.close();
  process.exit(0);
}
await bootstrap(config);
