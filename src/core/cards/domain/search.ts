/**
 * The meaning of a text in the search field. A code must never become a part of a URL, so every text that can
 * be one is a code first, and becomes another search only if it cannot be a generated code.
 */

import { parseLastCharacters, tagOf } from './code.ts';
import { isCardLink, readGivenCode, type Readings } from './given-code.ts';
import { parseEmail } from '../../domain/email-address.ts';
import { parseText } from '../../domain/text.ts';

/** A filter of the list of cards with its value, by the names of the query parameters. */
export type SearchFilter = {
  readonly name: 'last_characters' | 'email' | 'order_id' | 'note' | 'text';
  readonly value: string;
};

export type SearchMeaning =
  | { readonly kind: 'nothing' }
  /** It is too long, or has characters that no text of a card has. */
  | { readonly kind: 'invalid' }
  /** `otherwise`: the search if no card has the code. */
  | { readonly kind: 'code'; readonly readings: Readings; readonly otherwise: SearchFilter | null }
  /** It looks like a code that was typed or scanned wrongly, which no card has. */
  | { readonly kind: 'wrong-code' }
  /** `others`: what the text can mean as well. */
  | { readonly kind: 'filter'; readonly filter: SearchFilter; readonly others: readonly SearchFilter[] };

const typedLengthMax = 300;

/** Maximum length of the searched part of a note or a name, in Unicode code points. */
export const searchedTextMax = 100;

const quoted = /^["“”„«»](.*)["“”„«»]$/su;
const orderNumber = /^#?\s*([1-9]\d{0,15})$/;
const separators = /[ -]+/;

export function meaningOf(typed: string): SearchMeaning {
  if (typed.length > typedLengthMax) return { kind: 'invalid' };
  const text = typed.trim();
  if (text === '') return { kind: 'nothing' };
  const [, inNote] = quoted.exec(text) ?? [];
  if (inNote !== undefined) return codeAmong(inNote, textFilter('note', inNote.trim()));
  const email = text.includes('@') ? parseEmail(text) : undefined;
  if (email?.ok) return filterOf({ name: 'email', value: email.value.address });
  return wholeCode(text) ?? scannedCode(text) ?? codeAmong(text, otherMeaning(text));
}

function filterOf(filter: SearchFilter, others: readonly SearchFilter[] = []): SearchMeaning {
  return { kind: 'filter', filter, others };
}

function textFilter(name: 'note' | 'text', value: string): SearchMeaning {
  const parsed = parseText(value, searchedTextMax);
  if (!parsed.ok) return { kind: 'invalid' };
  return parsed.value === null ? { kind: 'nothing' } : filterOf({ name, value: parsed.value });
}

function otherMeaning(text: string): SearchMeaning {
  const last = parseLastCharacters(text);
  const order = orderOf(text);
  if (last.ok)
    return filterOf({ name: 'last_characters', value: last.value }, [order ?? { name: 'text', value: text }]);
  return order ? filterOf(order) : textFilter('text', text);
}

function orderOf(text: string): SearchFilter | null {
  const [, digits] = orderNumber.exec(text) ?? [];
  return digits !== undefined && Number.isSafeInteger(Number(digits))
    ? { name: 'order_id', value: digits }
    : null;
}

/** The meaning of a text that is a code, with or without separators. */
function wholeCode(text: string): SearchMeaning | null {
  if (!isGrouped(text.split(separators).filter((group) => group !== ''))) return null;
  const readings = /^[0-9A-Za-z -]*$/.test(text) ? readGivenCode(text) : undefined;
  if (readings?.ok === true && readings.value[0].way === 'exact')
    return {
      kind: 'code',
      readings: readings.value,
      otherwise: isGenerated(readings.value) ? null : fallbackOf(text),
    };
  return isLongMixture(text) ? { kind: 'wrong-code' } : null;
}

/** The meaning of a text that a scanner has read: a link, or a generated code with what scanners and keyboards add. */
function scannedCode(text: string): SearchMeaning | null {
  if (/\s/.test(text)) return null;
  const readings = readGivenCode(text);
  if (!readings.ok || !(isCardLink(text) || isGenerated(readings.value))) return null;
  return { kind: 'code', readings: readings.value, otherwise: null };
}

/** The meaning of a text of which a word can be a code. */
function codeAmong(text: string, otherwise: SearchMeaning): SearchMeaning {
  let onlyLetters: Readings | undefined;
  for (const word of text.split(/[^0-9A-Za-z-]+/)) {
    if (isLongMixture(word)) return { kind: 'wrong-code' };
    const readings = readGivenCode(word);
    if (!readings.ok || readings.value[0].way !== 'exact') continue;
    if (isMixture(word)) return codeOr(readings.value, otherwise);
    // One generated code in 400 has no digit.
    if (tagOf(readings.value[0].code) !== undefined) onlyLetters ??= readings.value;
  }
  return onlyLetters ? codeOr(onlyLetters, otherwise) : otherwise;
}

/** A code, or if no card has it and it can be a word, another search. */
function codeOr(readings: Readings, otherwise: SearchMeaning): SearchMeaning {
  const isOther = !isGenerated(readings) && otherwise.kind === 'filter';
  return { kind: 'code', readings, otherwise: isOther ? otherwise.filter : null };
}

/** Whether a code can have been generated, and is not a word: letters that look like digits make words like codes. */
function isGenerated(readings: Readings): boolean {
  return readings.some(
    ({ code, way }) => way !== 'similar' && tagOf(code) !== undefined && hasDigit(code.reveal()),
  );
}

/** More than one code, such as one that a scanner has read twice. */
function isLongMixture(text: string): boolean {
  const compact = text.replaceAll(/[ -]/g, '');
  return compact.length > 20 && /^[0-9A-Za-z]+$/.test(compact) && isMixture(compact);
}

/** Whether the parts of a text are the groups of a code: of one size, except the last. */
function isGrouped(groups: readonly string[]): boolean {
  const [first = '', ...others] = groups;
  return others.every(({ length }, place) =>
    place === others.length - 1 ? length <= first.length : length === first.length,
  );
}

/** The search for a text that no card has as its code. A mixture of digits and letters is nothing but a code. */
function fallbackOf(text: string): SearchFilter | null {
  if (/^[1-9]\d*$/.test(text)) return orderOf(text);
  return hasDigit(text) ? null : { name: 'text', value: text };
}

function hasDigit(text: string): boolean {
  return /\d/.test(text);
}

function isMixture(text: string): boolean {
  return hasDigit(text) && /[A-Za-z]/.test(text);
}

/** The last characters with the letters that codes never have replaced by the digits they look like; null: no change. */
export function likelyLastCharacters(lastCharacters: string): string | null {
  const likely = lastCharacters.replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return likely === lastCharacters ? null : likely;
}
