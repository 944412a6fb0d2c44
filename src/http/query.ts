/** A strict parser of `application/x-www-form-urlencoded`, for query strings and form bodies. */

import type { QueryParameter } from '../core/stores/domain/app-proxy.ts';

/** The text is not properly encoded. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

/**
 * The decoded parameters of a query or form, in their order.
 * @throws MalformedError for an invalid percent-encoding, or bytes that are not UTF-8.
 */
export function parseUrlEncoded(text: string): QueryParameter[] {
  const parameters: QueryParameter[] = [];
  for (const part of text.split('&')) {
    if (part === '') continue;
    const separator = part.indexOf('=');
    const [name, value] = separator < 0 ? [part, ''] : [part.slice(0, separator), part.slice(separator + 1)];
    parameters.push([decode(name), decode(value)]);
  }
  return parameters;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new MalformedError('a percent sign is followed by something that is not UTF-8');
  }
}

/** The query of a request target, without the question mark. */
export function queryOf(target: string): string {
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start + 1);
}

/** The names that occur more than once. */
export function findRepeated(parameters: readonly QueryParameter[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name] of parameters) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
  }
  return repeated;
}
