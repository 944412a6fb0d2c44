/** The preview and the sum follow what is typed, and the page of an order follows its payment. Both pages work without it. */

/** @param {string} name @param {string} text */
function show(name, text) {
  for (const element of document.querySelectorAll(`[data-show="${name}"]`)) element.textContent = text;
}

/**
 * An amount as it is typed, in the notation of the page; undefined: it is not one.
 * @param {string} typed @param {DOMStringMap} options
 */
function amountOf(typed, { locale, currency, decimals = '2' }) {
  const plain = typed.trim().replace(',', '.');
  const fraction = decimals === '0' ? '' : `(?:\\.\\d{1,${decimals}})?`;
  if (!new RegExp(`^\\d{1,7}${fraction}$`).test(plain)) return undefined;
  const formatter = new Intl.NumberFormat(locale, { style: 'currency', currency: currency ?? 'EUR' });
  return formatter.formatToParts(Number(plain));
}

/** @param {string} typed @param {DOMStringMap} options */
function figureOf(typed, options) {
  const figure = document.createElement('span');
  figure.className = 'figure';
  const parts = amountOf(typed, options);
  if (!parts) figure.textContent = '–';
  const written = (parts ?? []).filter((part) => part.type !== 'literal');
  for (const [place, { type, value }] of written.entries()) {
    if (type !== 'currency') figure.append(value);
    else {
      const small = document.createElement('small');
      small.textContent = value;
      if (place > 0) small.className = 'after';
      figure.append(small);
    }
  }
  return figure;
}

/** @param {HTMLFormElement} form */
function follow(form) {
  const data = new FormData(form);
  /** @param {string} name */
  const typed = (name) => {
    const value = data.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  for (const own of document.querySelectorAll('[data-show="own"]'))
    own.replaceChildren(figureOf(typed('own'), form.dataset));
  const isForMe = typed('for') === 'me';
  const name = form.querySelector('.preview .tail bdi');
  if (name) name.textContent = isForMe ? '' : typed('to');
  show('for', typed('to') || (form.dataset['someone'] ?? ''));
  show('message', typed('message'));
  show('from', typed('from'));
  show('count', String(Array.from(typed('message')).length));
  const note = form.querySelector('.note');
  if (note instanceof HTMLElement) note.hidden = typed('message') === '' && typed('from') === '';
}

const triedAtOnce = 256;

/**
 * Tries numbers until SHA-256 of the key and the number begins with 16 zero bits. The server accepts the form only with it.
 * @param {string} key
 */
async function workFor(key) {
  const encoder = new TextEncoder();
  for (let first = 0; ; first += triedAtOnce) {
    const numbers = Array.from({ length: triedAtOnce }, (_, place) => first + place);
    const digests = await Promise.all(
      numbers.map((number) => globalThis.crypto.subtle.digest('SHA-256', encoder.encode(`${key}.${number}`))),
    );
    const found = digests.findIndex((digest) => new DataView(digest).getUint16(0) === 0);
    if (found >= 0) return String(first + found);
  }
}

/** @param {HTMLFormElement} form */
function doWork(form) {
  const work = form.elements.namedItem('work');
  const key = form.elements.namedItem('key');
  // Browsers have no digests on pages without TLS.
  if (!(work instanceof HTMLInputElement && key instanceof HTMLInputElement) || !isSecureContext) return;
  const done = workFor(key.value).then((number) => {
    work.value = number;
  });
  form.addEventListener('submit', (event) => {
    if (work.value !== '') return;
    event.preventDefault();
    void done.then(() => form.requestSubmit());
  });
}

const form = document.querySelector('#buy');
if (form instanceof HTMLFormElement) {
  form.addEventListener('input', () => follow(form));
  doWork(form);
  // A browser can have filled the form in again.
  follow(form);
}

// The page is requested in the background, and shown when its state is another one, so that the visitor keeps the place on it.
const main = document.querySelector('main[data-refresh]');
if (main instanceof HTMLElement) {
  const { refresh = '60', state = '' } = main.dataset;
  let waitMs = Number(refresh) * 1_000;
  const look = async () => {
    try {
      const response = await fetch(location.pathname + location.search);
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const now = page.querySelector('main');
      if (response.ok && now && (now.dataset['state'] ?? '') !== state) location.reload();
    } catch {
      // Without a connection, the next attempt is later.
    }
    waitMs = Math.min(waitMs * 1.5, 300_000);
    setTimeout(() => void look(), waitMs);
  };
  setTimeout(() => void look(), waitMs);
}
