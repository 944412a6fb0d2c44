/** The page of recipients of a store, which a browser reaches through a gateway that can lose its requests. */

import { openChromium, type Chromium, type Page } from '../support/chromium.ts';
import { openStoreWithStaff } from '../support/console.ts';
import { openLosingGateway, type LosingGateway } from '../support/losing-gateway.ts';
import type { TestService } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

/** A phone's browser with its bars. */
export const viewport = { width: 390, height: 664 };

export type RecipientShop = AsyncDisposable & {
  readonly chromium: Chromium;
  readonly gateway: LosingGateway;
  /** The origin of the pages: that of the gateway. */
  readonly origin: string;
  readonly service: TestService;
  readonly shop: Shop;
};

export async function openRecipientShop(): Promise<RecipientShop> {
  const chromium = await openChromium();
  const gateway = await openLosingGateway('');
  const origin = `http://localhost:${new URL(gateway.url).port}`;
  const service = await openStoreWithStaff({ PUBLIC_URL: origin });
  gateway.target = service.url;
  return {
    chromium,
    gateway,
    origin,
    service,
    shop: await shopOf(service, 'flowers.example'),
    async [Symbol.asyncDispose]() {
      await chromium[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Waits for the card with the code, and folds its present. */
export async function cardShown(page: Page, code: string): Promise<void> {
  await page.waitForFunction(
    (text) => document.querySelector('#shown-code')?.textContent?.replaceAll(' ', '') === text,
    {},
    code,
  );
  await page.evaluate(() => document.querySelector<HTMLElement>('.gift-fold[open] > summary')?.click());
}
