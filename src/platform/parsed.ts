/**
 * The results of parsers. A parser does not throw for an invalid value: it returns an error message that reads after the
 * parameter's name, because one response contains all errors of a request.
 */

export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

export function accepted<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function rejected(error: string): Parsed<never> {
  return { ok: false, error };
}
