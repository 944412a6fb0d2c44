/** The till in a real browser: a scanner, the keypad and the camera. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { qrModules } from '../../src/core/cards/domain/symbol.ts';
import { Secret } from '../../src/platform/secret.ts';
import {
  type Chromium,
  findChromium,
  goBack,
  openChromium,
  typeAsScanner,
  type Page,
  type Window,
  type WindowOptions,
} from '../support/chromium.ts';
import { consoleDomain, join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { cardIssuer, findCard, redeem } from '../support/till.ts';
import { accessibilityFaults, overflowFaults } from './page-checks.ts';
import { scanKeys } from './scanner-keys.ts';
import { enter, goTo, phone, showsText, textOf } from './till-page.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());
const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const issue = await cardIssuer(service);
const cashier = await join(service, 'cashier');

/** A video of one picture: the QR code of a card, in the middle. @param page null: it contains the plain code. */
function framesOf(code: string, page: string | null): Buffer {
  const [width, height] = [640, 480];
  const modules = qrModules(new Secret(code), page);
  const pixels = Math.floor((height * 0.8) / modules.length);
  const offset = { x: (width - modules.length * pixels) >> 1, y: (height - modules.length * pixels) >> 1 };
  const luma = Buffer.alloc(width * height, 235);
  for (const [y, row] of modules.entries())
    for (const [x, isDark] of row.entries()) {
      if (!isDark) continue;
      for (let line = 0; line < pixels; line += 1) {
        const start = (offset.y + y * pixels + line) * width + offset.x + x * pixels;
        luma.fill(16, start, start + pixels);
      }
    }
  const chroma = Buffer.alloc((width * height) / 2, 128);
  const header = Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420mpeg2\n`);
  return Buffer.concat([header, ...[1, 2, 3].flatMap(() => [Buffer.from('FRAME\n'), luma, chroma])]);
}

async function launchWithCamera(video: string): Promise<Chromium> {
  const camera = await findChromium([
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-video-capture=${video}`,
  ]);
  assert.ok(camera);
  return camera;
}

async function openTill(options: WindowOptions = {}): Promise<Window> {
  const window = await chromium.window(service, { viewport: phone, as: cashier, ...options });
  assert.equal(await window.open('/till'), 200);
  return window;
}

/** Counts the taps from now on, also on the next pages. Call it before the till is opened. */
async function tapCounter(page: Page): Promise<() => Promise<number>> {
  await page.evaluateOnNewDocument(() => {
    const count = (): number => Number(sessionStorage.getItem('taps') ?? 0);
    // The Enter of a scanner clicks a button as well, so clicks are not counted.
    const add = ({ isTrusted }: Event): void => {
      if (isTrusted) sessionStorage.setItem('taps', String(count() + 1));
    };
    addEventListener('pointerdown', add, { capture: true });
  });
  return async () => {
    const taps = await page.evaluate(() => Number(sessionStorage.getItem('taps') ?? 0));
    await page.evaluate(() => sessionStorage.removeItem('taps'));
    return taps;
  };
}

/** Redeems $12.50 of the card that the page shows. */
async function redeemByTaps(page: Page): Promise<void> {
  await goTo(page, '/till/card/');
  for (const digit of '1250') await page.tap(`[data-digit="${digit}"]`);
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
}

async function amountOf(page: Page): Promise<string> {
  return await page.$eval('#amount', (field) => (field as HTMLInputElement).value);
}

test('a scanned card is redeemed with the keypad', async () => {
  const card = await issue({ initial_value: '47.00', recipient_name: 'Grace' });
  await using window = await openTill();
  const { page } = window;
  await enter(page, card.code, '2450');
  const text = await textOf(page);
  assert.match(text, /leaves \$22\.50/);
  assert.match(text, /Redeem \$24\.50/);
  assert.equal(await amountOf(page), '24.50');
  await page.tap('[data-digit="delete"]');
  assert.match(await textOf(page), /Redeem \$2\.45/);
  await page.tap('[data-digit="0"]');
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.match(await textOf(page), /\$24\.50 redeemed from •••• \w{4} \$22\.50 left for Grace/);
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Next card');
  assert.equal(await card.balance(), '22.50');
});

