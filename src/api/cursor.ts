/**
 * Cursors: where the next page of a list begins. Clients do not interpret them. A cursor is authenticated together with
 * its list, so another one, and one of other filters, is rejected. It contains public ids, never internal ones.
 */

import Type from 'typebox';
import type { Context } from '../context.ts';
import { Fault } from '../domain/fault.ts';
import { accepted, rejected, type Parsed } from '../domain/parsed.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sameBytes } from '../keys.ts';
import { field } from './field.ts';
import { pageLink } from './list.ts';

const cursorForm = /^([A-Za-z0-9_-]{1,100})\.([A-Za-z0-9_-]{22})$/;
const cursorLengthMax = 123;
const tagLength = 16;

export const cursor = field<string>(
  Type.String({
    maxLength: cursorLengthMax,
    description:
      'The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page.',
  }),
  (value): Parsed<string> =>
    typeof value === 'string' && value.length <= cursorLengthMax && cursorForm.test(value)
      ? accepted(value)
      : rejected(notACursor),
);

const notACursor = 'must be the next_cursor of a page with the same filters and sort';

/** What a cursor belongs to: a list, with its filters and order. */
export type CursorScope = readonly unknown[];

/** What a cursor contains. */
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

/** `next_cursor` in the response of a list. */
export const nextCursorSchema = Type.Union([Type.String(), Type.Null()], {
  description: 'The `cursor` of the next page; null: this is the last page.',
});

/** The header with the next page of a list. */
export function nextLink(
  requestContext: RequestContext,
  nextCursor: string | null,
): { readonly link?: string } {
  if (nextCursor === null) return {};
  const parameters = new URLSearchParams(
    requestContext.query.filter(([name]) => name !== 'cursor').map(([name, value]) => [name, value]),
  );
  parameters.set('cursor', nextCursor);
  return { link: pageLink(requestContext, parameters.toString(), 'next') };
}
