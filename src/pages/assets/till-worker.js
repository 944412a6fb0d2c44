/**
 * The service worker of the till. It shows one page of its own when a page of the till cannot be loaded, and never responds
 * from its cache otherwise. It sends nothing again: after a lost form it says that the result is unknown.
 *
 * The server writes `till` before this script, so the browser installs it again when a file has changed.
 */

/** @typedef {{ version: string, scope: string, page: string, files: readonly string[] }} Till */
/** @typedef {Event & { waitUntil(work: Promise<unknown>): void }} Lasting */
/** @typedef {Lasting & { request: Request, preloadResponse: Promise<Response | undefined>, respondWith(response: Promise<Response>): void }} Fetching */
/**
 * @typedef {{
 *   till: Till,
 *   skipWaiting(): Promise<void>,
 *   clients: { claim(): Promise<void> },
 *   registration: { navigationPreload?: { enable(): Promise<void> } },
 * }} Worker
 */

const worker = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
const { version, scope, page, files } = worker.till;
const prefix = 'largesse-till-';
const cacheName = `${prefix}${version}`;
/** A page is given up after this time. A form is not, because it may have arrived. */
const pageTimeoutMs = 10_000;

async function install() {
  const cache = await caches.open(cacheName);
  await cache.addAll([page, ...files]);
  await worker.skipWaiting();
}

async function activate() {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(prefix) && name !== cacheName).map((name) => caches.delete(name)),
  );
  await worker.registration.navigationPreload?.enable();
  await worker.clients.claim();
}

/** @param {Fetching} event */
async function load({ request, preloadResponse }) {
  if (request.method !== 'GET') return await fetch(request);
  const { promise: late, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(new Error('the page is late')), pageTimeoutMs);
  try {
    const loaded = preloadResponse.then((preloaded) => preloaded ?? fetch(request));
    return /** @type {Response} */ (await Promise.race([loaded, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {Fetching} event */
async function loadOrExplain(event) {
  try {
    return await load(event);
  } catch {
    const own = await caches.match(page);
    if (!own) return Response.error();
    const lost = event.request.method === 'GET' ? 'page' : 'form';
    const body = (await own.text()).replace('<main ', `<main data-lost="${lost}" `);
    return new Response(body, { status: 503, headers: own.headers });
  }
}

/** @param {Request} request */
async function loadFile(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match(request)) ?? Response.error();
  }
}

addEventListener('install', (event) => /** @type {Lasting} */ (event).waitUntil(install()));
addEventListener('activate', (event) => /** @type {Lasting} */ (event).waitUntil(activate()));
addEventListener('fetch', (event) => {
  const fetching = /** @type {Fetching} */ (event);
  const { request } = fetching;
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin) return;
  if (request.mode === 'navigate' && (pathname === scope || pathname.startsWith(`${scope}/`)))
    fetching.respondWith(loadOrExplain(fetching));
  else if (request.method === 'GET' && files.includes(pathname)) fetching.respondWith(loadFile(request));
});