test('scan, all, redeem: two taps, and a scan on the result finds the next card', async () => {
  const [card, next] = [await issue({ initial_value: '47.00' }), await issue({ initial_value: '11.00' })];
  await using window = await openTill();
  const { page } = window;
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  await page.tap('[data-fill="10.00"]');
  assert.match(await textOf(page), /Redeem \$10\.00/);
  await page.tap('[data-fill="47.00"]');
  assert.equal(await amountOf(page), '47.00');
  assert.equal(await card.balance(), '47.00', 'filling the field redeems nothing');
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.equal(await card.balance(), '0.00');
  await typeAsScanner(page, next.code);
  await goTo(page, '/till/card/');
  assert.match(await textOf(page), /\$11\.00/);
});

test('with a scanner, a card is redeemed with five taps for any amount', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await chromium.window(service, { viewport: phone, as: cashier });
  const { page } = window;
  const taps = await tapCounter(page);
  assert.equal(await window.open('/till'), 200);
  for (const balance of ['34.50', '22.00']) {
    await typeAsScanner(page, card.code);
    await redeemByTaps(page);
    assert.equal(await card.balance(), balance);
    assert.equal(await taps(), 5);
  }
});

test('a printed card is scanned first, and activated with the keypad', async () => {
  const token = await service.token(consoleDomain);
  const codes = ['BROWSER-CARD-0001'];
  const json = { codes, minimum_value: '10', maximum_value: '100' };
  await service.request('/stocks', { method: 'POST', token, json });
  const [code = ''] = codes.map((each) => each.replaceAll('-', ''));
  await until(async () => (await service.request('/stocks', { token })).text.includes('"complete"'));
  await using window = await openTill();
  const { page } = window;
  await typeAsScanner(page, code);
  await showsText(page, 'Activate a card');
  assert.ok(!(await page.content()).toLowerCase().includes(code.toLowerCase()));
  assert.deepEqual([...(await accessibilityFaults(page)), ...(await overflowFaults(page))], []);
  for (const key of '2550') await page.tap(`[data-digit="${key}"]`);
  assert.match(await textOf(page), /\$25\.50 taken: activate/);
  await page.tap('#pay');
  await goTo(page, '/till/sold/');
  assert.match(await textOf(page), /sold on the card •••• 0001/);
});

