/** Responses as CSV. */

import Type from 'typebox';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import { accepted, rejected, type Parsed } from '../platform/parsed.ts';
import { field } from './field.ts';

export const formats = ['json', 'csv'] as const;

/** The parameter of an operation that responds with JSON or CSV. */
export const format = field(
  Type.Enum([...formats], { description: 'The form of the response; absent: as `Accept` says, or JSON.' }),
  (value): Parsed<(typeof formats)[number]> => {
    const known = formats.find((one) => one === value);
    return known ? accepted(known) : rejected(`must be ${formats.join(' or ')}`);
  },
);

/** The headers of a CSV file. @param name of the file. */
export function csvHeaders(name: string): HttpResponse['headers'] {
  return {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
    vary: 'Accept',
  };
}

/** Whether `Accept` prefers CSV to JSON (RFC 9110, 12.5.1). */
export function prefersCsv(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > 1_000) return false;
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    return { type, quality: Number.isNaN(value) ? 0 : value };
  });
  const qualityOf = (type: string): number => {
    const names = [type, `${type.split('/', 1)[0]}/*`, '*/*'];
    for (const name of names) {
      const range = ranges.find((one) => one.type === name);
      if (range) return range.quality;
    }
    return 0;
  };
  return qualityOf('text/csv') > qualityOf('application/json');
}
