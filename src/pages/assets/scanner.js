/**
 * The keys of a scanner. Most scanners type for a US keyboard, and the browser reads their keys with the layout of the
 * the computer. The physical keys do not depend on it.
 */

/** Keys of one scan follow each other within this time. */
const gapMs = 100;

/** The symbols of the US keyboard, alone and with Shift (https://www.w3.org/TR/uievents-code/#key-alphanumeric-section). */
const symbols = new Map(
  Object.entries({
    ...Object.fromEntries(
      Array.from(')!@#$%^&*(', (shifted, digit) => [`Digit${digit}`, `${digit}${shifted}`]),
    ),
    Minus: '-_',
    Equal: '=+',
    BracketLeft: '[{',
    BracketRight: ']}',
    Backslash: '\\|',
    Semicolon: ';:',
    Quote: '\'"',
    Comma: ',<',
    Period: '.>',
    Slash: '/?',
  }),
);

let byLayout = '';
let byKeys = '';
let typedAt = 0;

/** @param {KeyboardEvent} event */
function usSymbolOf({ key, code, shiftKey }) {
  const [, letter] = /^Key([A-Z])$/.exec(code) ?? [];
  if (letter !== undefined) return shiftKey ? letter : letter.toLowerCase();
  return symbols.get(code)?.charAt(shiftKey ? 1 : 0) ?? (key.length === 1 ? key : '');
}

addEventListener(
  'keydown',
  (event) => {
    const { key, timeStamp, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    if (timeStamp - typedAt > gapMs) {
      byLayout = '';
      byKeys = '';
    }
    typedAt = timeStamp;
    if (key.length === 1) byLayout += key;
    byKeys += usSymbolOf(event);
  },
  true,
);

/** The symbols of codes and of links to cards. @param {string} text */
function weightOf(text) {
  return text.replace(/[^0-9A-Za-z:/.#]/g, '').length;
}

/**
 * The last scan: as the layout has it, and as the scanner meant it. These are the physical keys if they make more of a code or
 * a link: a scanner can be set for the layout of the computer.
 */
export function lastScan() {
  return { typed: byLayout, meant: weightOf(byKeys) > weightOf(byLayout) ? byKeys : byLayout };
}