test('the register passes an amount and a reference, which a scan and one tap redeem once', async () => {
  const [card, next] = [await issue({ initial_value: '47.00' }), await issue({ initial_value: '11.00' })];
  await using window = await openTill({ viewport: { ...phone, height: 664 } });
  const { page } = window;
  await page.goto(window.url('/till#amount=12.50&reference=R-1042%20table%20b'));
  await showsText(page, 'R-1042 table b · The register asks for $12.50. Scan the card.');
  assert.equal(page.url(), window.url('/till'));
  assert.deepEqual([...(await accessibilityFaults(page)), ...(await overflowFaults(page))], []);
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  await showsText(page, 'Redeem $12.50');
  assert.match(await textOf(page), /leaves \$34\.50/);
  assert.equal(await page.$eval('.folded summary', (summary) => summary.dataset['value']), 'R-1042 table b');
  assert.ok(
    (await page.evaluate(() => document.documentElement.scrollHeight)) <= 664,
    'nothing has to be scrolled',
  );
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.equal(await card.balance(), '34.50');
  const [entry] = await service.query(
    "select reference from transfers where kind = 'debit' order by id desc limit 1",
  );
  assert.equal(entry?.['reference'], 'R-1042 table b');
  await typeAsScanner(page, next.code);
  await goTo(page, '/till/card/');
  assert.equal(await amountOf(page), '', 'the next card does not have the amount');
  const urls = window.requests().map((request) => decodeURIComponent(request.url().replace(/#.*/, '')));
  assert.doesNotMatch(urls.join(' '), /12\.50|R-1042/);
});

test('a link of the register is checked, can be scanned, and is removed by a person', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill({ locale: 'de-DE' });
  const { page } = window;
  const long = 'x'.repeat(101);
  for (const parameters of [
    ...['12,50', '1e3', '0.00', '-5', '12.505', '', '1234567890123'].map((amount) => `amount=${amount}`),
    `amount=5&reference=${long}`,
    'amount=5&reference=a%0Ab',
    'amount=5&amount=6',
    'amount=5&tip=1',
    'reference=R-1042',
    `amount=5&reference=${long.repeat(10)}`,
  ]) {
    await page.goto('about:blank');
    await page.goto(window.url(`/till#${parameters}`));
    await showsText(page, 'Der Link der Kasse enthält keinen gültigen Betrag');
  }
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  assert.equal(await amountOf(page), '');
  await window.open('/till');
  await typeAsScanner(page, window.url('/till#amount=60'));
  await showsText(page, 'Die Kasse verlangt 60,00 $');
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  await showsText(page, '47,00 $ einlösen');
  assert.equal(await amountOf(page), '60,00');
  await window.open('/till');
  await page.tap('#linked button');
  await page.waitForSelector('#linked', { hidden: true });
  await page.reload();
  assert.equal(await page.$eval('#linked', (notice) => notice.checkVisibility()), false);
  assert.equal(await card.balance(), '47.00');
});

test('a scan is read wherever the focus is', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill();
  const { page } = window;
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
});

test('a scanner types for a US keyboard, or for that of the computer', async () => {
  const link = (code: string): string => `https://cards.example/b/card#${code}`;
  for (const { code, scan = code, ...layout } of [
    { code: 'QAWZ1234MY067890', computer: 'french' },
    { code: 'QAWZ1234MY067891', computer: 'french', scanner: 'french' },
    { code: 'QAWZ1234MY067892', computer: 'czech' },
    { code: 'QAWZ1234MY067893', computer: 'russian' },
    { code: 'ZYZYXABZYZYXABCD', computer: 'russian' },
    { code: 'QAWZ1234MY067894', scan: link('QAWZ1234MY067894'), computer: 'german' },
    { code: 'QAWZ1234MY067895', scan: link('QAWZ1234MY067895'), computer: 'german', scanner: 'german' },
    { code: 'QAWZ1234MY067896', computer: 'german', scanner: 'german' },
  ] as const satisfies readonly (Parameters<typeof scanKeys>[2] & { code: string; scan?: string })[]) {
    const [card, next] = [
      await issue({ initial_value: '47.00', code }),
      await issue({ initial_value: '11.00' }),
    ];
    await using window = await openTill();
    const { page } = window;
    await scanKeys(page, scan, layout);
    await goTo(page, '/till/card/');
    await page.tap('[data-fill="47.00"]');
    await page.tap('#pay');
    await goTo(page, '/till/redeemed/');
    assert.equal(await card.balance(), '0.00', JSON.stringify({ scan, ...layout }));
    // Where no field has the focus.
    if (layout.computer === 'german') continue;
    await scanKeys(page, next.code.toUpperCase(), layout);
    await goTo(page, '/till/card/');
    assert.match(await textOf(page), /\$11\.00/);
  }
});

test('a scanned code in the amount field redeems nothing', async () => {
  const [card, other] = [await issue({ initial_value: '47.00' }), await issue({ initial_value: '11.00' })];
  await using window = await openTill();
  const { page } = window;
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  await page.focus('#amount');
  await typeAsScanner(page, other.code);
  await showsText(page, 'This was a scanned code, not an amount');
  assert.equal(await card.balance(), '47.00');
  assert.ok(!(await page.content()).includes(other.code));
  await page.focus('#amount');
  await typeAsScanner(page, '00000450');
  await showsText(page, 'This was a scanned code, not an amount');
  await page.keyboard.type('5.');
  await page.keyboard.press('Enter');
  await goTo(page, '/till/redeemed/');
  assert.equal(await card.balance(), '42.00', 'Enter redeems what is typed');
});

test('keypad and keyboard agree: digits are cents until a point or a comma is typed', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill();
  const { page } = window;
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  const shows = async (keys: string, typed: string): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key as 'A');
    assert.equal(await amountOf(page), typed, keys);
  };
  await shows('250', '2.50');
  await page.tap('[data-digit="0"]');
  await shows('', '25.00');
  await shows(',5', '2500.5');
  for (const typed of ['2500.', '25.00', '2.50', '0.25', '0.02', '']) {
    await page.keyboard.press('Backspace');
    assert.equal(await amountOf(page), typed);
  }
  await shows('12.5', '12.5');
  assert.match(await textOf(page), /leaves \$34\.50/);
  await page.tap('[data-fill="20.00"]');
  await shows('1250', '12.50');
  await page.keyboard.press('Enter');
  await goTo(page, '/till/redeemed/');
  assert.equal(await card.balance(), '34.50');
  await window.open('/till/sell');
  await shows('12345678', '123456.78');
});

