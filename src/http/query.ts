/** Query strings and form bodies: `application/x-www-form-urlencoded`, read strictly. */

import type { QueryParameter } from '../domain/app-proxy.ts';

/** A text that is not properly encoded. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

/**
 * The parameters of a query or form in their order, decoded.
 * @throws MalformedError for a percent sign that encodes nothing, or bytes that are not UTF-8.
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

/** The query of a request's target, without the question mark. */
export function queryOf(target: string): string {
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start + 1);
}

/** The names that stand more than once, each once. */
export function findRepeated(parameters: readonly QueryParameter[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name] of parameters) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
  }
  return repeated;
}
