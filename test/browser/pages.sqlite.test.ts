/**
 * Every page in a real browser: accessibility, layout, keyboard and links. `PAGES=all` visits each page as every role that
 * can see it, in all languages, themes and widths, with the keyboard, contrast, rejected forms and errors; without it, once in
 * English on a phone.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { pageLanguages, type PageLanguage } from '../../src/pages/kit/texts.ts';
import type { Browser } from '../support/browser.ts';
import { openChromium, type Window } from '../support/chromium.ts';
import {
  accessibilityFaults,
  documentFaults,
  keyboardFaults,
  linkedPaths,
  overflowFaults,
} from './page-checks.ts';
import {
  browserOf,
  consolePages,
  openConsoleShop,
  serviceOf,
  signInAgain,
  type Page,
  type Visitor,
} from './shop.ts';

const isWhole = process.env['PAGES'] === 'all';
const narrowest = 320;
const phone = 390;
const desktop = 1280;
const widths = isWhole ? [narrowest, phone, 768, desktop, 1440] : [phone];
const themes = isWhole ? (['light', 'dark'] as const) : (['light'] as const);

const shop = await openConsoleShop();
after(() => shop[Symbol.asyncDispose]());
const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());
const pages = consolePages();

async function show(
  window: Window,
  settings: { readonly width: number; readonly theme: 'light' | 'dark' },
): Promise<void> {
  await window.page.setViewport({ width: settings.width, height: 800 });
  await window.page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: settings.theme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]);
}

/** The same as a window of 640 px at 200 %: text and controls are twice as large. */
async function zoomFaults(window: Window): Promise<readonly string[]> {
  await window.page.setViewport({ width: 640, height: 400, deviceScaleFactor: 2 });
  return await overflowFaults(window.page);
}

async function layoutFaults(window: Window): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const width of isWhole ? widths : [narrowest]) {
    await show(window, { width, theme: 'light' });
    faults.push(...(await overflowFaults(window.page)));
  }
  return isWhole ? [...faults, ...(await zoomFaults(window))] : faults;
}

/** Contrast is the only thing that depends on the theme. Roles see the same page with more or fewer links. */
async function visibleFaults(window: Window, isFirst: boolean): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const width of isFirst ? widths : [phone]) {
    for (const theme of themes) {
      await show(window, { width, theme });
      const rules = theme === 'dark' ? 'contrast' : 'everything';
      const found = await accessibilityFaults(window.page, isWhole ? rules : 'withoutContrast');
      faults.push(...found.map((fault) => `at ${width} px, ${theme}: ${fault}`));
    }
  }
  return faults;
}

/** Defines a test of the whole matrix. */
function longTest(name: string, run: () => Promise<void>): void {
  if (isWhole) test(name, run);
}

const checkedLinks = new Set<string>();

async function linkFaults(window: Window, browser: Browser, visitor: Visitor): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const path of await linkedPaths(window.page)) {
    // Streams do not end.
    if (path === '/live' || checkedLinks.has(`${visitor} ${path}`)) continue;
    checkedLinks.add(`${visitor} ${path}`);
    const { status } = await browser.request(path, {
      headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' },
    });
    if (status !== 200 && status !== 303) faults.push(`the link to ${path} returns ${status}`);
  }
  return faults;
}

async function faultsOf(
  window: Window,
  page: Page,
  {
    visitor,
    language,
    browser,
  }: { readonly visitor: Visitor; readonly language: PageLanguage; readonly browser: Browser },
): Promise<readonly string[]> {
  const path = await page.path(shop, visitor);
  await show(window, { width: desktop, theme: 'light' });
  const status = await window.open(path);
  const { pathname, search } = new URL(window.page.url());
  if (status !== 200 || pathname + search !== path) return [`status ${status} at ${pathname}${search}`];
  const isFirst = visitor === page.visitors[0];
  const faults = [...(await documentFaults(window.page, language))];
  if (language !== 'en') return [...faults, ...(await layoutFaults(window))];
  if (isWhole && isFirst) faults.push(...(await keyboardFaults(window.page)));
  await show(window, { width: phone, theme: 'light' });
  if (isWhole) faults.push(...(await keyboardFaults(window.page)).map((fault) => `at ${phone} px: ${fault}`));
  return [
    ...faults,
    ...(await linkFaults(window, browser, visitor)),
    ...(await visibleFaults(window, isFirst)),
    ...(await layoutFaults(window)),
  ];
}

async function check(visitor: Visitor, language: PageLanguage, chosen: readonly Page[]): Promise<void> {
  await signInAgain(shop, visitor);
  const browser = browserOf(shop, visitor);
  const faults: string[] = [];
  await using window = await chromium.window(serviceOf(shop, visitor), { as: browser, locale: language });
  for (const page of chosen) {
    const found = await faultsOf(window, page, { visitor, language, browser }).catch((error: unknown) => [
      String(error),
    ]);
    faults.push(...found.map((fault) => `${page.route} as ${visitor}: ${fault}`));
  }
  assert.deepEqual(faults, []);
}