test('more than the card has, from the keyboard, does not offer the whole card', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill({ expected: [/^status 422: POST .*\/till\/card\//] });
  const { page } = window;
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  await page.keyboard.type('250.');
  const text = await textOf(page);
  assert.match(text, /The card has \$47\.00 of \$250\.00/);
  assert.doesNotMatch(text, /Redeem \$47\.00/);
  await page.keyboard.press('Enter');
  await showsText(page, 'Redeem $47.00');
  await page.keyboard.press('Enter');
  await goTo(page, '/till/card/');
  assert.equal(await card.balance(), '47.00', 'Enter leads to another amount');
});

test('on a small phone, the button of every task is in the window, and nothing has to be scrolled', async () => {
  const card = await issue({ initial_value: '50.00', recipient_name: 'Grace' });
  await redeem(cashier, await findCard(cashier, card.code), { amount: '9.50' });
  const expired = await issue({ initial_value: '25.00' });
  await expired.change({ expires_on: '2020-01-31' });
  const viewport = { ...phone, height: 664 };
  const paths = [
    (await findCard(cashier, card.code)).path,
    '/till/sell',
    '/till/sell?amount=20&how=card',
    '/till/refund',
    `/till/refund/card/${card.id}`,
    (await findCard(cashier, expired.code)).path,
  ];
  await using window = await openTill({ viewport });
  const places = new Set<string>();
  for (const path of paths) {
    assert.equal(await window.open(path), 200, path);
    const { bottom, height, pageHeight, back, text } = await window.page.evaluate(() => {
      const button = document.querySelector('.paybar .button')?.getBoundingClientRect();
      return {
        bottom: button?.bottom ?? 0,
        height: button?.height ?? 0,
        pageHeight: document.documentElement.scrollHeight,
        back: document.querySelector('main a[href="/till"]') !== null,
        text: document.querySelector('.folded[open]')?.textContent ?? '',
      };
    });
    assert.ok(pageHeight <= viewport.height, `${path} is ${pageHeight} px high`);
    assert.ok(back, `${path} has no way back`);
    assert.equal(text, '', 'the receipt number is folded away');
    places.add(`${Math.round(bottom)} ${Math.round(height)}`);
  }
  assert.deepEqual([...places], ['656 56'], 'the button is at the same place');

  const { page } = window;
  await window.open(paths[0] ?? '');
  const keyTop = (): Promise<number> =>
    page.$eval('[data-digit="1"]', (key) => key.getBoundingClientRect().top);
  const top = await keyTop();
  for (const key of '1250') await page.tap(`[data-digit="${key}"]`);
  assert.equal(await keyTop(), top, 'the keypad does not move under the thumb');
  await page.click('.folded summary');
  await page.waitForFunction(() => document.activeElement?.id === 'reference');
  const isCovered = await page.evaluate(() => {
    const [field, bar] = ['#reference', '.paybar'].map((at) =>
      document.querySelector(at)?.getBoundingClientRect(),
    );
    return (field?.bottom ?? 0) > (bar?.top ?? 0);
  });
  assert.ok(!isCovered, 'the button does not cover the receipt number');
});

test('the chosen redemption of a long list is in view', async () => {
  const card = await issue({ initial_value: '50.00' });
  for (const amount of ['1.00', '2.00', '3.00', '4.00', '5.00'])
    await redeem(cashier, await findCard(cashier, card.code), { amount });
  await using window = await openTill();
  const { page } = window;
  await window.open(`/till/refund/card/${card.id}`);
  const paths = await page.$$eval('.spent a', (links) =>
    links.map((link) => link.getAttribute('href') ?? ''),
  );
  assert.equal(paths.length, 5);
  for (const path of paths) {
    assert.equal(await window.open(path), 200);
    const isShown = await page.$eval('.spent [aria-current]', (link) => {
      const [inner, outer] = [link, link.closest('.spent')].map((each) => each?.getBoundingClientRect());
      return inner && outer && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
    });
    assert.ok(isShown, path);
  }
});

test('taps at once after the page is shown are not lost', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill();
  const { page } = window;
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'no-preference' }]);
  await enter(page, card.code, '1');
  const places = await page.$$eval('[data-digit]', (keys) =>
    keys.map((key) => {
      const { x, y, width, height } = key.getBoundingClientRect();
      return [(key as HTMLElement).dataset['digit'], x + width / 2, y + height / 2] as const;
    }),
  );
  const client = await page.createCDPSession();
  for (let round = 0; round < 4; round += 1) {
    await page.goto(window.url('/till'));
    const shown = Promise.withResolvers<void>();
    page.once('domcontentloaded', () => shown.resolve());
    await page.type('#code', card.code);
    await page.keyboard.press('Enter');
    await shown.promise;
    await page.evaluate(() => {
      const { promise, resolve } = Promise.withResolvers<number>();
      requestAnimationFrame(resolve);
      return promise;
    });
    for (const digit of '1250') {
      const [, x, y] = places.find(([key]) => key === digit) ?? assert.fail(digit);
      await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    }
    await showsText(page, 'Redeem $12.50');
  }
});

