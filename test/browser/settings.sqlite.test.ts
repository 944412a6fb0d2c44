/** The preview of emails, which follows the fields of the form. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openChromium, type Page } from '../support/chromium.ts';
import { join, openStoreWithStaff } from '../support/console.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

/** Waits until the frame shows a text. */
async function waitForPreview(page: Page, text: string): Promise<void> {
  const isShown = async (): Promise<boolean> => {
    const found = await Promise.all(page.frames().map((frame) => frame.content().catch(() => '')));
    return found.slice(1).some((content) => content.includes(text));
  };
  while (!(await isShown())) await setTimeout(50);
}

test('the preview follows the fields, Back leaves the page, and without scripts a button updates it', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using window = await chromium.window(service, { as: owner });
  const { page } = window;
  await window.open('/settings');
  assert.equal(await window.open('/settings/emails'), 200);
  await waitForPreview(page, 'A gift card for you');
  await page.type('#from_name', 'Herbs & <i>more</i>');
  await waitForPreview(page, 'Herbs &amp; &lt;i&gt;more&lt;/i&gt;');
  await page.select('#email_language', 'ar');
  await waitForPreview(page, 'dir="rtl"');
  await page.select('#kind', 'receipt');
  await page.click('.row > .button.first');
  await page.waitForSelector('.notice.good');
  assert.equal(await page.$eval('#email_language', (field) => (field as HTMLSelectElement).value), 'ar');
  // Previews are not steps for Back.
  await page.goBack();
  assert.equal(page.url(), window.url('/settings/emails'));
  await page.goBack();
  assert.equal(page.url(), window.url('/settings'));

  // The wording: the preview shows the kind of email whose fields are filled in.
  assert.equal(await window.open('/settings/texts?language=he'), 200);
  await waitForPreview(page, '<html lang="he" dir="rtl"');
  await page.click('[data-kind="receipt"] > summary');
  await page.type('#receipt_closing', 'Line 1');
  await page.keyboard.press('Enter');
  await page.keyboard.type('{store} & <i>');
  await waitForPreview(page, 'Line 1<br><bdi>');
  await page.type('#receipt_subject', '{code}');
  await waitForPreview(page, 'Receipt, Subject: Braces are only for placeholders');

  await using plain = await chromium.window(service, { as: owner, javaScript: false });
  assert.equal(await plain.open('/settings/emails'), 200);
  await plain.page.select('#email_language', 'ja');
  await plain.page.click('button[formtarget="preview"]');
  await waitForPreview(plain.page, '<html lang="ja"');
});

test('the preview of a new card follows its fields, and is hidden for a printed card', async () => {
  await using service = await openStoreWithStaff();
  const cashier = await join(service, 'cashier');
  await using window = await chromium.window(service, { as: cashier });
  const { page } = window;
  assert.equal(await window.open('/cards/new'), 200);
  await waitForPreview(page, '$50.00');
  await page.type('#recipient_name', 'Emma');
  await waitForPreview(page, 'Emma');
  await page.click('input[name="amount"][value="other"]');
  await waitForPreview(page, 'Other amount:');
  await page.type('#other', '42.50');
  await waitForPreview(page, '$42.50');
  const isShown = () => page.$eval('iframe', (frame) => frame.checkVisibility());
  assert.equal(await isShown(), true);
  await page.click('input[name="how"][value="print"]');
  assert.equal(await isShown(), false);

  await using plain = await chromium.window(service, { as: cashier, javaScript: false });
  assert.equal(await plain.open('/cards/new'), 200);
  await plain.page.type('#sender_name', 'Paul');
  await plain.page.click('button[formtarget="preview"]');
  await waitForPreview(plain.page, 'Paul');
});
