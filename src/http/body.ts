/**
 * Request bodies: JSON or a form, bare or wrapped in a name, parsed into named parameters.
 *
 * A body that cannot be parsed is a 400 or 415. An invalid wrapper is an error of that field, which is reported
 * together with the errors of other fields.
 */

import { Fault, type FieldErrors } from '../core/domain/fault.ts';
import { InexactNumber } from '../core/money/domain/money.ts';
import { findRepeated, MalformedError, parseUrlEncoded } from './query.ts';

export type Body = {
  readonly parameters: ReadonlyMap<string, unknown>;
  /** Form values are text, so booleans are parsed from text. */
  readonly isForm: boolean;
};

const wrappedName = /^([a-z_]+)\[([^[\]]*)\]$/;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type RawBody = {
  readonly contentType: string | undefined;
  readonly encoding: string | undefined;
  readonly bytes: Uint8Array;
};

/** The body of a request without one. */
export const noBody: RawBody = { contentType: undefined, encoding: undefined, bytes: new Uint8Array() };

const missingType =
  'The request has no Content-Type. Send "Content-Type: application/json" or "Content-Type: application/x-www-form-urlencoded".';

/** curl and many libraries send this type if the caller does not name one. */
const jsonAsForm =
  'The Content-Type is application/x-www-form-urlencoded, but the body is JSON. Send "Content-Type: application/json".';

/**
 * Parses a body. An empty body has no parameters, whatever its type.
 * @throws Fault `unsupported-media-type` or `invalid-body`.
 */
export function parseBody(
  { contentType, encoding, bytes }: RawBody,
  { wrapper, errors }: { readonly wrapper: string; readonly errors: FieldErrors },
): Body {
  if (bytes.length === 0) return { parameters: new Map(), isForm: false };
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new Fault('unsupported-media-type');
  if (contentType === undefined) throw new Fault('unsupported-media-type', { detail: missingType });
  switch (mediaType(contentType)) {
    case 'application/json':
      return { parameters: unwrap(parseJson(decode(bytes)), wrapper, errors), isForm: false };
    case 'application/x-www-form-urlencoded':
      return { parameters: unwrap(parseForm(decode(bytes), wrapper), wrapper, errors), isForm: true };
    default:
      throw new Fault('unsupported-media-type');
  }
}

/** The media type without its parameters; undefined if the charset is not UTF-8. */
function mediaType(contentType: string): string | undefined {
  const [type = '', ...parameters] = contentType.split(';');
  const charset = parameters
    .map((part) => part.trim().toLowerCase())
    .find((part) => part.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return undefined;
  return type.trim().toLowerCase();
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Fault('invalid-body', { detail: 'The body is not valid UTF-8.' });
  }
}

type Entries = readonly (readonly [name: string, value: unknown])[];

function parseJson(text: string): Entries {
  const { names, mayHoldInexactNumber } = outlineOf(text);
  let value: unknown;
  try {
    value = mayHoldInexactNumber ? JSON.parse(text, keepInexactNumbers) : JSON.parse(text);
  } catch {
    throw new Fault('invalid-body', { detail: 'The body is not valid JSON.' });
  }
  if (!isObject(value)) throw new Fault('invalid-body', { detail: 'The body is not an object.' });
  if (names !== countKeys(value)) assertNotRepeated(findRepeatedNames(text));
  return Object.entries(value);
}

const quote = 0x22;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const capitalE = 0x45;
const backslash = 0x5c;
const smallE = 0x65;

/** Properties of a JSON text that its value does not show. */
type Outline = {
  /** The number of names in all objects, including repeated ones. */
  readonly names: number;
  /** Whether a number may differ from the double that `JSON.parse` returns. */
  readonly mayHoldInexactNumber: boolean;
};

/** A number with at most this many digits and without an exponent is exact. Other numbers need the slower reviver. */
const exactDigitsMax = 15;

/** Scans a text once, about ten times faster than regular expressions. The text can be invalid JSON. */
function outlineOf(text: string): Outline {
  let names = 0;
  let mayHoldInexactNumber = false;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const symbol = text.charCodeAt(at);
    if (isDigitOrPoint(symbol)) {
      digits += 1;
      if (digits > exactDigitsMax) mayHoldInexactNumber = true;
      continue;
    }
    if (symbol === quote) at = endOfString(text, at);
    else if (symbol === colon) names += 1;
    else if (digits > 0 && isExponent(symbol)) mayHoldInexactNumber = true;
    digits = 0;
  }
  return { names, mayHoldInexactNumber };
}