test('a wrong code stays in its field with the reason, and the next scan replaces it', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill({ expected: [/^status (?:404|422): POST/] });
  const { page } = window;
  for (const [path, field] of [
    ['/till/sell?amount=20&how=card', '#code'],
    ['/till/refund', '#find'],
    ['/till', '#code'],
  ] as const) {
    await window.open(path);
    await page.type(field, 'zz-zz');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.error');
    assert.equal(await page.$eval(field, (input) => (input as HTMLInputElement).value), 'zz-zz', path);
    assert.ok(!(await page.content()).includes('zz-zz'), 'no page has a typed code');
  }
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
});

test('the name opens the way to other pages, and locking leads to the PIN', async () => {
  await using own = await openStoreWithStaff();
  const owner = await join(own, 'owner');
  await owner.post('/account/pin', { pin: '2580' });
  await owner.post('/tills', { name: 'Counter' });
  const card = await (await cardIssuer(own))({ initial_value: '47.00' });
  await using window = await chromium.window(own, { viewport: phone, as: owner });
  const { page } = window;
  const unlock = async (): Promise<void> => {
    for (const digit of '2580') await page.tap(`[data-digit="${digit}"]`);
    await Promise.all([page.waitForNavigation(), page.tap('main .button.first')]);
  };
  const choose = async (selector: string): Promise<void> => {
    await page.tap('details.menu summary');
    await Promise.all([page.waitForNavigation(), page.tap(`details.menu ${selector}`)]);
  };
  await window.open('/till/pin');
  await unlock();
  assert.equal(new URL(page.url()).pathname, '/till');
  await page.tap('details.menu summary');
  await page.keyboard.press('Escape');
  assert.equal(await page.$('details.menu[open]'), null);
  await choose('form[action="/till/lock"] button');
  assert.equal(new URL(page.url()).pathname, '/till/pin');
  await page.goto(window.url('/till#amount=3.50'));
  assert.deepEqual([new URL(page.url()).pathname, new URL(page.url()).hash], ['/till/pin', '']);
  await unlock();
  await showsText(page, 'The register asks for $3.50');
  await page.tap('#linked button');
  // A session that ends while an amount is entered.
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  for (const key of '1250') await page.tap(`[data-digit="${key}"]`);
  own.clock.advance(6 * 60_000);
  await page.tap('#pay');
  await goTo(page, '/till/pin');
  await showsText(page, 'Nothing was redeemed');
  await unlock();
  await showsText(page, 'Redeem $12.50');
  assert.equal(await card.balance(), '47.00');
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.equal(await card.balance(), '34.50');
  await choose('a[href="/sign-in?next=/account"]');
  assert.equal(new URL(page.url()).pathname, '/sign-in');
});

