/** Requests over HTTPS to a service on this machine, whatever its name is. */

import { Agent, request } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';

export type SecureResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The serial number of the certificate. */
  readonly serial: string;
  readonly protocol: string | null;
};

export type SecureRequest = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A certificate authority (PEM) to trust. */
  readonly ca: string;
  /** Default: a connection of its own. */
  readonly agent?: Agent;
};

/** Sends a request to this machine, at the port of the URL, with the name of the URL. */
export function getSecurely(
  url: string,
  { method = 'GET', headers = {}, body, ca, agent }: SecureRequest,
): Promise<SecureResponse> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<SecureResponse>();
  const sent = request({
    host: '127.0.0.1',
    port: port || 443,
    ...(isIP(hostname) === 0 && { servername: hostname }),
    path: `${pathname}${search}`,
    method,
    headers: { host, ...headers },
    ca,
    agent: agent ?? new Agent({ keepAlive: false, maxCachedSessions: 0 }),
  });
  sent.on('error', reject);
  sent.on('response', (response) => {
    const socket = response.socket as TLSSocket;
    const { serialNumber: serial } = socket.getPeerCertificate();
    const protocol = socket.getProtocol();
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => (text += part));
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text, serial, protocol }),
    );
  });
  sent.end(body);
  return promise;
}
