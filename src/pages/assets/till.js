/**
 * The till: scanner, and redemptions whose result is unknown. Every page works without it; the texts come from the page.
 */

import { addAmountEntry, formatsOf } from './amount.js';
import {
  check,
  delayOf,
  dropPending,
  keepPending,
  pathOf,
  readPending,
  showPending,
  timeoutMs,
} from './pending.js';
import { lastScan } from './scanner.js';
import { dropLinked, fillLinked, isLink, keepLinked, showLinked, takeLinked } from './till-link.js';

/** @typedef {import('./pending.js').Pending} Pending */

/** @param {string} id */
function byId(id) {
  return document.getElementById(id);
}

/** @param {ParentNode} parent @param {string} selector */
function partOf(parent, selector) {
  const part = parent.querySelector(selector);
  return part instanceof HTMLElement ? part : null;
}

const { lang: language } = document.documentElement;

/* The form that redeems. */

/** Shows that the result is unknown, and checks until it is known. @param {HTMLFormElement} form @param {Pending} pending */
function showChecking(form, pending) {
  const template = byId('checking');
  const content = byId('content');
  if (!(template instanceof HTMLTemplateElement) || !content) return;
  const state = { ...pending };
  keepPending(state);
  const page = document.createElement('div');
  page.className = 'checking';
  page.append(template.content.cloneNode(true));
  const amount = partOf(page, '[data-amount]');
  const { currency = '', decimals = '2' } = form.dataset;
  const formats = formatsOf(currency, Number(decimals));
  const minor = formats.parse(pending.amount);
  if (minor !== null) amount?.append(...formats.figure(minor));
  const tail = partOf(page, '[data-tail]');
  if (tail) tail.textContent = pending.tail;
  const time = partOf(page, '[data-time]');
  const now = new Date();
  if (time) time.textContent = new Intl.DateTimeFormat(language, { timeStyle: 'short' }).format(now);
  const { title = '', checking = '', cancelling = '' } = template.dataset;
  document.title = title;
  const header = content.querySelector('.tillbar');
  const heading = partOf(content, 'h1');
  if (heading) heading.textContent = title;
  content.classList.remove('wide');
  content.replaceChildren(...[heading, header, page].filter((part) => part !== null));

  const status = partOf(page, '[data-now]');
  let attempt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isRunning = false;
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    clearTimeout(timer);
    const known = await check(state);
    isRunning = false;
    if (known === 'unknown') {
      timer = setTimeout(() => void run(), delayOf(attempt));
      attempt += 1;
      return;
    }
    location.replace(pathOf(state, known));
  };
  partOf(page, '[data-check]')?.addEventListener('click', () => {
    attempt = 0;
    void run();
  });
  partOf(page, '[data-cancel]')?.addEventListener('click', () => {
    state.isCancelled = true;
    keepPending(state);
    if (status) status.textContent = cancelling;
    attempt = 0;
    void run();
  });
  if (status) status.textContent = checking;
  partOf(page, '[data-check]')?.focus();
  addEventListener('online', () => void run());
  timer = setTimeout(() => void run(), delayOf(0));
}

