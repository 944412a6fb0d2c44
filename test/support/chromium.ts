/**
 * A real browser for tests of the pages. A window fails its test for what a visitor's browser reports: errors of scripts
 * and of the content security policy, failed requests, and requests to another origin.
 */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser as Puppeteer, HTTPRequest, Page, Viewport } from 'puppeteer-core';
import { deadlineIn } from './deadline.ts';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import type { Browser } from './browser.ts';
import { chromiumPrograms, type ChromiumProgram } from './chromium-program.ts';
import { join, openStoreWithStaff } from './console.ts';
import { makeScratchFolder } from './scratch.ts';
import type { TestService } from './service.ts';

export type { Page };

export type WindowOptions = {
  /** Whether scripts of the pages run. Default: true. */
  readonly javaScript?: boolean;
  /** Default: 1280 × 800. */
  readonly viewport?: Viewport;
  /** Default: light. */
  readonly colorScheme?: 'light' | 'dark';
  /** The preferred language of the browser, such as `de-DE`. Default: `en-US`. */
  readonly locale?: string;
  /** The browser starts with the cookies of this one. */
  readonly as?: Browser;
  /** Complaints that the test provokes. */
  readonly expected?: readonly RegExp[];
};

/** A window with its own cookies. */
export type Window = AsyncDisposable & {
  /** Its first tab. */
  readonly page: Page;
  /** `http://localhost:<port>` and the path. */
  readonly url: (path: string) => string;
  /** Requests a page in the first tab, and returns its status. */
  readonly open: (path: string) => Promise<number>;
  readonly newPage: () => Promise<Page>;
  /** Returns the errors so far, without expected ones. */
  readonly complaints: () => readonly string[];
  /** Every request so far: `GET <url>`, with the headers. */
  readonly requests: () => readonly HTTPRequest[];
};

export type Chromium = AsyncDisposable & {
  readonly version: string;
  /** Returns the errors in all windows since the last call. */
  readonly takeComplaints: () => readonly string[];
  readonly window: (service: Pick<TestService, 'url'>, options?: WindowOptions) => Promise<Window>;
};

/** Requests go only to this machine, and nothing is downloaded. */
const args = [
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
  '--no-first-run',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
];

// Limits of a busy machine: the runner ends a file that hangs.
const startTimeoutMs = 300_000;
const protocolTimeoutMs = 600_000;

