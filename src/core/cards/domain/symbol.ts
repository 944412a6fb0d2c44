/** The symbols with which scanners read a gift card's code: a QR code, and a Code 128 barcode for scanners without a camera. */

import { encode } from 'uqr';
import { cardLink } from '../../emails/domain/recipient-page.ts';
import type { Secret } from '../../../platform/secret.ts';

/** White modules around a QR code (ISO/IEC 18004). */
const quietModules = 4;

type Modules = readonly (readonly boolean[])[];

/**
 * The modules of a text's QR code with their margin; true is dark.
 * @param isForScreen whether it is read at once from a screen, on which it cannot be damaged: then it is smaller.
 */
export function qrModulesOfText(text: string, { isForScreen = false } = {}): Modules {
  const form = isForScreen
    ? ({ ecc: 'L', border: 2 } as const)
    : ({ ecc: 'M', border: quietModules } as const);
  return encode(text, { ...form, boostEcc: true }).data;
}

/**
 * The modules of a code's QR code, as of a text. It contains a link, which the camera of a phone opens. If there is no page,
 * it contains the code in upper case, so that 20 symbols fit into the smallest version: QR codes have a compact alphabet
 * without lower case. Case does not count when a code is entered.
 * @param page the URL of the store's page of recipients; null: it is not known.
 */
export function qrModules(code: Secret, page: string | null): Modules {
  return qrModulesOfText(page === null ? code.reveal().toUpperCase() : cardLink(page, code));
}

/** The widths of bars and spaces of each symbol character, by its value (ISO/IEC 15417, table 1). */
const patterns =
  '212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321 112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 114311 411113 411311 113141 114131 311141 411131 211412 211214 211232'.split(
    ' ',
  );

const startB = 104;
const startC = 105;
const stopPattern = '2331112';

/** Light modules before and after the bars. */
const quietWidth = 10;

export type Barcode = {
  /** The width in modules, with the light margins. */
  readonly width: number;
  readonly bars: readonly { readonly at: number; readonly width: number }[];
};

/** A text of letters and digits as Code 128: an even number of digits in set C, two in one symbol, others in set B. */
export function barcodeOfText(text: string): Barcode {
  const isPairs = /^(?:\d\d)+$/.test(text);
  const values = isPairs
    ? Array.from(text.matchAll(/\d\d/g), ([pair]) => Number(pair))
    : Array.from(text, (symbol) => symbol.charCodeAt(0) - 32);
  const start = isPairs ? startC : startB;
  const sum = values.reduce((total, value, index) => total + value * (index + 1), start);
  const symbols = [start, ...values, sum % 103].map((value) => patterns[value] ?? '');
  const bars: { at: number; width: number }[] = [];
  let at = quietWidth;
  for (const [index, digit] of Array.from(symbols.join('') + stopPattern).entries()) {
    const width = Number(digit);
    // Each pattern begins with a bar and has as many bars as spaces.
    if (index % 2 === 0) bars.push({ at, width });
    at += width;
  }
  return { width: at + quietWidth, bars };
}

/** A code as Code 128, in upper case: a scanner types what a person reads. */
export function barcodeOf(code: Secret): Barcode {
  return barcodeOfText(code.reveal().toUpperCase());
}
