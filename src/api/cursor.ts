/** The cursors of lists in requests and responses. */

import Type from 'typebox';
import { accepted, rejected, type Parsed } from '../platform/parsed.ts';
import type { RequestContext } from '../http/request-context.ts';
import { cursorLengthMax, isCursor, notACursor } from '../core/requests/service/cursor.ts';
import { field } from './field.ts';
import { pageLink } from './list.ts';

export const cursor = field<string>(
  Type.String({
    maxLength: cursorLengthMax,
    description:
      'The page after this position: `next_cursor` of the page before, with the same filters and sort. By default the first page.',
  }),
  (value): Parsed<string> =>
    typeof value === 'string' && isCursor(value) ? accepted(value) : rejected(notACursor),
);

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
