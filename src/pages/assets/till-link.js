/**
 * An amount that the register passes to the till: `/till#amount=12.50&reference=R-1042`. The browser does not send what is
 * after `#`. The tab keeps it until a redemption is submitted with it, a person removes it, or ten minutes have passed.
 */

import { fill, formatsOf } from './amount.js';

/** @typedef {{ amount: string, reference: string }} Linked */

const storageName = 'largesse-till-amount';
const keptMs = 10 * 60_000;
const fragmentLengthMax = 1_000;
/** It has a point in every language. */
const amountForm = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,4})?$/;
/** Visible characters of one line. */
const referenceForm = /^[^\p{C}\p{Zl}\p{Zp}]{0,100}$/u;

/** @param {string} fragment without `#` @returns {Linked | null} */
function parseLinked(fragment) {
  if (fragment.length > fragmentLengthMax) return null;
  const parameters = new URLSearchParams(fragment);
  const names = [...parameters.keys()];
  const [amount, reference] = [parameters.get('amount') ?? '', parameters.get('reference') ?? ''];
  const isKnown = names.every((name) => ['amount', 'reference'].includes(name));
  if (!isKnown || new Set(names).size < names.length) return null;
  if (!amountForm.test(amount) || !/[1-9]/.test(amount) || !referenceForm.test(reference)) return null;
  return { amount, reference: reference.trim() };
}

/** @param {string} text a URL, or the fragment of one */
export function isLink(text) {
  return /(?:^|\/till)#(?:amount|reference)=/.test(text);
}

/** Keeps the amount of a link; one that is not valid replaces an earlier one as well. @param {string} link */
export function keepLinked(link) {
  const linked = parseLinked(link.slice(link.indexOf('#') + 1));
  const kept = {
    ...(linked ?? { amount: '', reference: '' }),
    at: performance.timeOrigin + performance.now(),
  };
  try {
    sessionStorage.setItem(storageName, JSON.stringify(kept));
  } catch {
    // Without storage, the amount is typed.
  }
}

/** Takes the amount out of the address of the page. @returns {boolean} false: there was none */
export function takeLinked() {
  const { hash, pathname, search } = location;
  if (!isLink(hash)) return false;
  keepLinked(hash);
  history.replaceState(null, '', pathname + search);
  return true;
}

export function dropLinked() {
  try {
    sessionStorage.removeItem(storageName);
  } catch {
    // Nothing was kept.
  }
}

/** @returns {Linked | null} its amount is empty if the link was not valid */
function readLinked() {
  try {
    const kept = /** @type {(Linked & { at: number }) | null} */ (
      JSON.parse(sessionStorage.getItem(storageName) ?? 'null')
    );
    if (!kept) return null;
    const age = performance.timeOrigin + performance.now() - kept.at;
    if (age >= 0 && age < keptMs) return kept;
    dropLinked();
    return null;
  } catch {
    return null;
  }
}

/** Fills the form that redeems, unless it has an amount. @param {HTMLFormElement} form */
export function fillLinked(form) {
  const linked = readLinked();
  const [amount, reference] = ['amount', 'reference'].map((name) => form.elements.namedItem(name));
  if (!linked || !(amount instanceof HTMLInputElement) || amount.type === 'hidden' || amount.value !== '')
    return;
  const { currency = '', decimals = '2' } = form.dataset;
  const { point, parse } = formatsOf(currency, Number(decimals));
  const typed = linked.amount.replace('.', point);
  if (parse(typed) === null) return;
  amount.value = typed;
  if (!(reference instanceof HTMLInputElement) || linked.reference === '') return;
  reference.value = linked.reference;
  // It stays folded away, and is shown.
  const shown = reference.closest('details')?.querySelector('summary');
  if (shown) shown.dataset['value'] = linked.reference;
}

/** Shows on the first page what the register has passed. @param {HTMLElement} notice */
export function showLinked(notice) {
  const linked = readLinked();
  notice.hidden = linked === null;
  const text = notice.querySelector('span');
  if (!linked || !text) return;
  const { currency = '', decimals = '2', text: pattern = '', invalid = '' } = notice.dataset;
  const { point, parse, shown } = formatsOf(currency, Number(decimals));
  const minor = parse(linked.amount.replace('.', point));
  text.textContent =
    minor === null
      ? invalid
      : [linked.reference, fill(pattern, { amount: shown(minor) })].filter((part) => part !== '').join(' · ');
  notice.querySelector('button')?.addEventListener('click', () => {
    dropLinked();
    notice.hidden = true;
  });
}
