/** Gift cards in a real shop on WooCommerce. It needs `WOO_URL`: see README.md. */

import { after, before, describe } from 'node:test';
import { checkoutTests } from './checkout.ts';
import { failureTests } from './failures.ts';
import { orderTests } from './orders.ts';
import { pageTests } from './pages.ts';
import { saleTests } from './sales.ts';
import { openShop, type Shop } from './shop.ts';

for (const hpos of [true, false])
  describe(hpos ? 'orders in their own tables' : 'orders as posts', () => {
    let shop: Shop;
    before(async () => {
      shop = await openShop({ hpos });
    });
    after(() => shop[Symbol.asyncDispose]());
    const suite = hpos ? 'tables' : 'posts';
    pageTests(() => shop, suite);
    checkoutTests(() => shop, suite);
    orderTests(() => shop, suite);
    failureTests(() => shop, suite);
    saleTests(() => shop, suite);
  });
