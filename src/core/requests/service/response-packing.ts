/**
 * Packs the responses of idempotency records: a control character replaces each phrase of a list, which shrinks the
 * response to a debit from 1,000 bytes to 250 in 2 µs. Deflate with a dictionary leaves 100, but adds 20 µs to the 90 µs
 * of a creation with a key.
 */

import assert from 'node:assert/strict';
import type { HttpResponse } from './http-response.ts';

/** Phrases in the order of their codes. Append only: stored responses refer to a phrase by its index. */
const phrases: readonly string[] = [
  '{"status":201,"headers":{"content-type":"application/json; charset=utf-8","cache-control":"no-store","etag":"\\"',
  '{"status":200,"headers":{"content-type":"application/json; charset=utf-8","cache-control":"no-store","etag":"\\"',
  '\\"","location":"',
  '"}}\n{"gift_card":{"id":',
  ',"balance":"',
  '","created_at":"',
  'Z","currency":"',
  '","initial_value":"',
  '","disabled_at":null,"line_item_id":null,"api_client_id":',
  ',"user_id":null,"customer_id":',
  ',"user_id":null,"customer_id":null,"customer_email":null,"recipient_id":',
  ',"user_id":null,"customer_id":null,"customer_email":null,"recipient_id":null,"recipient_email":null,"note":null,"expires_on":null,"message":null,"last_characters":"',
  ',"customer_email":',
  ',"recipient_id":null,"recipient_email":null,"note":',
  ',"recipient_email":',
  ',"note":',
  ',"expires_on":null,"message":null,"last_characters":"',
  ',"message":',
  ',"last_characters":"',
  '","order_id":null,"code":"',
  '","order_id":null,"held":"',
  '","available":"',
  '"}}\n{"transaction":{"id":',
  ',"gift_card_id":',
  ',"kind":"debit","amount":"-',
  '","balance_after":"',
  '","actor":"api_client:',
  '","reference":null,"note":null,"order_id":null,"order_reference":null,"external_id":null,"location_id":null,"hold_id":null,"reverses":null,"created_at":"',
  'Z"},"gift_card":{"id":',
  '","currency":"',
  // The codes of the following phrases have two bytes.
  '"}}\n{"hold":{"id":',
  ',"status":"open","amount":"',
  '","captured_amount":"0.00","currency":"',
  '","reference":null,"note":null,"order_id":null,"order_reference":null,"external_id":null,"location_id":null,"created_at":"',
  'Z","expires_at":"',
  'Z","closed_at":null},"gift_card":{"id":',
  '","reference":"',
  '","note":null,"order_id":null,"order_reference":null,"external_id":null,"location_id":null,"hold_id":null,"reverses":null,"created_at":"',
  '","note":null,"order_id":null,"order_reference":null,"external_id":null,"location_id":null,"created_at":"',
  '","order_id":',
  ',"hold_id":',
  ',"reverses":',
  '{"status":422,"headers":{"content-type":"application/problem+json; charset=utf-8","cache-control":"no-store"}}\n{"type":"',
  '{"status":404,"headers":{"content-type":"application/problem+json; charset=utf-8","cache-control":"no-store"}}\n{"type":"',
  '/docs/problems/',
  '","status":422,"detail":"',
  '","errors":',
  ',"request_id":"',
];

/** The first byte of a packed response. Older versions stored JSON, which starts with `{`. */
const format = 1;
const escapeCode = 0x1f;
const escapeCharacter = String.fromCharCode(escapeCode);
/** Control characters: 30 of one byte in UTF-8, then 32 of two. No line feed, because it ends the head. */
const codes = [...Array(escapeCode).keys(), ...Array.from({ length: 32 }, (_, place) => 0x80 + place)]
  .filter((code) => code !== 0x0a)
  .map((code) => String.fromCharCode(code));

assert(phrases.length <= codes.length, 'there are more phrases than codes');
const codeOf = new Map(phrases.map((phrase, place) => [phrase, codes[place] ?? '']));
const phraseOf = new Map(Array.from(codeOf, ([phrase, code]) => [code, phrase]));
const longestFirst = phrases.toSorted((one, other) => other.length - one.length);
const control = String.raw`[\x00-\x09\x0b-\x1f\x80-\x9f]`;
const toPack = new RegExp([...longestFirst.map((phrase) => RegExp.escape(phrase)), control].join('|'), 'g');
const toUnpack = new RegExp(String.raw`\x1f(.)|${control}`, 'gs');

/** Packs the status and the headers, a line feed, and the body. A control character of the body itself is escaped. */
export function packResponse({ body, ...head }: HttpResponse): Uint8Array {
  const text = `${JSON.stringify(head)}\n${body}`;
  const packed = text.replace(toPack, (found) => codeOf.get(found) ?? escapeCharacter + found);
  return Buffer.from(String.fromCharCode(format) + packed);
}

/** Unpacks the result of `packResponse`, or JSON from older versions. @throws Error if it is neither. */
export function unpackResponse(bytes: Uint8Array): HttpResponse {
  if (bytes[0] !== format) return JSON.parse(textOf(bytes)) as HttpResponse;
  const text = textOf(bytes.subarray(1)).replace(
    toUnpack,
    (code, escaped?: string) => escaped ?? phraseOf.get(code) ?? '',
  );
  const end = text.indexOf('\n');
  return { ...(JSON.parse(text.slice(0, end)) as Omit<HttpResponse, 'body'>), body: text.slice(end + 1) };
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