async function launch({ path, environment }: ChromiumProgram, more: readonly string[]): Promise<Chromium> {
  const { default: puppeteer } = await import('puppeteer-core');
  const folder = makeScratchFolder('chromium-');
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const browser = await puppeteer.launch({
      executablePath: path,
      pipe: true,
      timeout: startTimeoutMs,
      protocolTimeout: protocolTimeoutMs,
      userDataDir: folder,
      // The sandbox does not work for root.
      args: [...args, ...more, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
      env: { PATH: process.env['PATH'], HOME: folder, LANG: 'C.UTF-8', ...environment },
    });
    const windows = new Set<Window>();
    return {
      version: await browser.version(),
      takeComplaints() {
        const complaints = [...windows].flatMap((window) => window.complaints());
        windows.clear();
        return complaints;
      },
      async window(service, options) {
        const window = await openWindow(browser, service, options);
        windows.add(window);
        return window;
      },
      async [Symbol.asyncDispose]() {
        await browser.close();
        removeFolder();
      },
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

/** Starts the first browser that runs; null if none does. @param more arguments of the browser. */
export async function findChromium(more: readonly string[] = []): Promise<Chromium | null> {
  for await (const program of chromiumPrograms()) {
    try {
      return await launch(program, more);
    } catch {
      // The next one may run, for example because it brings its libraries.
    }
  }
  return null;
}

/** Starts a browser for all tests of a file. A test fails if its windows had complaints. @throws Error if no browser runs. */
export async function openChromium(more: readonly string[] = []): Promise<Chromium> {
  const chromium = await findChromium(more);
  if (!chromium)
    throw new Error('no Chrome or Chromium runs on this machine: install one, or set CHROME_PATH');
  // A window that threw when it is disposed would hide the failure of its test.
  afterEach(() => assert.deepEqual(chromium.takeComplaints(), [], 'the browser complains'));
  return chromium;
}

async function openWindow(
  browser: Puppeteer,
  { url: base }: Pick<TestService, 'url'>,
  {
    javaScript = true,
    viewport = { width: 1280, height: 800 },
    colorScheme = 'light',
    locale = 'en-US',
    as,
    expected = [],
  }: WindowOptions = {},
): Promise<Window> {
  const { port } = new URL(base);
  const origin = `http://localhost:${port}`;
  const complaints: string[] = [];
  const requests: HTTPRequest[] = [];
  const context = await browser.createBrowserContext();
  if (as) {
    const cookies = Array.from(as.cookies, ([name, value]) => ({
      name,
      value,
      domain: 'localhost',
      path: '/',
      httpOnly: true,
      secure: false,
      sameSite: 'Lax' as const,
    }));
    await context.setCookie(...cookies);
  }
  const watch = (page: Page): void => watchPage(page, { origin, complaints, requests });
  const newPage = async (): Promise<Page> => {
    const page = await context.newPage();
    watch(page);
    await page.setViewport(viewport);
    await page.setJavaScriptEnabled(javaScript);
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: colorScheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
    const client = await page.createCDPSession();
    const userAgent = await browser.userAgent();
    await client.send('Network.setUserAgentOverride', { userAgent, acceptLanguage: locale });
    await client.send('Emulation.setLocaleOverride', { locale });
    return page;
  };
  const page = await newPage();
  const url = (path: string): string => `${origin}${path}`;
  const unexpected = (): readonly string[] =>
    complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)));
  return {
    page,
    url,
    newPage,
    async open(path) {
      const response = await page.goto(url(path));
      assert.ok(response, path);
      return response.status();
    },
    complaints: unexpected,
    requests: () => requests,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** The browser logs each response with an error status, the page itself included: `watchPage` checks them. */
const statusLogged = /^Failed to load resource: the server responded with a status of/;

function watchPage(
  page: Page,
  {
    origin,
    complaints,
    requests,
  }: {
    readonly origin: string;
    readonly complaints: string[];
    readonly requests: HTTPRequest[];
  },
): void {
  const isOwn = (url: string): boolean =>
    url === 'about:blank' || url.startsWith('data:') || URL.parse(url)?.origin === origin;
  page.on('console', (message) => {
    const [type, text] = [message.type(), message.text()];
    if (type === 'error' && !statusLogged.test(text)) complaints.push(`console: ${text}`);
  });
  page.on('pageerror', (error) => complaints.push(`script: ${String(error)}`));
  page.on('request', (request) => {
    requests.push(request);
    if (!isOwn(request.url())) complaints.push(`request to another origin: ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A page that is left ends its requests.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`request failed: ${request.url()}: ${reason}`);
  });
  page.on('response', (response) => {
    const request = response.request();
    const status = response.status();
    const isPage = request.isNavigationRequest();
    if (status >= 500 || (status >= 400 && !isPage))
      complaints.push(`status ${status}: ${request.method()} ${response.url()}`);
  });
}

const tryAgainMs = 50;
const backMaxMs = 10_000;

/**
 * Goes back, as a visitor does, and waits until the page is complete. While Chromium shows a page from its back/forward
 * cache, navigation fails with `Not attached to an active page`.
 */
export async function goBack(page: Page): Promise<void> {
  for (const deadline = deadlineIn(backMaxMs); ;) {
    try {
      await page.goBack();
      await page.waitForFunction("document.readyState === 'complete'");
      return;
    } catch (error) {
      if (deadline.isOver() || !/Not attached to an active page/.test(String(error))) throw error;
      await wait(tryAgainMs);
    }
  }
}

/** Types as a scanner does, which ends with Enter: no key waits for another one, even on a slow machine. */
export async function typeAsScanner(page: Page, code: string): Promise<void> {
  await Promise.all([...code.split(''), 'Enter'].map((key) => page.keyboard.press(key as 'A')));
}

export type SignedInWindow = Window & { readonly service: TestService; readonly browser: Browser };

/** Starts a service with a store and a member of staff, and opens a window in which the member is signed in. */
export async function signedIn(
  chromium: Chromium,
  role: Role,
  {
    environment,
    ...options
  }: Omit<WindowOptions, 'as'> & { readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<SignedInWindow> {
  const service = await openStoreWithStaff(environment);
  try {
    const browser = await join(service, role);
    const window = await chromium.window(service, { ...options, as: browser });
    return {
      ...window,
      service,
      browser,
      async [Symbol.asyncDispose]() {
        try {
          await window[Symbol.asyncDispose]();
        } finally {
          await service[Symbol.asyncDispose]();
        }
      },
    };
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}
