/**
 * Apple's push service, which notifies devices that a pass has changed. A store has one connection, which stays open while it is
 * used, because Apple rejects clients that open many.
 */

import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { rootCertificates } from 'node:tls';
import type { AppleCredential } from '../../domain/wallet.ts';
import { publicErrorCode } from '../../../../platform/error-code.ts';
import { parseRetryAfter } from '../../../../platform/retry-after.ts';
import type { PublicNetwork } from '../../../../delivery/public-socket.ts';
import {
  checkedLookup,
  ForbiddenAddress,
  systemResolve,
  Unresolved,
} from '../../../../delivery/public-lookup.ts';

const host = 'api.push.apple.com';
const timeoutMs = 10_000;
/** A connection without a request is closed. */
const idleMs = 5 * 60_000;
const connectionsMax = 64;
const responseBytesMax = 4_096;

type PushResult =
  | { readonly kind: 'sent' }
  /** The device has removed the pass. */
  | { readonly kind: 'gone' }
  /** @param detail a sentence without a full stop. @param isOurs whether the certificate or this service is rejected. */
  | { readonly kind: 'failed'; readonly detail: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'cancelled' };

export type Pusher = {
  /** @param key identifies the credential. Every failure is a result. */
  readonly push: (
    connection: { readonly key: string; readonly credential: AppleCredential },
    request: { readonly topic: string; readonly pushToken: string; readonly signal: AbortSignal },
  ) => Promise<PushResult>;
  [Symbol.dispose](): void;
};

/** Reasons for which a device never receives a push with this token. */
const goneReasons: ReadonlySet<string> = new Set([
  'BadDeviceToken',
  'Unregistered',
  'DeviceTokenNotForTopic',
]);

export function openPusher(network: PublicNetwork, now: () => number): Pusher {
  const sessions = new Map<string, ClientHttp2Session>();

  function sessionOf(key: string, credential: AppleCredential): ClientHttp2Session {
    const open = sessions.get(key);
    if (open && !open.closed && !open.destroyed) return open;
    const [oldest] = sessions.keys();
    if (sessions.size >= connectionsMax && oldest !== undefined) {
      sessions.get(oldest)?.close();
      sessions.delete(oldest);
    }
    const session = openSession(network, credential);
    const forget = (): void => {
      if (sessions.get(key) === session) sessions.delete(key);
    };
    session.on('close', forget).on('goaway', forget);
    sessions.set(key, session);
    return session;
  }

  return {
    async push({ key, credential }, request) {
      return await send(sessionOf(key, credential), request, now);
    },
    [Symbol.dispose]() {
      for (const session of sessions.values()) session.destroy();
    },
  };
}

function openSession(
  { resolve = systemResolve(), rerouteForTests: reroute, authority }: PublicNetwork,
  { certificate, key }: AppleCredential,
): ClientHttp2Session {
  const port = reroute ? reroute.port(443) : 443;
  const session = connect(`https://${host}:${port}`, {
    lookup: checkedLookup({ resolve, rerouteForTests: reroute?.address }),
    cert: certificate,
    key: key.reveal(),
    servername: host,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(authority !== undefined && { ca: [...rootCertificates, authority] }),
  });
  session.setTimeout(idleMs, () => session.close());
  // The error ends its requests, which report it.
  session.on('error', () => undefined);
  // Each request in progress has one.
  session.setMaxListeners(0);
  session.unref();
  return session;
}

function send(
  session: ClientHttp2Session,
  {
    topic,
    pushToken,
    signal,
  }: { readonly topic: string; readonly pushToken: string; readonly signal: AbortSignal },
  now: () => number,
): Promise<PushResult> {
  const { promise, resolve } = Promise.withResolvers<PushResult>();
  const failed = (detail: string): void => resolve({ kind: 'failed', detail, retryAfterMs: null });
  const lost = (error: unknown): void => failed(connectionFailure(error));
  session.once('error', lost);
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: `/3/device/${pushToken}`,
    'apns-topic': topic,
    'apns-push-type': 'background',
    'apns-priority': '5',
  });
  let status = 0;
  let retryAfter: string | undefined;
  let body = '';
  stream
    .setEncoding('utf8')
    .on('response', (headers) => {
      status = headers[':status'] ?? 0;
      retryAfter = headers['retry-after'];
    })
    .on('data', (text: string) => {
      if (body.length < responseBytesMax) body += text;
    })
    .on('error', lost)
    .on('end', () => {
      // A lost connection ends the stream too.
      if (status !== 0) resolve(resultOf(status, reasonIn(body), parseRetryAfter(retryAfter, now())));
    })
    .on('close', () => failed('the connection was closed without a response'));
  const cancel = (): void => {
    resolve({ kind: 'cancelled' });
    stream.close(constants.NGHTTP2_CANCEL);
  };
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  const late = setTimeout(() => {
    failed('no response in time');
    // The connection can be dead without having ended.
    session.destroy();
  }, timeoutMs);
  stream.end('{}');
  return promise.finally(() => {
    clearTimeout(late);
    signal.removeEventListener('abort', cancel);
    session.off('error', lost);
  });
}

function connectionFailure(error: unknown): string {
  if (error instanceof ForbiddenAddress || error instanceof Unresolved) return error.message;
  return `the connection failed${publicErrorCode(error)}`;
}

/** The reason in the JSON of an error, one word. */
function reasonIn(body: string): string {
  return /"reason"\s{0,9}:\s{0,9}"(\w{1,60})"/.exec(body)?.[1] ?? '';
}

function resultOf(status: number, reason: string, retryAfterMs: number | null): PushResult {
  if (status === 200) return { kind: 'sent' };
  if (status === 410 || (status === 400 && goneReasons.has(reason))) return { kind: 'gone' };
  return { kind: 'failed', detail: `responded with ${status} ${reason}`.trim(), retryAfterMs };
}