/** The fields that can be in a URL: none could be a code. The server has the same rules. */
const repeatedFields = {
  amount: /^(?:\d{1,7}|\d{1,3}[ '’]\d{3}|(?=[\d '’]*[.,])[\d .,'’]{1,20})$/,
  choice: /^\d{1,12}(?:[.,]\d{1,4})?$/,
  total: /^\d{1,12}(?:[.,]\d{1,4})?$/,
  reference: /^[\w#/-]{1,7}$/,
  currency: /^[A-Z]{3}$/,
  tail: /^[0-9a-z]{4}$/,
};

/** @param {FormData} fields @param {string} name */
function plainOf(fields, name) {
  const value = fields.get(name);
  if (typeof value !== 'string') return '';
  return value
    .slice(0, 40)
    .replace(/\p{Sc}/gu, '')
    .replace(/\s/g, ' ')
    .trim();
}

/** The query with which the server can offer to try again. @param {FormData} fields @param {string} action */
function checkQuery(fields, action) {
  const card = new URL(action).pathname.split('/').at(-1) ?? '';
  const query = new URLSearchParams({ card });
  for (const [name, form] of Object.entries(repeatedFields)) {
    const value = plainOf(fields, name);
    if (form.test(value)) query.set(name, value);
  }
  return query.toString();
}

/** @param {HTMLFormElement} form @param {() => void} prepare */
function submitWithChecks(form, prepare) {
  let isSent = false;
  let isNative = false;
  form.addEventListener('submit', (event) => {
    if (isNative) return;
    const { submitter } = event;
    const hasChoice = submitter instanceof HTMLButtonElement && submitter.name !== '';
    if (!hasChoice) prepare();
    const fields = new FormData(form, hasChoice ? submitter : null);
    // Not an amount, perhaps a scanned code: the server says so.
    if (!fields.has('choice') && !repeatedFields.amount.test(plainOf(fields, 'amount'))) return;
    event.preventDefault();
    if (isSent) return;
    isSent = true;
    // The next card must not have the amount of this one.
    dropLinked();
    const { key = '', check: checkPath = '', tail = '', member = '' } = form.dataset;
    const amount = plainOf(fields, fields.has('choice') ? 'choice' : 'amount');
    const path = `${checkPath}?${checkQuery(fields, form.action)}`;
    const { currency = '', decimals = '2' } = form.dataset;
    const formats = formatsOf(currency, Number(decimals));
    const minor = formats.parse(amount);
    const shown = minor === null ? '' : formats.shown(minor);
    const pending = { key, check: path, amount, shown, tail, member, isCancelled: false };
    void send(form, fields).then((response) => {
      if (!response || response.status >= 500) return showChecking(form, pending);
      if (response.redirected) return location.assign(response.url);
      // The page that says what is wrong. The key is the same, so nothing happens twice.
      isNative = true;
      return form.requestSubmit(hasChoice ? submitter : null);
    });
  });
  // A page from the browser's memory can be submitted again.
  addEventListener('pageshow', () => (isSent = false));
}

/** @param {HTMLFormElement} form @param {FormData} fields @returns {Promise<Response | null>} null: the connection was lost */
async function send(form, fields) {
  const body = new URLSearchParams();
  for (const [name, value] of fields) if (typeof value === 'string') body.append(name, value);
  try {
    return await fetch(form.action, { method: 'POST', body, signal: AbortSignal.timeout(timeoutMs) });
  } catch {
    return null;
  }
}

/** Adds or replaces a hidden field. @param {HTMLFormElement} form @param {string} name @param {string | null} value */
function setHidden(form, name, value) {
  const found = form.querySelector(`input[type="hidden"][name="${name}"]`);
  if (value === null) return found?.remove();
  const input = found instanceof HTMLInputElement ? found : document.createElement('input');
  Object.assign(input, { type: 'hidden', name, value });
  form.append(input);
}

takeLinked();
for (const form of document.querySelectorAll('form[data-decimals]')) {
  if (!(form instanceof HTMLFormElement)) continue;
  if (form.id === 'redeem') fillLinked(form);
  const complete = addAmountEntry(form);
  if (form.id === 'redeem')
    submitWithChecks(form, () => {
      if (!complete) return;
      const part = complete();
      // The button says how much is redeemed and the note what is left to pay, so the server does not ask again.
      setHidden(form, 'choice', part && part.choice);
      setHidden(form, 'total', part && part.total);
    });
  else if (complete) form.addEventListener('submit', () => void complete());
}

/* A result: it is known now. */

for (const shown of document.querySelectorAll('[data-result][data-key]')) {
  if (!(shown instanceof HTMLElement)) continue;
  const { key = '', result = '' } = shown.dataset;
  const pending = readPending().find((each) => each.key === key);
  if (!pending) continue;
  // It was cancelled, but another page was first, such as the sign-in.
  if (pending.isCancelled && result === 'redeemed')
    void check(pending).then((known) => {
      if (known === 'unknown' || known === 'other') return;
      dropPending(key);
      location.reload();
    });
  else dropPending(key);
}

/* The amount of the register. */

const linkedNotice = byId('linked');
if (linkedNotice) showLinked(linkedNotice);
// The till is open when the register opens the link.
addEventListener('hashchange', () => {
  if (takeLinked()) location.reload();
});

/* Scanners type a code and press Enter, wherever the focus is. */

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

const codeForm = document.querySelector('form[data-code]');
const code = codeForm?.querySelector('.code');
if (codeForm instanceof HTMLFormElement && code instanceof HTMLInputElement) {
  addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    if (key.length !== 1 || key === ' ' || ctrlKey || metaKey || altKey || isField(target)) return;
    code.focus();
  });
  keepWrongCode(codeForm, code);
}

