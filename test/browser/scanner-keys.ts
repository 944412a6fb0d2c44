/** A scanner at a computer whose keyboard has another layout: it sends keys, which the layout turns into symbols. */

import assert from 'node:assert/strict';
import type { Page } from '../support/chromium.ts';

/** The symbols of the keys, row by row, alone and with Shift. Scanners are set for the first one when they are sold. */
const layouts = {
  us: ['1234567890-=qwertyuiop[]asdfghjkl;\'\\zxcvbnm,./', '!@#$%^&*()_+QWERTYUIOP{}ASDFGHJKL:"|ZXCVBNM<>?'],
  // The layouts kbdgr, kbdfr, kbdcz and kbdru of Windows (https://kbdlayout.info). Dead keys are spacing symbols here.
  german: ['1234567890ß´qwertzuiopü+asdfghjklöä#yxcvbnm,.-', '!"§$%&/()=?`QWERTZUIOPÜ*ASDFGHJKLÖÄ\'YXCVBNM;:_'],
  french: ['&é"\'(-è_çà)=azertyuiop^$qsdfghjklmù*wxcvbn,;:!', '1234567890°+AZERTYUIOP¨£QSDFGHJKLM%µWXCVBN?./§'],
  czech: ['+ěščřžýáíé=´qwertzuiopú)asdfghjklů§¨yxcvbnm,.-', '1234567890%ˇQWERTZUIOP/(ASDFGHJKL"!\'YXCVBNM?:_'],
  russian: ['1234567890-=йцукенгшщзхъфывапролджэ\\ячсмитьбю.', '!"№;%:?*()_+ЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭ/ЯЧСМИТЬБЮ,'],
} as const; // prettier-ignore

export type Layout = keyof typeof layouts;

const codes = [
  ...Array.from('1234567890', (digit) => `Digit${digit}`), 'Minus', 'Equal',
  ...Array.from('QWERTYUIOP', (letter) => `Key${letter}`), 'BracketLeft', 'BracketRight',
  ...Array.from('ASDFGHJKL', (letter) => `Key${letter}`), 'Semicolon', 'Quote', 'Backslash',
  ...Array.from('ZXCVBNM', (letter) => `Key${letter}`), 'Comma', 'Period', 'Slash',
]; // prettier-ignore

/** @param scanner the layout that the scanner is set for. */
export async function scanKeys(
  page: Page,
  text: string,
  { computer, scanner = 'us' }: { readonly computer: Layout; readonly scanner?: Layout },
): Promise<void> {
  const client = await page.createCDPSession();
  const sent = Array.from(text, (symbol) => {
    const shift = layouts[scanner].findIndex((row) => row.includes(symbol));
    const place = Array.from(layouts[scanner][shift === 1 ? 1 : 0]).indexOf(symbol);
    assert.ok(place >= 0, `${symbol} has a key`);
    const key = Array.from(layouts[computer][shift === 1 ? 1 : 0])[place] ?? assert.fail(symbol);
    const code = codes[place] ?? assert.fail(symbol);
    return { key, code, text: key, modifiers: shift === 1 ? 8 : 0 };
  });
  const enter = { key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 };
  // All at once: no key waits for another one, even on a slow machine.
  await Promise.all(
    [...sent, enter].flatMap(({ text: input, ...event }) => [
      client.send('Input.dispatchKeyEvent', { ...event, type: 'keyDown', text: input }),
      client.send('Input.dispatchKeyEvent', { ...event, type: 'keyUp' }),
    ]),
  );
}
