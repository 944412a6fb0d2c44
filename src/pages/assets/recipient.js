/**
 * The page of recipients: shows the card whose code the tab keeps, so that Back, reload and a restored tab show it again,
 * also without a connection. Without this script, the form of the page shows the card.
 */

import { prepareButtons } from './console.js';
import { hasCopies, keepCard, openCopy } from './recipient-offline.js';

const { page = '', worker = '' } = document.getElementById('recipient')?.dataset ?? {};
const storageName = `largesse-card ${page}`;
const timeoutMs = 20_000;
/** Shorter, because a browser with copies can show one. */
const timeoutWithCopyMs = 6_000;

/** @typedef {{ code: string, email: string }} Typed The code, and the address that the form can ask for. */

/** @param {Typed} typed @returns {boolean} false: the browser keeps nothing for this site */
function keep(typed) {
  try {
    sessionStorage.setItem(storageName, JSON.stringify(typed));
    return true;
  } catch {
    return false;
  }
}

/** @returns {Typed | null} */
function kept() {
  try {
    return /** @type {Typed | null} */ (JSON.parse(sessionStorage.getItem(storageName) ?? 'null'));
  } catch {
    return null;
  }
}

function forget() {
  try {
    sessionStorage.removeItem(storageName);
  } catch {
    // Nothing was kept.
  }
}

/** Takes the code after `#`, which the browser does not send with the address. @returns {string | null} */
function takeLinkedCode() {
  const { hash, pathname, search } = location;
  // A link to a part of the page, such as the content.
  if (hash.length < 2 || document.getElementById(hash.slice(1))) return null;
  // First, so that the address bar and the history do not keep the code.
  history.replaceState(null, '', pathname + search);
  try {
    return decodeURIComponent(hash.slice(1)).slice(0, 100);
  } catch {
    // The link was damaged: the page has the form.
    return null;
  }
}

/**
 * Searches as the form does, with the same limits and errors.
 * @param {Typed} typed @returns {Promise<Document | null>} null: the service did not respond
 */
async function find({ code, email }) {
  const body = new URLSearchParams(email === '' ? { code } : { code, email });
  try {
    const signal = AbortSignal.timeout((await hasCopies()) ? timeoutWithCopyMs : timeoutMs);
    const response = await fetch(page + location.search, { method: 'POST', body, signal });
    const found = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (!found.getElementById('recipient')) return null;
    // A code that is wrong is not searched again. One that is over a limit can be.
    if (response.status === 404 || response.status === 422) forget();
    if (response.status === 200 || response.status === 404) void keepCard(found, { page, worker, code });
    return found;
  } catch {
    return null;
  }
}

const openedName = `largesse-gifts ${page}`;
const openedMax = 20;

/**
 * Folds the present of a card that this browser has shown before. The browser keeps when such cards were issued, and nothing
 * else of them.
 * @param {ParentNode} shown
 */
function foldOpened(shown) {
  const gift = shown.querySelector('details[data-gift]');
  if (!(gift instanceof HTMLDetailsElement)) return;
  const { gift: own = '' } = gift.dataset;
  try {
    const opened = (localStorage.getItem(openedName) ?? '').split(' ');
    if (opened.includes(own)) gift.open = false;
    else localStorage.setItem(openedName, [own, ...opened].slice(0, openedMax).join(' ').trim());
  } catch {
    // The browser keeps nothing for this site.
  }
}

let searches = 0;

/** Hides the page. @returns {readonly (Element | undefined)[]} the notice that the card is loaded, and that it is not */
function showWaiting() {
  const waiting = document.getElementById('waiting');
  for (const part of waiting?.parentElement?.children ?? [])
    if (part instanceof HTMLElement) part.hidden = part !== waiting && part.tagName !== 'H1';
  const [loading, failed] = waiting?.children ?? [];
  loading?.removeAttribute('hidden');
  failed?.setAttribute('hidden', '');
  return [loading, failed];
}

