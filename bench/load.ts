/**
 * The load generator: a closed loop over keep-alive connections. Each connection sends its next request as soon
 * as the answer to the one before has come.
 *
 * It speaks just enough HTTP/1.1 (answers with a Content-Length, in ASCII) to cost less than any server that it
 * asks: otherwise it would measure itself.
 */

import { connect } from 'node:net';

export type Call = {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The request as it goes over the wire. */
  readonly request: string;
  /** The status that its answer must have. */
  readonly status: number;
  /** Looks at the body of the answer, and throws if it is not what it should be; null: nobody looks. */
  readonly check: ((body: string) => void) | null;
};

export type Load = {
  /** Of the servers that share the connections. */
  readonly ports: readonly number[];
  readonly connections: number;
  /** Once this has passed, nothing more is sent; what was sent is still waited for. */
  readonly seconds: number;
  /** The next request; undefined if there is none left. */
  readonly next: () => Call | undefined;
};

export type Figures = {
  readonly seconds: number;
  /** How long each answer took, in the order in which they came. */
  readonly latenciesMs: Float64Array;
};

type Connection = {
  send(request: string): void;
  close(): void;
  /** What it throws is a failure of the connection. */
  onAnswer: (answer: Answer) => void;
  onFailure: (error: Error) => void;
};

type Answer = { readonly status: number; readonly body: string };

/** @throws Error if a connection breaks, an answer has another status, or a check fails. */
export async function load({ ports, connections, seconds, next }: Load): Promise<Figures> {
  const opened = await Promise.all(
    Array.from({ length: connections }, (_, index) => open(ports[index % ports.length] ?? 0)),
  );
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;

  const loop = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      let call: Call | undefined;
      let sentAt = 0;
      const ask = (): void => {
        sentAt = performance.now();
        call = sentAt < endsAt ? next() : undefined;
        if (call) connection.send(call.request);
        else resolve();
      };
      connection.onFailure = reject;
      connection.onAnswer = ({ status, body }) => {
        latenciesMs.push(performance.now() - sentAt);
        if (status !== call?.status) throw new Error(`answered ${status}: ${body}`);
        call.check?.(body);
        ask();
      };
      ask();
    });

  try {
    await Promise.all(opened.map(loop));
  } finally {
    for (const connection of opened) connection.close();
  }
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    latenciesMs: Float64Array.from(latenciesMs),
  };
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let received = '';
    const take = (count: number, bytes: Buffer): void => {
      received += bytes.toString('latin1', 0, count);
      try {
        const answer = parse(received);
        if (!answer) return;
        received = '';
        connection.onAnswer(answer);
      } catch (error) {
        connection.onFailure(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      // One buffer for the life of the connection, instead of a new one for every answer.
      onread: {
        buffer: Buffer.allocUnsafe(16_384),
        callback(count, bytes) {
          take(count, bytes as Buffer);
          return true;
        },
      },
    });
    const connection: Connection = {
      send: (request) => void socket.write(request, 'latin1'),
      close: () => void socket.destroy(),
      onAnswer: () => undefined,
      onFailure: reject,
    };
    socket.on('connect', () => resolve(connection));
    socket.on('error', (error) => connection.onFailure(error));
    socket.on('end', () => connection.onFailure(new Error('the server closed a connection')));
  });
}

/** The answer in a text; undefined while it is incomplete. One request is under way at most, so it is the only one. */
function parse(text: string): Answer | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? [];
  if (length === undefined) throw new Error(`an answer without Content-Length: ${text}`);
  const bodyStart = headEnd + 4;
  if (text.length < bodyStart + Number(length)) return undefined;
  return { status: Number(text.slice(9, 12)), body: text.slice(bodyStart) };
}
