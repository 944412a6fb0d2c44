/** Responses: their members, their headers, and how a script's result becomes one. */

import type { Static, TSchema } from 'typebox';
import type { HttpResponse } from '../core/requests/service/http-response.ts';

export type Members = Readonly<Record<string, TSchema>>;

/** JSON that is sent as it was stored. */
export class StoredJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The headers of a successful response, in addition to those of every response. */
export type HeaderName = 'ETag' | 'Location' | OptionalHeader;

type OptionalHeader = 'Link' | 'Email-Status' | 'Recorded-From' | 'Code-Tried-At';

type HeadersOf<H extends readonly HeaderName[]> = {
  readonly [K in Exclude<H[number], OptionalHeader> as Lowercase<K>]: string;
} & { readonly [K in Extract<H[number], OptionalHeader> as Lowercase<K>]?: string };

type BodyOf<M extends Members> = { readonly [K in keyof M]: Static<M[K]> };

/** The result of a script: the members of the response, and its headers if the definition names any. */
export type Result<M extends Members, H extends readonly HeaderName[]> = {
  readonly body: BodyOf<M> | StoredJson;
  /** Whether the response can change without a new ETag, so that it is never a 304. */
  readonly isVolatile?: boolean;
} & ([] extends H ? { readonly headers?: never } : { readonly headers: HeadersOf<H> });

/** The result of a write. */
export type WriteResult<M extends Members, H extends readonly HeaderName[]> =
  | Result<M, H>
  /** The object of an earlier request with the same external id: the response is a 200. */
  | RepeatedResult;

type RepeatedResult = { readonly repeated: object; readonly headers?: Readonly<Record<string, string>> };

export type AnyWriteResult =
  RepeatedResult | { readonly body: object; readonly headers?: Readonly<Record<string, string>> };

export type ResponseOf<M extends Members, H extends readonly HeaderName[]> = {
  readonly description: string;
  readonly members: M;
  readonly example: NoInfer<BodyOf<M>>;
  readonly headers?: H;
};

/** Fields that a response returns only once. */
const secretFields: ReadonlySet<string> = new Set(['code', 'secret']);

/** Whether a response, or a part of its schema, has a field with a card's code or a secret. */
export function canHoldSecret(schema: object): boolean {
  return Object.entries(schema).some(
    ([name, part]: [string, unknown]) =>
      typeof part === 'object' && part !== null && (secretFields.has(name) || canHoldSecret(part)),
  );
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** The response for the result of a script. */
export function responseOf(
  status: number,
  result: { readonly body: object; readonly headers?: Readonly<Record<string, string>> },
): HttpResponse {
  const { body, headers } = result;
  return {
    status,
    headers: { ...jsonHeaders, ...headers },
    body: body instanceof StoredJson ? body.text : JSON.stringify(body),
  };
}