/** The index of the quotation mark that ends the string. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

function isDigitOrPoint(symbol: number): boolean {
  return (symbol >= zero && symbol <= nine) || symbol === point;
}

function isExponent(symbol: number): boolean {
  return symbol === smallE || symbol === capitalE;
}

/** The number of keys in all objects of a value. It equals the number of names in the text unless one is repeated. */
function countKeys(root: object): number {
  let keys = 0;
  const found = [root];
  // A loop instead of recursion, because a body can be nested deeper than the stack.
  for (const value of found) {
    const members: unknown[] = Object.values(value);
    if (!Array.isArray(value)) keys += members.length;
    for (const member of members) {
      if (Array.isArray(member) || isObject(member)) found.push(member);
    }
  }
  return keys;
}

function assertNotRepeated(names: ReadonlySet<string>): void {
  if (names.size === 0) return;
  const errors = Object.fromEntries([...names].map((name) => [name, ['is repeated']]));
  throw new Fault('invalid-body', { errors });
}

/**
 * The names that occur more than once in one object of a valid JSON text. `JSON.parse` keeps the last one and other
 * parsers keep the first, so two programs could read different amounts from one body.
 */
function findRepeatedNames(text: string): ReadonlySet<string> {
  const repeated = new Set<string>();
  const objects: Set<string>[] = [];
  let last = '';
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '"': {
        const end = endOfString(text, at);
        last = text.slice(at, end + 1);
        at = end;
        break;
      }
      case '{':
      case '[':
        objects.push(new Set());
        break;
      case '}':
      case ']':
        objects.pop();
        break;
      case ':': {
        const name = JSON.parse(last) as string;
        const names = objects.at(-1);
        if (names?.has(name)) repeated.add(name);
        names?.add(name);
        break;
      }
      default:
    }
  }
  return repeated;
}

function keepInexactNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return isSameDecimal(context.source, String(value)) ? value : new InexactNumber(context.source);
}

/** Whether two decimal numbers, with or without exponents, are equal. */
function isSameDecimal(left: string, right: string): boolean {
  if (left === right) return true;
  const [one, other] = [normalize(left), normalize(right)];
  return one !== undefined && one === other;
}

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The sign, the digits without leading and trailing zeros, and the exponent of ten of a decimal number. */
function normalize(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = decimal.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === zero) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === zero) end -= 1;
  if (start === end) return '0';
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

function isObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof InexactNumber)
  );
}

/** The fields of a form. The fields `wrapper[name]` become one object. */
function parseForm(text: string, wrapper: string): Entries {
  if (/^\s*\{\s*"/.test(text)) throw new Fault('invalid-body', { detail: jsonAsForm });
  let fields;
  try {
    fields = parseUrlEncoded(text);
  } catch (error) {
    if (error instanceof MalformedError)
      throw new Fault('invalid-body', { detail: `The form is malformed: ${error.message}.` });
    throw error;
  }
  assertNotRepeated(findRepeated(fields));
  const bare: [string, unknown][] = [];
  const wrapped: [string, unknown][] = [];
  for (const [name, value] of fields) {
    const [, outer, part] = wrappedName.exec(name) ?? [];
    const inner = outer === wrapper ? part : undefined;
    (inner === undefined ? bare : wrapped).push([inner ?? name, value === '' ? null : value]);
  }
  return wrapped.length === 0 ? bare : [...bare, [wrapper, Object.fromEntries(wrapped)]];
}

function unwrap(entries: Entries, wrapper: string, errors: FieldErrors): ReadonlyMap<string, unknown> {
  const wrapped = entries.find(([name]) => name === wrapper);
  if (!wrapped) return new Map(entries);
  if (entries.length > 1) {
    errors.add(wrapper, 'cannot be combined with parameters outside it');
    return new Map();
  }
  const [, inner] = wrapped;
  if (!isObject(inner)) {
    errors.add(wrapper, 'must be an object');
    return new Map();
  }
  return new Map(Object.entries(inner));
}
