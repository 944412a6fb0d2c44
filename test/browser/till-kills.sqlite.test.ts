/** The till in a real browser whose service is killed while it redeems. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium } from '../support/chromium.ts';
import { consoleDomain, join } from '../support/console.ts';
import { send } from '../support/http-client.ts';
import { openLosingGateway } from '../support/losing-gateway.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';
import { cardIssuer } from '../support/till.ts';
import { enter, goTo, openThroughGateway, showsText } from './till-page.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

test('a service that is killed between the tap and the response has redeemed once', async (t) => {
  for (const moment of ['before', 'after'] as const)
    await t.test(`killed ${moment} it handles the request`, async () => {
      await using database = await databaseToServe();
      const { environment } = database;
      const token = await openShop(environment, consoleDomain);
      const first = await serve(environment);
      await using gateway = await openLosingGateway(first.url);
      const own = {
        environment,
        url: gateway.url,
        request: (path: string, request?: Parameters<typeof send>[1]) =>
          send(`${gateway.target}${path}`, request),
        token: () => Promise.resolve(token),
      };
      const card = await (await cardIssuer(own))({ initial_value: '47.00' });
      const browser = await join(own, 'cashier');
      const { window, page } = await openThroughGateway(chromium, gateway, { as: browser });
      await using _closing = window;
      gateway.lose = ({ method, url = '' }) =>
        method === 'POST' && url.startsWith('/till/card/') ? moment : 'none';
      gateway.lost = () => first.kill('SIGKILL');
      await enter(page, card.code, '2000');
      await page.tap('#pay');
      await showsText(page, 'We don’t know yet');
      await first.ended();
      await using second = await serve(environment);
      gateway.lose = () => 'none';
      gateway.target = second.url;
      await goTo(page, '/till/redeemed/');
      if (moment === 'before') {
        await showsText(page, 'Not redeemed from');
        await page.tap('.button.first');
      }
      await showsText(page, '$27.00 left');
      assert.deepEqual(await card.entries(), ['issue', 'debit']);
      await first[Symbol.asyncDispose]();
    });
});
