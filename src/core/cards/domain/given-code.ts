/**
 * Codes as people, keyboards and scanners give them. A *given* code names a card or a printed card that exists, and has
 * several readings. A *new* code is one that a store chooses; it is cleaned in the same way, and has one reading.
 */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';
import { isFixedCode } from './fixed-codes.ts';
import { keyboards, onUsKeyboard, type Keyboard } from './keyboards.ts';

/** A code with separators, or a link with a code: its host and the store's domain have at most 253 characters each. */
export const givenCodeLengthMax = 700;

/** The symbols of a code. */
const symbols = /^[0-9a-z]{8,20}$/;
const symbolsMin = 8;

const distinctMin = 4;

/** The errors of codes that are new. They read after the name of the parameter. */
export const newCodeErrors = {
  length: 'must have 8 to 20 letters or digits',
  link: 'must be a code, not a link',
  masked: 'is masked: the file or request does not have the codes, only parts of them',
  repeated: 'is too easy to guess: it is one symbol repeated',
  run: 'is too easy to guess: it is a run of symbols',
  few: `must have at least ${distinctMin} different letters or digits`,
  printed: 'can be read as that of a printed card, which is another one',
} as const;

/** The kind of a reading: as it was given, with look-alike symbols, the keys of a keyboard, or another number of zeros. */
type Way = 'exact' | 'similar' | Keyboard | 'zero';

export type Reading = { readonly code: Secret; readonly way: Way };

/** The readings of a given code, in the order in which they are tried: at least one, and no two are equal. */
export type Readings = readonly [Reading, ...Reading[]];

/** The highest number of readings: as it is, by look-alikes, of each keyboard, and with a zero more and less. */
export const readingsMax = 4 + keyboards.length;

/** The only reading of a canonical code that is known. */
export function exactly(code: Secret): Readings {
  return [{ code, way: 'exact' }];
}

/** A code that a caller chose for a card, which can also be that of a printed card. */
export type ChosenCode = {
  /** The first reading. */
  readonly code: Secret;
  readonly readings: Readings;
  /** The reason why no new card can have it; null: one can. It reads after the name of the parameter. */
  readonly newError: string | null;
};

/** Parses a code that a caller chose. It is rejected only if no reading is a code. */
export function readChosenCode(value: unknown): Parsed<ChosenCode> {
  const readings = readGivenCode(value);
  const newError = typeof value === 'string' ? newCodeError(value) : null;
  if (!readings.ok) return newError === null ? readings : rejected(newError);
  return accepted({ code: readings.value[0].code, readings: readings.value, newError });
}

/** A request can have 10,000 new codes, and none of them is a link. */
const newCodeLengthMax = 100;

/** Parses a code for a card or a stock that is new. */
export function readNewCode(value: unknown): Parsed<ChosenCode> {
  if (typeof value === 'string' && value.length > newCodeLengthMax) return rejected(newCodeErrors.length);
  const chosen = readChosenCode(value);
  return chosen.ok && chosen.value.newError !== null ? rejected(chosen.value.newError) : chosen;
}

/** A canonical code with its readings. */
export function chosenOf(code: Secret): ChosenCode {
  const readings = readGivenCode(code.reveal());
  return { code, readings: readings.ok ? readings.value : exactly(code), newError: null };
}

/** Parses a given code. The length of the text is checked before anything else. */
export function readGivenCode(value: unknown): Parsed<Readings> {
  if (typeof value !== 'string') return rejected('must be a string of 8 to 20 letters or digits');
  if (value.length > givenCodeLengthMax) return rejected(newCodeErrors.length);
  const found = new Map<string, Reading>();
  for (const [text, way] of textsOf(value)) {
    if (symbols.test(text) && !found.has(text)) found.set(text, { code: new Secret(text), way });
  }
  const [first, ...others] = found.values();
  return first ? accepted([first, ...others]) : rejected(newCodeErrors.length);
}

/** Parses the last characters in a search: as they were given, or `''`, then the readings of the next two kinds. */
export function readLastCharacters(value: unknown): Parsed<readonly string[]> {
  if (typeof value !== 'string' || value.length > givenCodeLengthMax)
    return rejected('must be exactly 4 letters or digits');
  const texts = [...textsOf(value)].flatMap(([text, way]) => {
    if (/^[0-9a-z]{4}$/.test(text) && way !== 'zero') return [text];
    return way === 'exact' ? [''] : [];
  });
  return texts.every((text) => text === '')
    ? rejected('must be exactly 4 letters or digits')
    : accepted([...new Set(texts)]);
}

/** The highest number of readings of last characters. */
export const lastReadingsMax = readingsMax - 2;

