/** One request and its answer on one connection, whatever the receiver does with it. */

import { request as requestPlain, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestSecure, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { codeOf, toldCode } from './error-code.ts';
import { excerptBytesMax, excerptOf, keptHeadersOf, type AnswerHeaders } from './excerpt.ts';
import { ForbiddenAddress, Unresolved } from './lookup.ts';
import type { Target } from './url.ts';

export type FailureReason =
  /** The address is no target, or no longer one. */
  | 'forbidden-target'
  /** The host resolves to an address that is not public. */
  | 'forbidden-address'
  /** The host does not resolve. */
  | 'dns'
  /** No connection: refused, unreachable. */
  | 'connect'
  /** No TLS, or a certificate that is not trusted or is another host's. */
  | 'tls'
  /** The exchange as a whole took too long. */
  | 'timeout'
  /** The answer's headers are too large. */
  | 'too-large'
  /** What was answered is not HTTP. */
  | 'protocol'
  /** The receiver closed the connection before its answer was complete. */
  | 'closed'
  /** The caller's signal. */
  | 'cancelled';

export type Answered = {
  readonly kind: 'answered';
  /** Any but an informational one; a redirect is not followed, so 3xx is no success. */
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The first 4 KiB as text, control characters replaced; empty if the receiver compressed it unasked. */
  readonly body: string;
  /** Whether the connection was cut off because the body went on past the limit. The status counts all the same. */
  readonly isCutOff: boolean;
};

export type Failed = {
  readonly kind: 'failed';
  readonly reason: FailureReason;
  /** A sentence for the store's people, without a full stop; it names no address and quotes nothing. */
  readonly detail: string;
};

/** `stale`: a kept connection turned out to be closed; the same request may go out on a new one. */
export type Outcome = Answered | Failed | { readonly kind: 'stale' };

export type ExchangeLimits = {
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
};

export type Exchange = {
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly agent: Agent;
  readonly lookup: LookupFunction;
  readonly limits: ExchangeLimits;
  /** Aborted with the reason `timeout` or `cancelled`. */
  readonly stop: AbortSignal;
};

/** How far an exchange has come. */
type Progress = { stage: 'connecting' | 'securing' | 'asking' | 'answering'; status: number };

/** 1xx answers before the one that counts. */
const informationalMax = 8;

/** Sends one request. @throws TypeError if a header cannot be sent: that is the caller's mistake. */
export function exchange(given: Exchange): Promise<Outcome> {
  const { target, stop, limits } = given;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const progress: Progress = { stage: 'connecting', status: 0 };
  const request = open(given);
  let isSettled = false;
  const settle = (outcome: Outcome, isAtRest = false): void => {
    // Once at rest, the connection may already serve another request.
    if (isSettled) return;
    isSettled = true;
    stop.removeEventListener('abort', stopped);
    resolve(outcome);
    if (!isAtRest || !request.writableFinished) request.destroy();
  };
  const stopped = (): void => settle(stopOf(stop.reason === 'cancelled', progress));
  if (stop.aborted) stopped();
  stop.addEventListener('abort', stopped, { once: true });
  let informational = 0;
  request
    .on('socket', (socket) => track(socket, target.isSecure, progress))
    .on('error', (error) => settle(isStale(request, error) ? { kind: 'stale' } : failureOf(error, progress)))
    .on('information', () => {
      informational += 1;
      if (informational > informationalMax) settle(failed('protocol', 'answered with 1xx only'));
    })
    .on('upgrade', (_response, socket) => {
      socket.destroy();
      settle(failed('protocol', 'answered with a change of protocol'));
    })
    .on('response', (response) => {
      progress.stage = 'answering';
      progress.status = response.statusCode ?? 0;
      receive(response, limits, progress, settle);
    });
  request.end(given.body);
  return promise;
}

function open({ target, headers, body, agent, lookup, limits }: Exchange): ClientRequest {
  const options: RequestOptions = {
    agent,
    lookup,
    method: 'POST',
    host: target.host,
    port: target.port,
    path: target.path,
    // The name that is asked for and that the certificate must have; an address has none, and is compared itself.
    servername: isIP(target.host) === 0 ? target.host : '',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    maxHeaderSize: limits.headerBytesMax,
    insecureHTTPParser: false,
  };
  return target.isSecure ? requestSecure(options) : requestPlain(options);
}

function track(
  socket: Duplex & { readonly connecting?: boolean },
  isSecure: boolean,
  progress: Progress,
): void {
  if (socket.connecting !== true) {
    progress.stage = 'asking';
    return;
  }
  socket.once('connect', () => {
    progress.stage = isSecure ? 'securing' : 'asking';
  });
  socket.once('secureConnect', () => {
    progress.stage = 'asking';
  });
}

/** Reads the body to its end or to the limit. */
function receive(
  response: IncomingMessage,
  limits: ExchangeLimits,
  progress: Progress,
  settle: (outcome: Outcome, isAtRest?: boolean) => void,
): void {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const answer = (isCutOff: boolean): Answered => ({
    kind: 'answered',
    status: progress.status,
    headers: keptHeadersOf(response.headers),
    body: isCompressed(response) ? '' : excerptOf(Buffer.concat(chunks)),
    isCutOff,
  });
  response
    .on('data', (chunk: Uint8Array) => {
      if (length <= excerptBytesMax) chunks.push(chunk);
      length += chunk.length;
      if (length > limits.bodyBytesMax) settle(answer(true));
    })
    .on('end', () => settle(answer(false), true))
    .on('error', (error) => settle(failureOf(error, progress)));
}

function isCompressed({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}

export function failed(reason: FailureReason, detail: string): Failed {
  return { kind: 'failed', reason, detail };
}

function stopOf(isCancelled: boolean, { stage, status }: Progress): Failed {
  if (isCancelled) return failed('cancelled', 'the attempt was called off');
  switch (stage) {
    case 'connecting':
      return failed('timeout', 'no connection in time');
    case 'securing':
      return failed('timeout', 'TLS was not agreed on in time');
    case 'asking':
      return failed('timeout', 'no answer in time');
    case 'answering':
      // The status may have been sent before the work was done; to post again is what cannot lose an event.
      return failed('timeout', `answered ${status}, but the answer did not end in time`);
  }
}

/** A receiver may close a kept connection at the moment when it is used again. */
function isStale(request: ClientRequest, error: Error): boolean {
  return request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

function failureOf(error: Error, { stage, status }: Progress): Failed {
  if (error instanceof ForbiddenAddress) return failed('forbidden-address', error.message);
  if (error instanceof Unresolved) return failed('dns', error.message);
  const code = codeOf(error);
  const told = toldCode(error);
  if (/^HPE_(?:HEADER|CHUNK_EXTENSIONS)_OVERFLOW$/.test(code))
    return failed('too-large', 'the headers of the answer are too large');
  if (code.startsWith('HPE_')) return failed('protocol', `the answer is not HTTP${told}`);
  if (stage === 'connecting') return failed('connect', `no connection${told}`);
  if (stage === 'securing' || /^ERR_(?:SSL|TLS)_/.test(code))
    return failed('tls', `no TLS, or a certificate that is not valid for the host${told}`);
  if (stage === 'answering')
    return failed(
      'closed',
      `answered ${status}, but closed the connection before the end of the answer${told}`,
    );
  return failed('closed', `closed the connection without an answer${told}`);
}
