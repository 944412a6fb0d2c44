/** Requests to a certificate authority: over HTTPS only, with limits on the time and on the response. */

import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { textOfResponse } from '../../../../platform/response-text.ts';
import { version } from '../../../../platform/version.ts';

export type AcmeResponse = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
};

type AcmeRequest = { readonly method: 'GET' | 'HEAD' } | { readonly method: 'POST'; readonly body: string };

export type AcmeConnection = Disposable & {
  /** @throws Error if there is no complete response within the limits; it has a `code` if the connection failed. */
  readonly send: (url: string, request: AcmeRequest) => Promise<AcmeResponse>;
};

const timeoutMs = 15_000;
const responseBytesMax = 262_144;

/** @param authority certificates (PEM) to trust instead of the public ones. */
export function openAcmeConnection({
  authority,
  signal,
}: {
  readonly authority: string | null;
  readonly signal: AbortSignal;
}): AcmeConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(authority !== null && { ca: authority }) });
  return {
    async send(url, sent) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        return await respond(url, { sent, agent, signal: AbortSignal.any([signal, timeout]) });
      } catch (error) {
        if (!timeout.aborted || signal.aborted) throw error;
        throw Object.assign(new Error(`no response within ${timeoutMs / 1_000} s`), { code: 'TIMEOUT' });
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function respond(
  url: string,
  {
    sent,
    agent,
    signal,
  }: { readonly sent: AcmeRequest; readonly agent: Agent; readonly signal: AbortSignal },
): Promise<AcmeResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<AcmeResponse>();
  const headers = {
    'user-agent': `largesse/${version}`,
    'accept-language': 'en',
    ...(sent.method === 'POST' && { 'content-type': 'application/jose+json' }),
  };
  const outgoing = request(url, { method: sent.method, agent, signal, headers });
  outgoing.on('error', reject);
  outgoing.on('response', (response) => {
    const { statusCode: status = 0, headers: received } = response;
    textOfResponse(response, responseBytesMax).then(
      (text) => resolve({ status, headers: received, text }),
      reject,
    );
  });
  outgoing.end(sent.method === 'POST' ? sent.body : undefined);
  return promise;
}
