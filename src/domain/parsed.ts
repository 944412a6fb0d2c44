/**
 * Parsed values: what reading an outside value gives.
 *
 * A parser never throws for a bad value: it answers the refusal in words that read after the
 * parameter's name, so that all refusals of one request can be told together.
 */

export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: string };

export function accepted<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function refused(refusal: string): Parsed<never> {
  return { ok: false, refusal };
}
