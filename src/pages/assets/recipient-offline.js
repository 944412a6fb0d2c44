/**
 * The page of recipients without a connection. It keeps two things in the browser, if the connection is encrypted:
 *
 * - the page without a card, and its files, with which the service worker responds;
 * - a copy of each shown card whose code the service generated, encrypted with a key from the code. So only a person who has the code, in the link of the
 *   email or in the tab, can open it. Copies are deleted after 30 days, and when the card can no longer be used.
 */

const pagesName = 'largesse-recipient';
const copiesName = 'largesse-cards';
const copiesMax = 5;
const copyDaysMax = 30;
const dayMs = 24 * 60 * 60 * 1_000;
/** A guess costs time, in addition to the 80 random bits of a code. */
const iterations = 600_000;
const vectorLength = 12;
const savedAtHeader = 'saved-at';

/** A copy: the document, and the time (ms) after which the card has expired; null: never. */
/** @typedef {{ html: string, until: number | null }} Copy */

const isPossible = isSecureContext && 'caches' in globalThis && 'serviceWorker' in navigator;

/** The canonical form of a code, as the pages of the service contain it. @param {string} text */
function canonical(text) {
  return (text.split('#').at(-1) ?? '').replace(/[^0-9a-z]/gi, '').toLowerCase();
}

/** The place of a copy, and its key: neither reveals the other, or the code. @param {string} page @param {string} code */
async function derive(page, code) {
  const encoder = new TextEncoder();
  const material = await crypto.subtle.importKey('raw', encoder.encode(canonical(code)), 'PBKDF2', false, [
    'deriveBits',
  ]);
  const salt = encoder.encode(location.origin + page);
  const secret = await crypto.subtle.deriveBits(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations },
    material,
    256,
  );
  /** @param {string} purpose */
  const partFor = async (purpose) =>
    await crypto.subtle.digest('SHA-256', await new Blob([secret, purpose]).arrayBuffer());
  const name = Array.from(new Uint8Array(await partFor('place')), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
  const key = await crypto.subtle.importKey('raw', await partFor('key'), 'AES-GCM', false, [
    'encrypt',
    'decrypt',
  ]);
  return { place: `${page}/card/${name}`, key };
}

/** Deletes old copies, and all but the newest. @param {Cache} cache */
async function deleteOld(cache) {
  const dated = [];
  for (const request of await cache.keys()) {
    const savedAt = Number((await cache.match(request))?.headers.get(savedAtHeader));
    dated.push({ request, savedAt });
  }
  dated.sort((one, other) => other.savedAt - one.savedAt);
  const oldest = Date.now() - copyDaysMax * dayMs;
  for (const [index, { request, savedAt }] of dated.entries())
    if (index >= copiesMax || !(savedAt >= oldest)) await cache.delete(request);
}

/**
 * Keeps the page without a card, its files and the drawing of the card, and registers the worker.
 * @param {string} worker @param {Document} found
 */
async function keepPage(worker, found) {
  await navigator.serviceWorker.register(worker);
  await document.fonts.ready;
  const folder = new URL('.', import.meta.url).href;
  const files = performance.getEntriesByType('resource').map(({ name }) => name);
  const wanted = new Set([
    location.pathname + location.search,
    ...files.filter((name) => name.startsWith(folder)),
    new URL('recipient-image.js', folder).href,
    ...Array.from(found.images, (image) => new URL(image.getAttribute('src') ?? '', folder).href),
  ]);
  const kept = await (await caches.open(pagesName)).keys();
  // After an upgrade, kept pages name files of the version before.
  if (kept.some(({ url }) => url.includes('/assets/') && !url.startsWith(folder)))
    await caches.delete(pagesName);
  const cache = await caches.open(pagesName);
  for (const url of wanted) if (!(await cache.match(url, { ignoreVary: true }))) await cache.add(url);
}

/**
 * Keeps what the page shows, or deletes the copy of a card that can no longer be used, or whose code was chosen.
 * @param {Document} found the response of the service @param {{ page: string, worker: string, code: string }} shown
 */
export async function keepCard(found, { page, worker, code }) {
  if (!isPossible) return;
  try {
    const card = found.querySelector('[data-until]');
    const html = found.documentElement.outerHTML;
    const { place, key } = await derive(page, code);
    const cache = await caches.open(copiesName);
    if (!(card instanceof HTMLElement)) return void (await cache.delete(place));
    const until = Date.parse(card.dataset['until'] ?? '');
    const copy = JSON.stringify({ html, until: Number.isNaN(until) ? null : until });
    const iv = crypto.getRandomValues(new Uint8Array(vectorLength));
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new TextEncoder().encode(copy));
    const headers = { [savedAtHeader]: String(Date.now()) };
    await cache.put(place, new Response(new Blob([iv, sealed]), { headers }));
    await deleteOld(cache);
    await keepPage(worker, found);
  } catch {
    // A private window, or no space: the page needs a connection.
  }
}

/** Whether this browser has a copy of a card, perhaps of another one. */
export async function hasCopies() {
  if (!isPossible) return false;
  try {
    const cache = await caches.open(copiesName);
    await deleteOld(cache);
    return (await cache.keys()).length > 0;
  } catch {
    return false;
  }
}

/**
 * The copy of a card, and its time (ms); null: there is none, or the card has expired since.
 * @param {string} page @param {string} code @returns {Promise<{ found: Document, savedAt: number } | null>}
 */
export async function openCopy(page, code) {
  if (!(await hasCopies())) return null;
  try {
    const { place, key } = await derive(page, code);
    const cache = await caches.open(copiesName);
    const kept = await cache.match(place);
    if (!kept) return null;
    const bytes = new Uint8Array(await kept.arrayBuffer());
    const [iv, sealed] = [bytes.slice(0, vectorLength), bytes.slice(vectorLength)];
    const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed);
    const { html, until } = /** @type {Copy} */ (JSON.parse(new TextDecoder().decode(opened)));
    if (until !== null && until <= Date.now()) {
      await cache.delete(place);
      return null;
    }
    const found = new DOMParser().parseFromString(html, 'text/html');
    return { found, savedAt: Number(kept.headers.get(savedAtHeader)) };
  } catch {
    return null;
  }
}
