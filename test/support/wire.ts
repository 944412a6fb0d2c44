/** HTTP as bytes: for requests that client libraries do not send. */

import { connect, type Socket } from 'node:net';
import type { TestResponse, TestService } from './service.ts';

export type Wire = AsyncDisposable & {
  readonly socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** All bytes received so far, as Latin-1. */
  received(): string;
  /** Resolves with the ms since opening when the service closes the connection. */
  readonly closed: Promise<number>;
};

export type WireOptions = {
  /** The address that the connection comes from, such as 127.0.0.2. */
  readonly from?: string;
  /** Whether it stays open when the service closes its side. */
  readonly keepsOpen?: boolean;
};

export function openWire(
  service: Pick<TestService, 'url'>,
  { from, keepsOpen = false }: WireOptions = {},
): Wire {
  const { hostname, port } = new URL(service.url);
  const socket = connect({
    port: Number(port),
    host: hostname,
    allowHalfOpen: keepsOpen,
    ...(from !== undefined && { localAddress: from }),
  });
  const openedAt = performance.now();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  // A reset also closes the connection. The received bytes show the difference.
  socket.on('error', () => undefined);
  const closed = new Promise<number>((resolve) => {
    socket.once('close', () => resolve(performance.now() - openedAt));
  });
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    received: () => text,
    closed,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}

/** Sends bytes and returns all responses until the service closes the connection. */
export async function converse(
  service: Pick<TestService, 'url'>,
  bytes: string | Uint8Array,
  options?: WireOptions,
): Promise<readonly TestResponse[]> {
  await using wire = openWire(service, options);
  wire.send(bytes);
  await Promise.race([
    wire.closed,
    new Promise((_resolve, reject) => {
      setTimeout(() => reject(new Error(`the connection stays open: ${wire.received()}`)), 8_000).unref();
    }),
  ]);
  return parseResponses(wire.received(), Buffer.from(bytes).toString('latin1'));
}

/** Sends one request in bytes and returns its only response. */
export async function exchange(
  service: Pick<TestService, 'url'>,
  bytes: string | Uint8Array,
  options?: WireOptions,
): Promise<TestResponse> {
  const responses = await converse(service, bytes, options);
  const [response] = responses;
  if (!response || responses.length > 1) throw new Error(`${responses.length} responses instead of one`);
  return response;
}

/** A request as text: adds missing headers that HTTP/1.1 requires, and closes the connection. */
export function requestText(
  line: string,
  headers: readonly (readonly [string, string])[] = [],
  body = '',
): string {
  const all: (readonly [string, string])[] = [['Host', '127.0.0.1'], ...headers, ['Connection', 'close']];
  return `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** Parses responses one after another. Responses to HEAD have no body, and 1xx responses are omitted. */
export function parseResponses(received: string, request = ''): readonly TestResponse[] {
  const responses: TestResponse[] = [];
  const isHead = request.startsWith('HEAD ');
  let rest = received;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`incomplete response: ${rest}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (!Number.isInteger(status)) throw new Error(`not a response: ${statusLine}`);
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    rest = rest.slice(end + 4);
    if (status < 200) continue;
    let text = '';
    if (!isHead && headers.get('transfer-encoding') === 'chunked') [text, rest] = unchunk(rest);
    else if (!isHead) {
      const length = Number(headers.get('content-length') ?? 0);
      [text, rest] = [rest.slice(0, length), rest.slice(length)];
    }
    text = Buffer.from(text, 'latin1').toString();
    responses.push({ status, headers, text, json: parse(text) });
  }
  return responses;
}

function unchunk(encoded: string): [text: string, rest: string] {
  let [text, rest] = ['', encoded];
  for (;;) {
    const end = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.slice(0, end), 16);
    if (end < 0 || Number.isNaN(length)) throw new Error(`half a chunk: ${rest}`);
    text += rest.slice(end + 2, end + 2 + length);
    rest = rest.slice(end + 2 + length + 2);
    if (length === 0) return [text, rest];
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
