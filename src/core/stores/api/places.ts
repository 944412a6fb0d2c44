/** Lists by the places of their entries, from 0: a page as JSON, or all entries from a place on as CSV. */

import { Readable } from 'node:stream';
import Type from 'typebox';
import type { RequestContext, Streamed } from '../../../http/request-context.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { field, integerFromForm, type Field } from '../../../api/field.ts';
import { limit as limitField, limitDefault, pageLink } from '../../../api/list.ts';
import { csvHeaders, format, prefersCsv } from '../../../api/csv.ts';
import { responseOf } from '../../../api/response.ts';

/** @param description of the parameter `from`. */
export function placesQuery(description: string): {
  readonly limit: typeof limitField;
  readonly from: Field<number, false>;
  readonly format: typeof format;
} {
  return {
    limit: limitField,
    from: field<number>(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description, examples: [50] }),
      (value) =>
        typeof value === 'number' && Number.isSafeInteger(value)
          ? accepted(value)
          : rejected('must be an integer from 1 to 2^53 - 1'),
      integerFromForm,
    ),
    format,
  };
}

type Query = { readonly limit?: number; readonly from?: number; readonly format?: string };

/** The query of a request. */
export function placesOf(
  { limit = limitDefault, from = 0, format: sent }: Query,
  { request }: Pick<RequestContext, 'request'>,
): { readonly limit: number; readonly from: number; readonly isCsv: boolean } {
  return { limit, from, isCsv: sent ? sent === 'csv' : prefersCsv(request.headers.accept) };
}

/** The storage for a file: other requests run between its reads. */
export function readsOf({ turns, storage }: RequestContext): Pick<RequestContext['storage'], 'read'> {
  return { read: (script) => turns(() => storage.read(script)) };
}

/** @param parts of the file; without the body of a `HEAD`, they are not read. */
export function csvOfPlaces(
  { request }: Pick<RequestContext, 'request'>,
  { name, parts }: { readonly name: string; readonly parts: () => AsyncIterable<string> },
): Streamed {
  return {
    status: 200,
    headers: csvHeaders(name),
    stream: Readable.from(request.method === 'HEAD' ? [] : parts()),
  };
}

/** @param page.next the place at which the next page begins; null: there is none. */
export function pageOfPlaces(
  requestContext: RequestContext,
  { body, next, limit }: { readonly body: object; readonly next: number | null; readonly limit: number },
): ReturnType<typeof responseOf> {
  const link = next === null ? null : pageLink(requestContext, `limit=${limit}&from=${next}`, 'next');
  return responseOf(200, { body, headers: { vary: 'Accept', ...(link !== null && { link }) } });
}
