/** A scanner at a computer whose keyboard has another layout: it sends keys, which the layout turns into symbols. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from '../support/chromium.ts';

/** The symbols of the keys, row by row, alone and with Shift. Scanners are set for the first one when they are sold. */
const layouts = {
  us: ['1234567890-=qwertyuiop[]asdfghjkl;\'\\zxcvbnm,./', '!@#$%^&*()_+QWERTYUIOP{}ASDFGHJKL:"|ZXCVBNM<>?'],
  // The layouts kbdgr, kbdsg, kbdsf, kbdfr, kbdbe, kbdcz and kbdru of Windows (https://kbdlayout.info).
  // Dead keys are spacing symbols here.
  german: ['1234567890ß´qwertzuiopü+asdfghjklöä#yxcvbnm,.-', '!"§$%&/()=?`QWERTZUIOPÜ*ASDFGHJKLÖÄ\'YXCVBNM;:_'],
  'swiss-german': ['1234567890\'^qwertzuiopü¨asdfghjklöä$yxcvbnm,.-', '+"*ç%&/()=?`QWERTZUIOPè!ASDFGHJKLéà£YXCVBNM;:_'],
  'swiss-french': ['1234567890\'^qwertzuiopè¨asdfghjkléà$yxcvbnm,.-', '+"*ç%&/()=?`QWERTZUIOPü!ASDFGHJKLöä£YXCVBNM;:_'],
  french: ['&é"\'(-è_çà)=azertyuiop^$qsdfghjklmù*wxcvbn,;:!', '1234567890°+AZERTYUIOP¨£QSDFGHJKLM%µWXCVBN?./§'],
  belgian: ['&é"\'(§è!çà)-azertyuiop^$qsdfghjklmùµwxcvbn,;:=', '1234567890°_AZERTYUIOP¨*QSDFGHJKLM%£WXCVBN?./+'],
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

/** The time from one key of a scan to the next. */
const gapMs = 20;

type Setting = {
  readonly computer: Layout;
  /** The layout that the scanner is set for. Default: that of the United States. */
  readonly scanner?: Layout;
};

type Key = { readonly key: string; readonly code: string; readonly isShifted: boolean };

function keysOf(text: string, { computer, scanner = 'us' }: Setting): readonly Key[] {
  return Array.from(text, (symbol) => {
    const row = layouts[scanner][0].includes(symbol) ? 0 : 1;
    const place = Array.from(layouts[scanner][row]).indexOf(symbol);
    assert.ok(place >= 0, `${symbol} has a key`);
    const key = Array.from(layouts[computer][row])[place] ?? assert.fail(symbol);
    return { key, code: codes[place] ?? assert.fail(symbol), isShifted: row === 1 };
  });
}

/** The text that a scan makes on the computer. */
export function scannedText(text: string, setting: Setting): string {
  return keysOf(text, setting)
    .map(({ key }) => key)
    .join('');
}

/** Sends the keys of a scan, and Enter. The page sees the same time between two keys, even on a slow machine. */
export async function scanKeys(page: Page, text: string, setting: Setting): Promise<void> {
  const client = await page.createCDPSession();
  const sent = keysOf(text, setting).map(({ key, code, isShifted }) => ({
    key,
    code,
    text: key,
    modifiers: isShifted ? 8 : 0,
  }));
  const enter = { key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 };
  const start = Date.now();
  const sending: Promise<unknown>[] = [];
  for (const [place, { text: input, ...event }] of [...sent, enter].entries()) {
    const timestamp = (start + place * gapMs) / 1_000;
    sending.push(
      client.send('Input.dispatchKeyEvent', { ...event, timestamp, type: 'keyDown', text: input }),
      client.send('Input.dispatchKeyEvent', { ...event, timestamp, type: 'keyUp' }),
    );
    // No key waits for another one.
    await wait(gapMs);
  }
  await Promise.all(sending);
  await client.detach();
}
