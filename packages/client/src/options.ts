/** Options of a client and of its requests. */

export interface ClientOptions {
  /** The root of the service with its base path: `https://cards.example.com`. */
  url: string;
  /** The access token of a store. Only a service in development mode accepts requests without one. */
  token?: string | undefined;
  /** The time that one attempt can take, in ms. The default is 30 seconds. */
  timeoutMs?: number | undefined;
  /** The visitor of all requests that do not name another one: see `visitor` of a request. */
  visitor?: string | undefined;
  retry?: RetryOptions | undefined;
  /** The longest response that is read, in bytes. The default is 64 MiB. */
  responseBytesMax?: number | undefined;
  /** Sends the requests. The default is the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** When a request without a response, or with one that asks to wait, is sent again. */
export interface RetryOptions {
  /** The attempts of one request, the first included. The default is 6; 1: no request is repeated. */
  attemptsMax?: number | undefined;
  /** The time of all attempts of one request and of the pauses between them, in ms. The default is 2 minutes. */
  totalMs?: number | undefined;
  /** The pause after the first attempt, in ms, which doubles each time up to 10 seconds. The default is 250. */
  pauseMs?: number | undefined;
}

export interface RequestOptions {
  /** Ends the request: it rejects with the reason of the signal. The outcome of a write that was sent is then unknown. */
  signal?: AbortSignal | undefined;
  /** The `X-Request-Id` that the service logs. It makes one itself by default. */
  requestId?: string | undefined;
  /**
   * The person who typed the code, 1 to 128 visible ASCII characters: a digest of the id of the customer or of
   * the address. Failed lookups count for this visitor instead of the token. null: none, whatever the client has.
   */
  visitor?: string | null | undefined;
}

export interface WriteOptions extends RequestOptions {
  /**
   * Identifies the write: the service applies it only once within 24 hours, however often it is sent. By default each call
   * has one of its own, which all of its attempts share.
   */
  idempotencyKey?: string | undefined;
  /** Whether the write only shows what it would do. */
  dryRun?: boolean | undefined;
}

export interface ConditionalWriteOptions extends WriteOptions {
  /** The ETag of a response (see `responseOf`): the write is rejected if the record has changed since. */
  ifMatch?: string | undefined;
}