/** @param {Typed} typed @param {{ isCopyShown?: boolean }} [state] */
async function show(typed, { isCopyShown = false } = {}) {
  const [loading, failed] = isCopyShown ? [] : showWaiting();
  searches += 1;
  const own = searches;
  const found = await find(typed);
  // The link of another card was opened.
  if (own !== searches) return;
  if (found) return replacePage(found, typed);
  const copy = isCopyShown ? null : await openCopy(page, typed.code);
  if (own !== searches) return;
  if (copy) {
    replacePage(copy.found, typed);
    showTime(copy.savedAt);
  } else {
    loading?.setAttribute('hidden', '');
    failed?.removeAttribute('hidden');
  }
  const retry = new AbortController();
  const again = () => {
    retry.abort();
    void show(typed, { isCopyShown: isCopyShown || copy !== null });
  };
  failed?.querySelector('button')?.addEventListener('click', again, { signal: retry.signal });
  addEventListener('online', again, { signal: retry.signal });
}

/** @param {Document} found @param {Typed} typed */
function replacePage(found, { code }) {
  const shown = found.getElementById('recipient');
  if (!shown) return;
  const { lang, dir } = found.documentElement;
  Object.assign(document.documentElement, { lang, dir });
  document.title = found.title;
  foldOpened(shown);
  document.getElementById('recipient')?.replaceWith(document.adoptNode(shown));
  prepareButtons(shown);
  const field = document.getElementById('code');
  if (!(field instanceof HTMLInputElement)) return;
  // The server does not repeat a code that was not found.
  field.value = code;
  field.focus();
}

/** Says that the shown card is a copy. @param {number} savedAt in ms */
function showTime(savedAt) {
  const notice = document.getElementById('saved');
  if (!notice) return;
  const { lang } = document.documentElement;
  const time = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' }).format(savedAt);
  notice.textContent = (notice.dataset['text'] ?? '').replace('{time}', time);
  notice.hidden = false;
}

function open() {
  const linked = takeLinkedCode();
  const typed = linked === null ? kept() : { code: linked, email: '' };
  if (!typed) return;
  // The entry of the history has what was typed into the address bar, until another page replaces it.
  if (linked !== null && keep(typed)) location.replace(location.pathname + location.search);
  else void show(typed);
}

document.addEventListener('submit', (event) => {
  const { target, submitter } = event;
  if (!(target instanceof HTMLFormElement)) return;
  const fields = new FormData(target);
  const [code, email] = [fields.get('code'), fields.get('email') ?? ''];
  if (typeof code !== 'string' || typeof email !== 'string' || !keep({ code, email })) return;
  event.preventDefault();
  const { search: language } = new URL(
    submitter instanceof HTMLButtonElement && submitter.hasAttribute('formaction')
      ? submitter.formAction
      : target.action,
  );
  location.assign(`${page}/card${language}`);
});

document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return;
  if (target.closest('[data-forget]')) forget();
  if (target.closest('[data-image]'))
    void import('./recipient-image.js').then(({ saveImage }) => saveImage());
});

/* The code on the whole screen, which stays on at the counter. */

/** @type {Promise<WakeLockSentinel | undefined> | undefined} */
let wakeLock;
document.addEventListener(
  'toggle',
  (event) => {
    if (!(event instanceof ToggleEvent) || !(event.target instanceof HTMLElement)) return;
    // The page now begins with the present, or with the code.
    if (event.target.matches('[data-gift]')) scrollTo({ top: 0 });
    if (event.target.id !== 'full') return;
    // A browser can reject it, for example with an empty battery.
    if (event.newState === 'open') wakeLock = navigator.wakeLock?.request('screen').catch(() => undefined);
    else void wakeLock?.then((lock) => lock?.release());
  },
  true,
);

if (document.querySelector('[data-opens]')) {
  open();
  // The link of another card, opened in this tab.
  addEventListener('hashchange', open);
} else {
  // The result of a form, such as that of another site, becomes a page that can be reloaded.
  const code = document.querySelector('.languages input[name="code"]');
  const email = document.querySelector('.languages input[name="email"]');
  const typed = {
    code: code instanceof HTMLInputElement ? code.value : '',
    email: email instanceof HTMLInputElement ? email.value : '',
  };
  foldOpened(document);
  const isKept = typed.code !== '' && keep(typed);
  if (typed.code !== '') void keepCard(document, { page, worker, code: typed.code });
  history.replaceState(null, '', isKept ? `${page}/card${location.search}` : location.href);
}