test('with more than the card has, the button says what is redeemed and the note what is left to pay', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill();
  const { page } = window;
  await enter(page, card.code, '5950');
  const text = await textOf(page);
  assert.match(text, /\$12\.50 left to pay another way/);
  assert.match(text, /Redeem \$47\.00/);
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.match(await textOf(page), /\$47\.00 redeemed.*\$12\.50 left to pay another way/);
});

test('a double tap redeems once', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill();
  const { page } = window;
  await enter(page, card.code, '1000');
  await page.$eval('#pay', (button) => {
    (button as HTMLButtonElement).click();
    (button as HTMLButtonElement).click();
  });
  await goTo(page, '/till/redeemed/');
  await goBack(page);
  await goTo(page, '/till/redeemed/');
  await page.reload();
  assert.deepEqual(await card.entries(), ['issue', 'debit']);
});

test('without scripts, a card is found, redeemed and undone', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using window = await openTill({ javaScript: false });
  const { page } = window;
  await page.type('#code', card.code);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  assert.match(page.url(), /\/till\/card\//);
  await page.type('#amount', '59.50');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  assert.equal(await card.balance(), '47.00', 'the offer redeems nothing');
  await Promise.all([page.waitForNavigation(), page.click('.button.first')]);
  assert.match(page.url(), /\/till\/redeemed\//);
  assert.equal(await card.balance(), '0.00');
  await Promise.all([page.waitForNavigation(), page.click('.button.bad')]);
  assert.equal(await card.balance(), '47.00');
  await Promise.all([page.waitForNavigation(), page.click('.button.first')]);
  assert.equal(new URL(page.url()).pathname, '/till');
});

for (const page of [null, 'https://cards.flowers.example/b/flowers.example'])
  test(`the camera reads the ${page === null ? 'code of' : 'link to'} a card in a browser without a detector`, async () => {
    const card = await issue({ initial_value: '47.00' });
    const folder = makeScratchFolder('camera-');
    const video = `${folder}/qr.y4m`;
    writeFileSync(video, framesOf(card.code, page));
    await using camera = await launchWithCamera(video);
    await using window = await camera.window(service, { viewport: phone, as: cashier });
    await window.page.evaluateOnNewDocument(() => Reflect.deleteProperty(globalThis, 'BarcodeDetector'));
    assert.equal(await window.open('/till'), 200);
    const packaged = (): number =>
      window.requests().filter((each) => /barcode-detector|zxing/.test(each.url())).length;
    assert.equal(packaged(), 0, 'it is loaded when the camera is used');
    await window.page.tap('#scan button');
    await goTo(window.page, '/till/card/');
    assert.match(await textOf(window.page), /\$47\.00/);
    assert.equal(packaged(), 3);
    await window.page
      .browserContext()
      .setPermission(new URL(window.page.url()).origin, { permission: { name: 'camera' }, state: 'granted' });
    // It starts by itself, so a redemption needs five taps for any amount, and the next card one.
    const taps = await tapCounter(window.page);
    await window.open('/till');
    await redeemByTaps(window.page);
    assert.equal(await taps(), 5);
    await window.page.tap('.paybar a');
    await redeemByTaps(window.page);
    assert.equal(await taps(), 1 + 5);
    assert.equal(await card.balance(), '22.00');
    rmSync(folder, { recursive: true });
  });

test('a camera that is not allowed is explained, and the code can be typed', async () => {
  await using window = await openTill();
  const { page } = window;
  await page.tap('#scan button');
  await showsText(page, 'type the code');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'code');
});
