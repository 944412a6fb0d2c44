/** The API reference of a sandbox: a sample is sent with its token, as it is or changed, and the response is shown. */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { currencyOf } from '../../src/domain/money/currency.ts';
import { openSandbox } from '../../src/service/stores/sandbox.ts';
import { openChromium, type Chromium, type Page } from '../support/chromium.ts';
import { startService } from '../support/service.ts';
import { accessibilityFaults, documentFaults, overflowFaults } from './page-checks.ts';

let chromium: Chromium;
before(async () => {
  chromium = await openChromium();
});
after(async () => {
  await chromium[Symbol.asyncDispose]();
});

/** Presses the button, and returns the status and the body that are shown then. */
async function run(page: Page): Promise<{ readonly status: string; readonly body: string }> {
  await page.click('.run button');
  await page.waitForFunction(() => !document.querySelector('.run button')?.matches(':disabled'));
  const textOf = (selector: string): Promise<string> =>
    page.$eval(selector, ({ textContent }) => textContent ?? '');
  return { status: await textOf('.run [role=status]'), body: await textOf('.run pre') };
}

async function fill(page: Page, selector: string, text: string): Promise<void> {
  await page.$eval(selector, (field, value) => ((field as HTMLInputElement).value = value), text);
}

test('a sample of a sandbox is run, changed and run again', async () => {
  await using service = await startService({
    isSandbox: true,
    environment: { BASE_PATH: '/cards/api' },
    async beforeStart({ ctx, storage }) {
      await storage.write(() => openSandbox(ctx, { domain: 'sandbox.example', currency: currencyOf('USD') }));
    },
  });
  const expected = [/\/favicon\.ico$/, /^status (?:404|422)/, /^console: Failed to load resource/];
  await using window = await chromium.window(service, { expected, viewport: { width: 390, height: 800 } });
  const { page, open } = window;
  assert.equal(await open('/docs/create-gift-card'), 200);
  const created = await run(page);
  assert.equal(created.status, 'Status 201');
  const { gift_card: card } = JSON.parse(created.body) as { readonly gift_card: { readonly id: number } };
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual([...(await documentFaults(page, 'en')), ...(await overflowFaults(page))], []);

  await fill(page, '.run textarea', '{"initial_value": -5, "note": "<b>bold</b>"}');
  await fill(page, '.run input', '/cards/api/gift_card?dry_run=true');
  const rejected = await run(page);
  assert.equal(rejected.status, 'Status 422', rejected.body);
  assert.match(rejected.body, /"must be greater than 0"/);

  assert.equal(await open('/docs/retrieve-gift-card'), 200);
  assert.equal((await run(page)).status, 'Status 404');
  await fill(page, '.run input', `cards/api/gift_card/${card.id}`);
  const found = await run(page);
  assert.equal(found.status, 'Status 200');
  assert.match(found.body, new RegExp(`"id": ${card.id},`));

  // The path leads to no other service, and the text of a response is not a part of the page.
  await fill(page, '.run input', '//other.example/<img src=x>');
  const elsewhere = await run(page);
  assert.equal(elsewhere.status, 'Status 404');
  assert.equal(await page.$('.run img'), null);
  assert.equal(await open('/docs/stream-events'), 200);
  assert.equal(await page.$('.run'), null);
});
