/**
 * The entry of an amount: the keypad, the keyboard, and amounts that fill the field. Keypad and keyboard agree: digits are
 * the smallest units of the currency until a comma or a point is typed, so 1 2 5 0 is 12.50.
 */

const { lang: language } = document.documentElement;

/** @param {string} text @param {Readonly<Record<string, string>>} values */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, /** @type {string} */ name) => values[name] ?? '');
}

const spaces = /[\t\u00a0\u2007\u2009\u202f]/g;
/** The notations of src/core/tables/domain/written-amount.ts. */
const writtenNumber = /^(?:(0|[1-9]\d*)|([1-9]\d{0,2})([., '])(\d{3}(?:\3\d{3})*))(?:([.,])(\d*))?$/;

/** @param {string} currency @param {number} decimals */
export function formatsOf(currency, decimals) {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const style = /** @type {const} */ ('currency');
  const formatter = new Intl.NumberFormat(language, { style, currency, ...digits });
  // The point of the language, because a currency such as JPY has none.
  const point =
    new Intl.NumberFormat(language).formatToParts(1.1).find(({ type }) => type === 'decimal')?.value ?? '.';
  const displays = /** @type {const} */ (['symbol', 'narrowSymbol', 'code']);
  const names = displays.flatMap((currencyDisplay) =>
    new Intl.NumberFormat(language, { style, currency, currencyDisplay })
      .formatToParts(1)
      .flatMap(({ type, value }) => (type === 'currency' ? [value] : [])),
  );
  /** @param {bigint} minor */
  const plain = (minor) => {
    const text = String(minor).padStart(decimals + 1, '0');
    return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
  };
  return {
    point,
    /** Formats the value of a field. @param {bigint} minor */
    typed: (minor) => plain(minor).replace('.', point),
    /** @param {bigint} minor */
    shown: (minor) => formatter.format(/** @type {`${number}`} */ (plain(minor))),
    /** Formats an amount as the pages do, with a small currency. @param {bigint} minor */
    figure: (minor) =>
      formatter.formatToParts(/** @type {`${number}`} */ (plain(minor))).map(({ type, value }) => {
        if (type !== 'currency') return document.createTextNode(type === 'literal' ? value.trim() : value);
        const small = document.createElement('small');
        small.textContent = value;
        return small;
      }),
    /**
     * The minor units of an amount as people type it: with separators of thousands and the currency. Null: it is not one,
     * or only the server can read it. @param {string} text
     */
    parse: (text) => {
      let amount = text.slice(0, 100).replace(spaces, ' ').replaceAll('’', "'").trim();
      const name = names.find((each) => amount.startsWith(each) || amount.endsWith(each));
      if (name !== undefined) amount = amount.replace(name, '').trim();
      const [, plainWhole, first = '', group, others = '', sign = '', decimal = ''] =
        writtenNumber.exec(amount) ?? [];
      let whole = plainWhole ?? first + others.replace(/\D/g, '');
      let fraction = decimal;
      if (whole === '' || (sign !== '' && sign === group)) return null;
      // `1.000` has thousands if the language has another decimal sign.
      if (sign !== point && group === undefined && fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole)) {
        whole += fraction;
        fraction = '';
      }
      if (whole.length > 12 || fraction.length > decimals) return null;
      return BigInt(whole + fraction.padEnd(decimals, '0'));
    },
  };
}

/** A code that is scanned into the field has at least this many characters. */
const codeLengthMin = 8;
const codeLengthMax = 100;
const amountLengthMax = 13;

/**
 * The typed text: `units` are digits without a separator, `decimal` an amount with one, `other` anything else, such as an
 * amount with separators of thousands or a code. The keys of an amount that was filled in replace it.
 * @typedef {{ kind: 'units' | 'decimal' | 'other', text: string, isFilled: boolean }} Typed
 */

/**
 * Returns the typed text with another key.
 * @param {Typed} typed @param {string} key @param {number} decimals @returns {Typed}
 */
function withKey(typed, key, decimals) {
  const { kind, text } = typed.isFilled ? { kind: /** @type {const} */ ('units'), text: '' } : typed;
  const isSeparator = key === ',' || key === '.';
  const hasRoom = kind !== 'decimal' || (text.split(/[.,]/)[1] ?? '').length + key.length <= decimals;
  if (/^\d+$/.test(key) && hasRoom) return { kind, text: text + key, isFilled: false };
  if (isSeparator && kind === 'units' && decimals > 0)
    return { kind: 'decimal', text: `${text || '0'}${key}`, isFilled: false };
  return { kind: 'other', text: text + key, isFilled: false };
}

/** @param {Typed} typed @returns {Typed} */
function withoutLast({ kind, text }) {
  const rest = text.slice(0, -1);
  return { kind: kind === 'decimal' && !/[.,]/.test(rest) ? 'units' : kind, text: rest, isFilled: false };
}

/**
 * Adds the keys to the form of an amount.
 * @param {HTMLFormElement} form
 * @returns {(() => { total: string, choice: string } | null) | null} completes the amount, and returns it as the field has it,
 * with what the card has, if that is less and the button says so. Null: the form has no such field.
 */
export function addAmountEntry(form) {
  const field = form.elements.namedItem('amount');
  if (!(field instanceof HTMLInputElement) || field.type === 'hidden') return null;
  const amount = field;
  const { dataset: data } = form;
  const decimals = Number(data['decimals'] ?? '2');
  const formats = formatsOf(data['currency'] ?? '', decimals);
  const [most = null, base = 0n] = [data['most'], data['base']].map(
    (text) => formats.parse(text ?? '') ?? undefined,
  );
  const note = document.getElementById('amount-note');
  const button = document.getElementById('pay');
  /** @type {Typed} */
  let typed = { kind: 'units', text: '', isFilled: false };
  let isFromKeyboard = false;

  const shownText = () => (typed.kind === 'decimal' ? typed.text.replace(/[.,]/, formats.point) : typed.text);
  /** The typed amount, in minor units. */
  const minorOf = () => {
    if (typed.kind === 'units') return typed.text === '' ? null : BigInt(typed.text);
    return formats.parse(shownText());
  };
  /** Digits of a scanner are not an amount: the server says so. */
  const isScanned = () => {
    const { kind, text } = typed;
    if (!isFromKeyboard || kind !== 'units' || text.length < codeLengthMin) return false;
    return text.startsWith('0') || (most !== null && BigInt(text) > most);
  };
  const update = () => {
    const minor = isScanned() ? null : minorOf();
    const isAmount = minor !== null && minor > 0n;
    const isAbove = isAmount && most !== null && minor > most;
    const chosen = form.querySelector('input[type="radio"][data-button]:checked');
    const labels = chosen instanceof HTMLElement ? chosen.dataset : data;
    const acted = isAbove && !isFromKeyboard ? most : minor;
    if (button)
      button.textContent =
        isAmount && acted !== null && !(isAbove && isFromKeyboard)
          ? fill(labels['buttonAmount'] ?? '', { amount: formats.shown(acted) })
          : (labels['button'] ?? '');
    if (!note) return;
    note.classList.toggle('short', isAbove);
    if (!isAmount) note.textContent = data['hint'] ?? '';
    else if (isAbove && isFromKeyboard)
      note.textContent = fill(data['above'] ?? '', { amount: formats.shown(minor) });
    else if (isAbove) note.textContent = fill(data['rest'] ?? '', { amount: formats.shown(minor - most) });
    else if (data['note'] !== undefined)
      note.textContent = fill(data['note'], {
        amount: formats.shown(data['change'] === 'adds' ? base + minor : base - minor),
      });
  };
  const show = () => {
    const { kind, text } = typed;
    if (kind !== 'units' || isScanned()) amount.value = shownText();
    else amount.value = /[1-9]/.test(text) ? formats.typed(BigInt(text)) : '';
    update();
  };
  /** An amount that the page has, or that was pasted. @param {string} text */
  const set = (text) => {
    const minor = formats.parse(text);
    typed =
      minor === null
        ? { kind: text.trim() === '' ? 'units' : 'other', text: text.trim(), isFilled: true }
        : { kind: 'units', text: String(minor), isFilled: true };
  };
  /** @param {string} key */
  const press = (key) => {
    const next = key === 'delete' ? withoutLast(typed) : withKey(typed, key, decimals);
    // A key of the page is not a part of a code.
    const isAccepted = isFromKeyboard
      ? next.text.length <= codeLengthMax
      : next.kind !== 'other' && next.text.length <= amountLengthMax;
    if (isAccepted) typed = next;
  };

  amount.addEventListener('beforeinput', (event) => {
    const { inputType, data: characters } = event;
    // Everything else, such as a paste, is read when it has happened.
    const isKey = inputType === 'insertText' && characters !== null;
    if (!isKey && inputType !== 'deleteContentBackward') return;
    event.preventDefault();
    isFromKeyboard = true;
    const isAllSelected =
      amount.value !== '' && amount.selectionStart === 0 && amount.selectionEnd === amount.value.length;
    if (isAllSelected) typed = { kind: 'units', text: '', isFilled: false };
    if (isKey) for (const key of characters) press(key);
    else if (!isAllSelected) press('delete');
    show();
  });
  amount.addEventListener('input', () => {
    isFromKeyboard = true;
    set(amount.value);
    update();
  });
  for (const part of form.querySelectorAll('[data-needs-script]')) {
    if (!(part instanceof HTMLElement)) continue;
    part.hidden = false;
    // The field keeps the focus: Enter would press the last key again.
    part.addEventListener('mousedown', (event) => event.preventDefault());
    part.addEventListener('click', ({ target }) => {
      const pressed = target instanceof Element ? target.closest('button') : null;
      if (!pressed) return;
      const { digit, fill: filled } = pressed.dataset;
      isFromKeyboard = false;
      if (filled !== undefined) set(filled);
      else if (digit !== undefined) press(digit);
      show();
    });
  }
  form.addEventListener('change', update);
  // The keypad of the page is enough: the keyboard of a phone would cover it.
  amount.inputMode = 'none';
  // The browser would do so with the first frame, after the first keys.
  if (amount.autofocus) amount.focus();
  set(amount.value);
  show();
  return () => {
    const minor = isScanned() ? null : minorOf();
    if (minor === null) return null;
    amount.value = formats.typed(minor);
    // An amount of the keyboard above the card is a question: the server asks it.
    if (most === null || minor <= most || isFromKeyboard) return null;
    return { choice: formats.typed(most), total: formats.typed(minor) };
  };
}