/** Pages in the language of their email or order, whatever that of the browser is. */
const inOwnLanguage = new Set([
  '/accountant/:token',
  '/buy/:domain/order/:token',
  '/buy/:domain/order/:token/withdraw',
]);

const visitors = [...new Set(pages.flatMap((page) => page.visitors))];
for (const visitor of visitors) {
  const chosen = pages.filter((page) =>
    isWhole ? page.visitors.includes(visitor) : page.visitors[0] === visitor,
  );
  for (const language of isWhole ? pageLanguages : (['en'] as const)) {
    if (chosen.length === 0) continue;
    const translated = chosen.filter(({ route }) => language === 'en' || !inOwnLanguage.has(route));
    test(`pages of ${visitor} in ${language} are accessible, fit their window and lead nowhere wrong`, () =>
      check(visitor, language, translated));
  }
}

/** Forms that reject what an empty or unfinished form contains. */
const rejecting = [
  '/sign-in',
  '/join/:token',
  '/cards/new',
  '/cards/stock/new',
  '/cards/:id/redeem',
  '/cards/:id/add',
  '/cards/:id/adjust',
  '/cards/:id/entries/:entry/refund',
  '/staff/new',
  '/tills',
  '/till',
  '/till/email',
  '/till/pin',
  '/till/refund/card/:id/add',
];

/** Submits the first form with a field, with nothing in it, and waits for its errors. @returns the status. */
async function submitEmpty({ page }: Window): Promise<number> {
  // A form of only a selection has no empty state.
  const selector = 'main form[method="post"]:has(input:is(.field, .typed), textarea.field)';
  const action = await page.$eval(selector, (form) => form.action);
  const navigation = page.waitForNavigation();
  // A form that the script sends leaves the page or not.
  navigation.catch(() => undefined);
  const [response] = await Promise.all([
    page.waitForResponse((received) => received.request().method() === 'POST' && received.url() === action),
    page.$eval(selector, (form) => {
      form.noValidate = true;
      for (const field of form.querySelectorAll<HTMLInputElement>('input:is(.field, .typed), textarea.field'))
        field.value = '';
      form.requestSubmit();
    }),
  ]);
  // The script of the till sends a form itself, and shows the errors of a code without leaving the page.
  const isSentByScript = !response.request().isNavigationRequest();
  const shown = isSentByScript ? page.waitForSelector('main [aria-invalid="true"]') : navigation;
  await Promise.any([navigation, shown]);
  return response.status();
}

longTest('a rejected form is accessible, and says at its field what is wrong', async () => {
  const faults: string[] = [];
  for (const route of rejecting) {
    const page = pages.find((each) => each.route === route) ?? assert.fail(route);
    const [visitor] = page.visitors;
    await signInAgain(shop, visitor);
    const expected = [/^status 4\d\d: POST .*\/till\/find$/];
    const as = browserOf(shop, visitor);
    await using window = await chromium.window(serviceOf(shop, visitor), { as, expected });
    await window.open(await page.path(shop, visitor));
    const status = await submitEmpty(window);
    const explained = await window.page.evaluate(() => {
      const field = document.querySelector('main [aria-invalid="true"]');
      const ids = field?.getAttribute('aria-describedby')?.split(' ') ?? [];
      const atField = ids.some((id) => (document.getElementById(id)?.textContent ?? '') !== '');
      return atField || document.querySelector('main [role="alert"], main .error') !== null;
    });
    const found = [
      ...(status >= 400 && status < 500 ? [] : [`status ${status}`]),
      ...(explained ? [] : ['no message']),
      ...(await documentFaults(window.page, 'en')),
      ...(await visibleFaults(window, false)),
      ...(await layoutFaults(window)),
    ];
    faults.push(...found.map((fault) => `${route}: ${fault}`));
  }
  assert.deepEqual(faults, []);
});

longTest('pages of errors are accessible', async () => {
  const errors = [
    ['cashier', '/staff', 403],
    ['pin', '/account', 403],
    ['owner', '/cards/1', 404],
    ['owner', '/cards?reference=none', 200],
  ] as const;
  const faults: string[] = [];
  for (const [visitor, path, expected] of errors) {
    await signInAgain(shop, visitor);
    await using window = await chromium.window(shop.service, { as: browserOf(shop, visitor) });
    const status = await window.open(path);
    const found = [
      ...(status === expected ? [] : [`status ${status}`]),
      ...(await documentFaults(window.page, 'en')),
      ...(await linkFaults(window, browserOf(shop, visitor), visitor)),
      ...(await visibleFaults(window, false)),
      ...(await layoutFaults(window)),
    ];
    faults.push(...found.map((fault) => `${path} as ${visitor}: ${fault}`));
  }
  assert.deepEqual(faults, []);
});
