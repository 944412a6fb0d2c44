/**
 * The service worker of the pages of recipients. Without a connection it responds with the page and the files that
 * `recipient-offline.js` has kept; otherwise pages come from the service. No page that it has contains a code.
 */

/** @typedef {Event & { request: Request, respondWith(response: Promise<Response>): void }} Fetching */

const cacheName = 'largesse-recipient';
/** A connection that is slower counts as none, if there is a kept page. */
const pageTimeoutMs = 5_000;

/** @param {Request} request */
async function keptFor(request) {
  const options = { cacheName, ignoreVary: true };
  const exact = await caches.match(request, options);
  if (exact || request.mode !== 'navigate') return exact;
  // The page in another language is better than none.
  return await caches.match(request, { ...options, ignoreSearch: true });
}

/** @param {Request} request */
async function load(request) {
  const kept = await keptFor(request);
  if (!kept) return await fetch(request);
  // Files never change: their URLs contain a hash.
  if (request.mode !== 'navigate') return kept;
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(pageTimeoutMs) });
    return response.status >= 500 ? kept : response;
  } catch {
    return kept;
  }
}

addEventListener('fetch', (event) => {
  const fetching = /** @type {Fetching} */ (event);
  const { request } = fetching;
  const { origin } = new URL(request.url);
  if (request.method === 'GET' && origin === location.origin) fetching.respondWith(load(request));
});