/**
 * Shows below the field what is wrong with a code, without leaving the page, which therefore never contains the code. The
 * next scan replaces it.
 * @param {HTMLFormElement} form @param {HTMLInputElement} field
 */
function keepWrongCode(form, field) {
  const errorId = `${field.id}-error`;
  let isNative = false;
  let isSent = false;
  form.addEventListener('submit', (event) => {
    const { typed, meant } = lastScan();
    if (field.value === typed) field.value = meant;
    if (isLink(field.value)) {
      event.preventDefault();
      keepLinked(field.value);
      // The camera starts again.
      return location.reload();
    }
    // An email address leads to a list of cards.
    if (isNative || field.value.includes('@')) return;
    event.preventDefault();
    if (isSent) return;
    isSent = true;
    void send(form, new FormData(form)).then(async (response) => {
      isSent = false;
      if (response?.redirected === true) return location.assign(response.url);
      const text = response && response.status < 500 ? await response.text() : '';
      const page = new DOMParser().parseFromString(text, 'text/html');
      const error = page.getElementById(errorId);
      if (!error) {
        // Another page, which the browser shows.
        isNative = true;
        return form.requestSubmit();
      }
      byId(errorId)?.remove();
      (field.closest('.search-line') ?? field).after(error);
      error.setAttribute('role', 'alert');
      const described = page.getElementById(field.id)?.getAttribute('aria-describedby');
      field.setAttribute('aria-invalid', 'true');
      field.setAttribute('aria-describedby', described ?? errorId);
      return field.select();
    });
  });
}

const nextForm = byId('next');
if (nextForm instanceof HTMLFormElement) {
  addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (key !== 'Enter' || ctrlKey || metaKey || altKey || isField(target)) return;
    const { meant } = lastScan();
    if (meant.replace(/[^0-9A-Za-z]/g, '').length < 8) return;
    // Enter would follow the link that has the focus.
    event.preventDefault();
    const field = nextForm.elements.namedItem('code');
    if (field instanceof HTMLInputElement) field.value = meant;
    nextForm.requestSubmit();
  });
}

/* The list of redemptions that are still being checked. */

const pendingList = byId('pending');
if (pendingList) showPending(pendingList);

/* What is folded away is used when it is opened: the button at the lower edge must not cover its field. */

for (const folded of document.querySelectorAll('details.folded'))
  folded.addEventListener('toggle', () => {
    if (folded instanceof HTMLDetailsElement && folded.open) folded.querySelector('input')?.focus();
  });

/* The menu behind the name. */

const menu = document.querySelector('details.menu');
if (menu instanceof HTMLDetailsElement) {
  addEventListener('click', ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) menu.open = false;
  });
  // The menu must not cover what has the focus.
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) menu.open = false;
  });
  addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !menu.open) return;
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
}

/* The redemption that is refunded, in a list that is longer than its place. */

document.querySelector('.spent [aria-current]')?.scrollIntoView({ block: 'nearest' });