/** The texts of all readings, which can be too short or too long for a code. */
function* textsOf(given: string): Generator<readonly [text: string, way: Way]> {
  const exact = cleaned(given);
  yield [exact, 'exact'];
  yield [similarTo(exact), 'similar'];
  for (const keyboard of keyboards) {
    const typed = onUsKeyboard(given, keyboard);
    if (typed !== undefined) yield [cleaned(typed), keyboard];
  }
  if (!/^\d+$/.test(exact)) return;
  yield [`0${exact}`, 'zero'];
  if (exact.startsWith('0')) yield [exact.slice(1), 'zero'];
}

/** Printed codes have digits where a letter looks like one: random codes have no letters i, l and o. */
function similarTo(text: string): string {
  return text.replaceAll('o', '0').replaceAll(/[il]/g, '1');
}

/** A link to the page of a card, with or without its protocol. */
const link = /^(?:https?:\/\/\S*|[^\s?]*\/card\/?(?:\?\S*)?)#(?<code>.*)$/isu;

/** Whether a text is a link to the page of a card. */
export function isCardLink(given: string): boolean {
  return link.test(normalized(given));
}

/**
 * The symbology identifier of a scanner (ISO/IEC 15424), and tracks 1 and 2 of a magnetic stripe (ISO/IEC 7813) with data
 * after the code.
 */
const framings = [
  /^\][A-Z][0-9A-Z](?<code>.*)$/isu,
  /^%B(?<code>[^^]*)\^.*$/isu,
  /^;(?<code>[^=]*)=.*$/isu,
] as const;

/** Removes what is around a code, and all characters except the letters A to Z and digits. */
function cleaned(given: string): string {
  const text = normalized(given);
  const linked = link.exec(text)?.groups?.['code'];
  if (linked !== undefined) return symbolsOf(linked);
  return symbolsOf(withoutLabel(withoutFraming(text)));
}

function normalized(given: string): string {
  return given.normalize('NFKC').replace(/^[\s\p{C}]+/u, '');
}

function withoutFraming(text: string): string {
  for (const framing of framings) {
    const code = framing.exec(text)?.groups?.['code'];
    if (code !== undefined) return code;
  }
  return text;
}

/** The text after a label such as `Code:`. Groups of a code that colons separate are too short to follow a label. */
function withoutLabel(text: string): string {
  const code = text.slice(text.lastIndexOf(':') + 1);
  return symbolsOf(code).length >= symbolsMin ? code : text;
}

/** UTF-16 units after which a text has more symbols than any code. */
const keptMax = 64;

/** The letters A to Z of a text, in lower case, and its digits of any script. */
function symbolsOf(text: string): string {
  const kept = text.replaceAll(/[^0-9A-Za-z\p{Nd}]+/gu, '').slice(0, keptMax);
  return kept.replaceAll(/[^0-9A-Za-z]/gu, digitOf).toLowerCase();
}

const digit = /^\p{Nd}$/u;

/** The ASCII digit of a digit of another script, or nothing. Unicode encodes the digits of a script in order, from 0. */
function digitOf(character: string): string {
  if (!digit.test(character)) return '';
  const point = character.codePointAt(0) ?? 0;
  let zero = point;
  while (digit.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((point - zero) % 10);
}

/** The reason why a text cannot be a new code; null: it can. */
function newCodeError(given: string): string | null {
  if (given.length > givenCodeLengthMax) return newCodeErrors.length;
  const text = normalized(given);
  if (isCardLink(given) || /^https?:\/\//i.test(text)) return newCodeErrors.link;
  if (/x{4}|\*{4}|•{4}/i.test(text)) return newCodeErrors.masked;
  const code = cleaned(given);
  if (!symbols.test(code)) return newCodeErrors.length;
  if (isFixedCode(code)) return 'is a fixed code of sandboxes';
  return trivialError(code);
}

function trivialError(code: string): string | null {
  const { size } = new Set(code);
  if (size === 1) return newCodeErrors.repeated;
  if (size === code.length && (isRun(code, 1) || isRun(code, -1))) return newCodeErrors.run;
  return size < distinctMin ? newCodeErrors.few : null;
}

const alphabets = ['0123456789', 'abcdefghijklmnopqrstuvwxyz'] as const;

/** Whether each symbol is the next one of the digits or the letters, of which the first follows the last. */
function isRun(code: string, step: 1 | -1): boolean {
  const alphabet = alphabets.find((each) => each.includes(code.charAt(0)));
  if (!alphabet) return false;
  const { length } = alphabet;
  return Array.from(code).every((symbol, place) => {
    const before = place === 0 ? -1 : alphabet.indexOf(code.charAt(place - 1));
    return place === 0 || symbol === alphabet.charAt((before + step + length) % length);
  });
}
