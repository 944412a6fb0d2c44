/**
 * Cursors: where the next page of a list begins. Clients do not interpret them. A cursor is authenticated together with
 * its list, so another one, and one of other filters, is rejected. It contains public ids, never internal ones.
 */

import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import { sameBytes } from '../../../platform/keys.ts';

const cursorForm = /^([A-Za-z0-9_-]{1,100})\.([A-Za-z0-9_-]{22})$/;
export const cursorLengthMax = 123;
const tagLength = 16;

export const notACursor = 'must be the next_cursor of a page with the same filters and sort';

export function isCursor(text: string): boolean {
  return text.length <= cursorLengthMax && cursorForm.test(text);
}

/** The list that a cursor belongs to, with its filters and order. */
export type CursorScope = readonly unknown[];

/** The content of a cursor. */
export type CursorContent = readonly (string | number | null)[];

function textOf(scope: CursorScope, content: string): string {
  return JSON.stringify([scope, content], (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

export function cursorOf({ keys }: Context, scope: CursorScope, content: CursorContent): string {
  const body = Buffer.from(JSON.stringify(content)).toString('base64url');
  const tag = keys.digest('list-cursor', textOf(scope, body)).subarray(0, tagLength);
  return `${body}.${Buffer.from(tag).toString('base64url')}`;
}

/** The content of a cursor. @throws Fault `invalid-query` if it is not a cursor of this scope. */
export function readCursor({ keys }: Context, scope: CursorScope, text: string): CursorContent {
  const [, body = '', tag = ''] = cursorForm.exec(text) ?? [];
  const sent = Buffer.from(tag, 'base64url');
  const isOurs = keys
    .digests('list-cursor', textOf(scope, body))
    .some((digest) => sameBytes(digest.subarray(0, tagLength), sent));
  if (!isOurs) throw new Fault('invalid-query', { errors: { cursor: [notACursor] } });
  // The service has written it.
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as CursorContent;
}
