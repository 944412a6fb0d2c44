/** Operations as the server sees them. The server imports none of them; the wiring passes them in. */

import type { Scope } from '../core/stores/domain/store.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import type { RequestContext, Streamed } from './request-context.ts';

export type Route = {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base path, in the router's notation. */
  readonly path: string;
  /** Any one of them is enough. */
  readonly scopes: readonly Scope[];
  /** The accepted query parameters, in addition to those of the app proxy. */
  readonly query: readonly string[];
  /** Whether a signed-in customer can call it without a token, if the store allows it. */
  readonly customerMaySearch: boolean;
  /** Maximum length of its body; absent: the one of all operations. */
  readonly bodyBytesMax?: number;
  readonly handle: (requestContext: RequestContext) => Promise<HttpResponse | Streamed>;
};
