/** Redemptions that were left while their result was unknown: they contain no code. Each is checked until it is known. */

import { fill } from './amount.js';

const storageName = 'largesse-till-pending';
const pendingMax = 20;

/** @typedef {{ key: string, check: string, amount: string, shown: string, tail: string, member: string, isCancelled: boolean }} Pending */

/** @returns {Pending[]} */
export function readPending() {
  try {
    const found = /** @type {unknown} */ (JSON.parse(localStorage.getItem(storageName) ?? '[]'));
    return Array.isArray(found) ? /** @type {Pending[]} */ (found) : [];
  } catch {
    return [];
  }
}

/** @param {Pending[]} list */
function writePending(list) {
  try {
    localStorage.setItem(storageName, JSON.stringify(list.slice(-pendingMax)));
  } catch {
    // Without storage, the check ends with the page.
  }
}

/** @param {Pending} pending */
export function keepPending(pending) {
  writePending([...readPending().filter(({ key }) => key !== pending.key), pending]);
}

/** @param {string} key */
export function dropPending(key) {
  writePending(readPending().filter((pending) => pending.key !== key));
}

/**
 * `none`: nothing was redeemed, `old`: it is no longer known, `other`: another page, such as the sign-in, is first.
 * @typedef {'redeemed' | 'undone' | 'none' | 'old' | 'other' | 'unknown'} Known
 */

export const timeoutMs = 8_000;

/** Finds out what became of a redemption, and undoes it if it was cancelled. @param {Pending} pending @returns {Promise<Known>} */
export async function check({ check: path, isCancelled }) {
  try {
    const [page = ''] = path.split('?', 1);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = isCancelled
      ? await fetch(`${page}/cancel`, { method: 'POST', signal })
      : await fetch(path, { signal });
    if (response.status >= 500) return 'unknown';
    const text = await response.text();
    switch (/data-result="(\w+)"/.exec(text)?.[1]) {
      case 'redeemed':
        return 'redeemed';
      case 'undone':
      case 'cancelled':
        return 'undone';
      case 'none':
        return 'none';
      case 'old':
        return 'old';
      default:
        return 'other';
    }
  } catch {
    return 'unknown';
  }
}

/** The page that shows what is known. @param {Pending} pending @param {Known} known */
export function pathOf({ check: path }, known) {
  const [result = ''] = path.split('?', 1);
  return known === 'redeemed' || known === 'undone' ? result : path;
}

const delaysMs = [1_000, 1_000, 2_000, 3_000, 5_000, 10_000];

/** @param {number} attempt */
export function delayOf(attempt) {
  return delaysMs[Math.min(attempt, delaysMs.length - 1)] ?? 10_000;
}

/** @param {number} ms @returns {Promise<void>} */
function wait(ms) {
  const { promise, resolve } = Promise.withResolvers();
  setTimeout(resolve, ms);
  return promise;
}

/* The list of redemptions that are still being checked. */

/** @param {HTMLElement} section */
export function showPending(section) {
  const list = section.querySelector('ul');
  const {
    member,
    checking = '',
    redeemed = '',
    undone = '',
    not = '',
    old = '',
    show = '',
  } = section.dataset;
  const own = readPending().filter((pending) => member === undefined || pending.member === member);
  if (!list || own.length === 0) return;
  section.hidden = false;
  const texts = { redeemed, undone, none: not, old, other: checking, unknown: checking };
  for (const pending of own) {
    const { tail } = pending;
    const item = document.createElement('li');
    const text = document.createElement('span');
    const link = document.createElement('a');
    link.className = 'button';
    link.textContent = show;
    item.append(text, link);
    list.append(item);
    /** @param {Known} known */
    const state = (known) => {
      text.textContent = fill(texts[known], { amount: pending.shown, tail });
      item.dataset['state'] = known;
      link.href = pathOf(pending, known);
    };
    state('unknown');
    void resolvePending(pending, state);
  }
}

/** @param {Pending} pending @param {(known: Known) => void} show */
async function resolvePending(pending, show) {
  for (let attempt = 0; ; attempt += 1) {
    const known = await check(pending);
    show(known);
    if (known !== 'unknown' && known !== 'other') return;
    await wait(delayOf(attempt));
  }
}
