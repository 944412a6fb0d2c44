/** Responds on the bare socket to requests that cannot be parsed as HTTP, and closes the connection. */

import type { Socket } from 'node:net';
import type { Limits } from '../platform/limits.ts';
import { Fault, type FaultCode } from '../core/domain/fault.ts';
import { drain } from './drain.ts';
import { problemBody, problemHeaders, problems, type CommonHeaders } from './problem.ts';

/** Codes of Node.js and llhttp; any other code is a malformed request. */
const faultCodes: Readonly<Record<string, FaultCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body-too-large',
};

export function sendClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  options: {
    readonly basePath: string;
    readonly requestId: string;
    readonly limits: Limits;
    readonly commonHeaders: CommonHeaders;
    /** Whether a response can be written: none is in progress or due on the socket. */
    readonly canRespond: boolean;
  },
): FaultCode | undefined {
  // The client has closed the connection, or would read the response as that of an earlier request.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || !options.canRespond) {
    socket.destroy();
    return undefined;
  }
  const fault = new Fault(faultCodes[error.code ?? ''] ?? 'invalid-request');
  const { status, title } = problems[fault.code];
  const body = JSON.stringify(problemBody(fault, options));
  const headers = {
    ...options.commonHeaders,
    ...problemHeaders(fault),
    'x-request-id': options.requestId,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`);
  drain(socket, options.limits);
  return fault.code;
}
