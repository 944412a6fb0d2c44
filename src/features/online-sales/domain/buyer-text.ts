/**
 * Links, phone numbers and amounts in the texts of buyers, who are strangers, in emails of the store. Which endings of names
 * exist is not known, because new ones are added.
 */

import { findCurrency } from '../../../core/money/domain/currency.ts';

/** Characters that are not seen, and so could divide a link. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Symbols that look like a full stop. Normalization has replaced the others. */
const fullStops = /[\u0701\u0702\uA4F8\uA60E\u{10A50}\u{1D16D}]/gu;

/** The zeros of Arabic and Persian look like a full stop among Latin letters. */
const zeros = /(?<=[a-z\d])[\u0660\u06F0](?=[a-z])/giu;

/** Browsers read the ideographic full stop as one. In Chinese and Japanese, the next sentence follows it without a space. */
const ideographic = /\u3002(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/gu;

/** The text as a program could read it. */
function readable(text: string): string {
  const folded = text.replaceAll(unseen, '').normalize('NFKC').replaceAll(unseen, '');
  return folded.replaceAll(fullStops, '.').replaceAll(zeros, '.').replaceAll(ideographic, '.');
}

/** A name, a full stop, and an ending of two letters or more. */
const named = /[^\s.]\.\p{L}\p{M}{0,9}\p{L}/u;

/** A name with an ideographic full stop and a path or port. */
const pathed = /[^\s\u3002]\u3002\p{L}{2,63}[/:]/u;

const scheme = /:\/\/|\bhttps?:/iu;

const ipv4 = /(?<!\p{N})(?:\p{N}{1,3}\.){3}\p{N}{1,3}(?!\p{N})/u;

/** An IPv4 address as one number. */
const integerHost = /(?<![\p{L}\p{N}])(?:0x[\da-f]{1,16}|\d{8,10})[/:?#]\S/iu;

const hexHost = /(?<![\p{L}\p{N}])0x[\da-f]{2,}/iu;

/** Eight groups, or fewer around two colons. */
const ipv6 =
  /(?<![\p{L}\p{N}])(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?:[\da-f]{1,4}:){1,7}(?::[\da-f]{1,4}){1,7}|::[\da-f]{1,4}|(?:[\da-f]{1,4}:){1,7}:)(?![\p{L}\p{N}])/iu;

/** Whether a text has something that email programs show as a link, or that a reader could enter as an address. */
export function hasLink(text: string): boolean {
  const read = readable(text);
  if (read.includes('@')) return true;
  const forms = [named, pathed, scheme, ipv4, integerHost, hexHost];
  return forms.some((form) => form.test(read)) || (/\d/.test(read) && ipv6.test(read));
}

/** The digits from which on a number can be that of a phone. */
const phoneDigits = 7;

/** Digits of any script, and those of Chinese. */
const digit = /[\p{N}〇零一二三四五六七八九]/gu;

/** A number with a sign of a currency, or that of an international phone number. */
const signed = /\p{Sc}\s{0,9}\p{N}|\p{N}\s{0,9}\p{Sc}|\+\s{0,9}\p{N}/u;

/** A number before or after three capital letters. */
const coded = /(?<![A-Z])([A-Z]{3})\s{0,9}\p{N}|\p{N}\s{0,9}([A-Z]{3})(?![A-Z])/gu;

/** Whether a name has a phone number or an amount. */
export function hasNumber(name: string): boolean {
  const read = readable(name);
  if ((read.match(digit)?.length ?? 0) >= phoneDigits || signed.test(read)) return true;
  for (const [, before, after] of read.matchAll(coded))
    if (findCurrency(before ?? after ?? '') !== undefined) return true;
  return false;
}
