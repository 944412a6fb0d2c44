/** Sends one HTTP request on one connection and reads a bounded part of the response. */

import { request as requestPlain, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestSecure, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { codeOf, publicErrorCode } from '../../../platform/error-code.ts';
import { excerptBytesMax, excerptOf, keptHeadersOf, type ResponseHeaders } from './excerpt.ts';
import { ForbiddenAddress, Unresolved } from '../../../delivery/public-lookup.ts';
import type { WebhookUrl } from './url.ts';

export type FailureReason =
  /** The URL is no longer a valid webhook URL. */
  | 'forbidden-target'
  /** The host resolves to a non-public address. */
  | 'forbidden-address'
  /** The host does not resolve. */
  | 'dns'
  /** No connection, for example because the port is closed or the host is unreachable. */
  | 'connect'
  /** No TLS, or a certificate that is untrusted or for another host. */
  | 'tls'
  /** The request took too long. */
  | 'timeout'
  /** The headers of the response are too large. */
  | 'too-large'
  /** The response is not HTTP. */
  | 'protocol'
  /** The receiver closed the connection before the end of its response. */
  | 'closed'
  /** The caller's signal was aborted. */
  | 'cancelled';

export type WebhookResponse = {
  readonly kind: 'responded';
  /** Not an informational one. Redirects are not followed, so 3xx is a failure. */
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The first 4 KiB as text, control characters replaced; empty if the receiver compressed it. */
  readonly body: string;
  /** Whether the connection was closed because the body exceeded the limit. The status counts. */
  readonly isCutOff: boolean;
};

export type Failed = {
  readonly kind: 'failed';
  readonly reason: FailureReason;
  /** A sentence for the store without a full stop; it contains no address and no quotation. */
  readonly detail: string;
};

/** `stale`: the receiver had closed the keep-alive connection; the request can be repeated on a new one. */
export type HttpOutcome = WebhookResponse | Failed | { readonly kind: 'stale' };

export type ResponseLimits = { readonly bodyBytesMax: number; readonly headerBytesMax: number };

export type HttpRequest = {
  readonly url: WebhookUrl;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly agent: Agent;
  readonly lookup: LookupFunction;
  readonly limits: ResponseLimits;
  /** Aborted with the reason `timeout` or `cancelled`. */
  readonly stop: AbortSignal;
};

/** The progress of a request. */
type Progress = { stage: 'connecting' | 'securing' | 'requesting' | 'responding'; status: number };

/** 1xx responses before the final one. */
const informationalMax = 8;

/** Sends a request. @throws TypeError if a header is invalid. */
export function sendRequest(options: HttpRequest): Promise<HttpOutcome> {
  const { url, stop, limits } = options;
  const { promise, resolve } = Promise.withResolvers<HttpOutcome>();
  const progress: Progress = { stage: 'connecting', status: 0 };
  const request = open(options);
  let isSettled = false;
  const settle = (outcome: HttpOutcome, isComplete = false): void => {
    // After the end of the response, the connection may already serve another request.
    if (isSettled) return;
    isSettled = true;
    stop.removeEventListener('abort', stopped);
    resolve(outcome);
    if (!isComplete || !request.writableFinished) request.destroy();
  };
  const stopped = (): void => settle(stopOf(stop.reason === 'cancelled', progress));
  if (stop.aborted) stopped();
  stop.addEventListener('abort', stopped, { once: true });
  let informational = 0;
  request
    .on('socket', (socket) => track(socket, url.isSecure, progress))
    .on('error', (error) => settle(isStale(request, error) ? { kind: 'stale' } : failureOf(error, progress)))
    .on('information', () => {
      informational += 1;
      if (informational > informationalMax) settle(failed('protocol', 'responded with 1xx only'));
    })
    .on('upgrade', (_response, socket) => {
      socket.destroy();
      settle(failed('protocol', 'responded with a change of protocol'));
    })
    .on('response', (response) => {
      progress.stage = 'responding';
      progress.status = response.statusCode ?? 0;
      receive(response, limits, progress, settle);
    });
  request.end(options.body);
  return promise;
}

function open({ url, headers, body, agent, lookup, limits }: HttpRequest): ClientRequest {
  const options: RequestOptions = {
    agent,
    lookup,
    method: 'POST',
    host: url.host,
    port: url.port,
    path: url.path,
    // The name for SNI and the certificate; without a name, the certificate is compared with the address.
    servername: isIP(url.host) === 0 ? url.host : '',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    maxHeaderSize: limits.headerBytesMax,
    insecureHTTPParser: false,
  };
  return url.isSecure ? requestSecure(options) : requestPlain(options);
}

function track(
  socket: Duplex & { readonly connecting?: boolean },
  isSecure: boolean,
  progress: Progress,
): void {
  if (socket.connecting !== true) {
    progress.stage = 'requesting';
    return;
  }
  socket.once('connect', () => {
    progress.stage = isSecure ? 'securing' : 'requesting';
  });
  socket.once('secureConnect', () => {
    progress.stage = 'requesting';
  });
}

/** Reads the body to its end or to the limit. */
function receive(
  response: IncomingMessage,
  limits: ResponseLimits,
  progress: Progress,
  settle: (outcome: HttpOutcome, isComplete?: boolean) => void,
): void {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const responseOf = (isCutOff: boolean): WebhookResponse => ({
    kind: 'responded',
    status: progress.status,
    headers: keptHeadersOf(response.headers),
    body: isCompressed(response) ? '' : excerptOf(Buffer.concat(chunks)),
    isCutOff,
  });
  response
    .on('data', (chunk: Uint8Array) => {
      if (length <= excerptBytesMax) chunks.push(chunk);
      length += chunk.length;
      if (length > limits.bodyBytesMax) settle(responseOf(true));
    })
    .on('end', () => settle(responseOf(false), true))
    .on('error', (error) => settle(failureOf(error, progress)));
}

function isCompressed({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}

export function failed(reason: FailureReason, detail: string): Failed {
  return { kind: 'failed', reason, detail };
}

function stopOf(isCancelled: boolean, { stage, status }: Progress): Failed {
  if (isCancelled) return failed('cancelled', 'the attempt was aborted');
  switch (stage) {
    case 'connecting':
      return failed('timeout', 'no connection in time');
    case 'securing':
      return failed('timeout', 'no TLS in time');
    case 'requesting':
      return failed('timeout', 'no response in time');
    case 'responding':
      // The receiver may have failed after it sent the status, so only a retry cannot lose the event.
      return failed('timeout', `responded with ${status}, but the response did not end in time`);
  }
}

/** A receiver can close a keep-alive connection at the moment of its next use. */
function isStale(request: ClientRequest, error: Error): boolean {
  return request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

function failureOf(error: Error, { stage, status }: Progress): Failed {
  if (error instanceof ForbiddenAddress) return failed('forbidden-address', error.message);
  if (error instanceof Unresolved) return failed('dns', error.message);
  const code = codeOf(error);
  const codeText = publicErrorCode(error);
  if (/^HPE_(?:HEADER|CHUNK_EXTENSIONS)_OVERFLOW$/.test(code))
    return failed('too-large', 'the headers of the response are too large');
  if (code.startsWith('HPE_')) return failed('protocol', `the response is not HTTP${codeText}`);
  if (stage === 'connecting') return failed('connect', `no connection${codeText}`);
  if (stage === 'securing' || /^ERR_(?:SSL|TLS)_/.test(code))
    return failed('tls', `no TLS, or a certificate that is not valid for the host${codeText}`);
  if (stage === 'responding')
    return failed(
      'closed',
      `responded with ${status}, but closed the connection before the end of the response${codeText}`,
    );
  return failed('closed', `closed the connection without a response${codeText}`);
}
