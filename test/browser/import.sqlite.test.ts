/**
 * A marketing person with a German spreadsheet: the workbook of Excel is imported, a column is explained, a cell is repaired,
 * and the cards are sent. Without a script as well, in both widths and themes.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { receivedEmails } from '../delivery/email/received.ts';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { openChromium, type Page } from '../support/chromium.ts';
import { openStaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { workbookOf } from '../support/workbook.ts';
import { accessibilityFaults, documentFaults, overflowFaults } from './page-checks.ts';
import { press } from './walk.ts';

const folder = makeScratchFolder('import-');
const chromium = await openChromium();
after(async () => {
  await chromium[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function fill(page: Page, id: string, value: string): Promise<void> {
  await page.$eval(`[id="${id}"]`, (field) => ((field as HTMLInputElement).value = ''));
  await page.type(`[id="${id}"]`, value);
}

/** Checks the page in both widths and themes. */
async function check(page: Page): Promise<void> {
  for (const [width, scheme] of [
    [1280, 'light'],
    [390, 'dark'],
    [390, 'light'],
    [1280, 'dark'],
  ] as const) {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
    const faults = [...(await accessibilityFaults(page)), ...(await overflowFaults(page))];
    assert.deepEqual(faults, [], `${page.url()} at ${width} px, ${scheme}`);
  }
  assert.deepEqual(await documentFaults(page, 'de'), []);
}

/** The serial number of a day in the workbook. */
function serialOf(day: Temporal.PlainDate): number {
  return Temporal.PlainDate.from('1899-12-30').until(day, { largestUnit: 'days' }).days;
}

for (const hasScript of [true, false])
  test(`a marketing person sends the cards of a German spreadsheet, ${hasScript ? 'with' : 'without'} a script`, async () => {
    await using server = await smtpServer();
    const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
    await using shop = await openStaffedShop({ environment });
    const tomorrow = Temporal.PlainDate.from(
      new Date(shop.service.clock.now()).toISOString().slice(0, 10),
    ).add({ days: 1 });
    const file = join(folder, 'Dankeschön Kunden.xlsx');
    writeFileSync(
      file,
      workbookOf([
        ['Name', 'E-Mail', 'Betrag', 'Nachricht', 'Versanddatum', 'Filiale'],
        ['Ida Rhodes', 'ida@example.org', '25,00 €', 'Danke für 10 Jahre!', null, 'Nord'],
        ['Jürgen Groß', 'juergen@example.de', 1_250.5, 'Zwei\nZeilen', { day: serialOf(tomorrow) }, 'Süd'],
        ['Mary Keller', 'mary@example.com', '25,0O €', null, null, 'Süd'],
        ['Ida Rhodes', 'ida@example.org', '25,00 €', null, null, 'Nord'],
      ]),
    );
    await using office = await chromium.window(shop.service, {
      as: await shop.as('manager'),
      locale: 'de-DE',
      javaScript: hasScript,
    });
    const { page } = office;
    const look = async (): Promise<void> => {
      if (hasScript) await check(page);
    };
    assert.equal(await office.open('/cards/batches/new'), 200);
    await look();
    const input = (await page.$('input#file')) ?? assert.fail('there is no field for a file');
    await input.uploadFile(file);
    await press(
      page,
      'Prüfen',
      /1 Spalte zu klären 4 Zeilen\. Blatt „Kunden“\..*Filiale etwa „Nord“ zu klären/,
    );
    await look();
    await page.select('#column_5', '-');
    await press(page, 'Weiter', /1 Zeile zu berichtigen.*Zeile 4 Mary Keller Betrag „25,0O €“/);
    await look();
    await fill(page, 'repair_4_2', '25,00 €');
    await press(page, 'Noch einmal prüfen', /1 Person steht noch einmal da.*Zeile 5.*Auch in Zeile 2/);
    await look();
    await press(
      page,
      'Nur die jeweils erste behalten',
      /Dankeschön Kunden .*1\.300,50 ?€.*3 Karten gehen per E-Mail/,
    );
    await look();
    await fill(page, 'expected_count', '3');
    await fill(page, 'expected_total', '1.300,50');
    await press(page, 'Karten ausstellen', /von 3 Karten ausgestellt, insgesamt 1\.300,50 €/);
    await until(() => receivedEmails(server).length === 2);
    assert.deepEqual(
      new Set(receivedEmails(server).map(({ to }) => to[0])),
      new Set(['ida@example.org', 'mary@example.com']),
    );

    // The column is known the next time, and so is the file.
    assert.equal(await office.open('/cards/batches/new'), 200);
    const again = (await page.$('input#file')) ?? assert.fail('there is no field for a file');
    await again.uploadFile(file);
    await press(page, 'Prüfen', /1 Zeile zu berichtigen/);
    await press(page, 'Diese Zeile auslassen', /1 Person steht noch einmal da/);
    await press(page, 'Nur die jeweils erste behalten', /schon importiert: Dankeschön Kunden ?, 3 Karten/);
    await look();
  });
