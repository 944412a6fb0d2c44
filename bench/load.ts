/**
 * The load generator: keep-alive connections, in a closed loop (each connection sends its next request when its
 * response has arrived) or in an open loop (requests at a fixed rate, however long the responses take).
 *
 * It supports just enough HTTP/1.1 (responses with a Content-Length) to cost less than any server under test.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Request = {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The request as it is sent, in ASCII. */
  readonly text: string;
  /** The status that the response must have. */
  readonly status: number;
  /** Throws if the body of the response is wrong; null: only the status is checked. */
  readonly check: ((body: string) => void) | null;
};

export type Load = {
  readonly next: () => Request;
  /** No request is sent after this time. Requests in flight are always awaited. */
  readonly seconds?: number;
  /** No more requests than this are sent. */
  readonly requests?: number;
  /** Requests per second of an open loop; absent: a closed loop. */
  readonly rate?: number;
};

export type Figures = {
  readonly seconds: number;
  /** One per response, in order of arrival. In an open loop from the time at which the request was due. */
  readonly latenciesMs: Float64Array;
};

type Response = { readonly status: number; readonly body: string };

/** A connection with at most one request in flight. */
class Connection {
  onResponse: (response: Response) => void = () => undefined;
  onFailure: (error: Error) => void = () => undefined;
  readonly #socket: Socket;
  #received = '';

  constructor(port: number) {
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      // One buffer for the life of the connection, instead of a new one for every response.
      onread: {
        buffer: Buffer.allocUnsafe(16_384),
        callback: (count, bytes) => {
          this.#receive((bytes as Buffer).toString('latin1', 0, count));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => this.onFailure(error));
    this.#socket.on('end', () => this.onFailure(new Error('the server closed a connection')));
  }

  async opened(): Promise<this> {
    await once(this.#socket, 'connect');
    return this;
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    try {
      const response = parse(this.#received);
      if (!response) return;
      this.#received = '';
      this.onResponse(response);
    } catch (error) {
      this.onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** The response in a text; undefined while it is incomplete. */
function parse(text: string): Response | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? [];
  if (length === undefined) throw new Error(`a response without Content-Length: ${text}`);
  const bodyStart = headEnd + 4;
  if (text.length < bodyStart + Number(length)) return undefined;
  return { status: Number(text.slice(9, 12)), body: text.slice(bodyStart) };
}

/** Open connections to one server or, in turn, to several. */
export class LoadClient implements Disposable {
  readonly #connections: readonly Connection[];

  private constructor(connections: readonly Connection[]) {
    this.#connections = connections;
  }

  static async connect(ports: readonly number[], connections: number): Promise<LoadClient> {
    const opening = Array.from({ length: connections }, (_, index) =>
      new Connection(ports[index % ports.length] ?? 0).opened(),
    );
    return new LoadClient(await Promise.all(opening));
  }

  /** @throws Error if a connection breaks, a response has another status, or a check fails. */
  async run({ next, seconds = Infinity, requests = Infinity, rate }: Load): Promise<Figures> {
    const latenciesMs: number[] = [];
    /** Connections of an open loop that wait until the next request is due. */
    const idle: (() => void)[] = [];
    let sent = 0;
    const startedAt = performance.now();
    const endsAt = startedAt + seconds * 1_000;

    const loop = (connection: Connection): Promise<void> =>
      new Promise((resolve, reject) => {
        let request: Request | undefined;
        let dueAt = 0;
        const send = (): void => {
          const now = performance.now();
          dueAt = rate === undefined ? now : startedAt + (sent * 1_000) / rate;
          if (sent >= requests || dueAt >= endsAt) resolve();
          else if (dueAt > now) idle.push(send);
          else {
            sent += 1;
            request = next();
            connection.send(request.text);
          }
        };
        connection.onFailure = reject;
        connection.onResponse = ({ status, body }) => {
          latenciesMs.push(performance.now() - dueAt);
          if (status !== request?.status) throw new Error(`responded with ${status}: ${body}`);
          request.check?.(body);
          send();
        };
        send();
      });

    let isRunning = true;
    const pace = (): void => {
      // In turn, because the server closes a connection that has sent nothing for a while.
      idle.shift()?.();
      // A timer would be up to a millisecond late.
      if (isRunning) setImmediate(pace);
    };
    if (rate !== undefined) pace();
    try {
      await Promise.all(this.#connections.map(loop));
    } finally {
      isRunning = false;
    }
    return {
      seconds: (performance.now() - startedAt) / 1_000,
      latenciesMs: Float64Array.from(latenciesMs),
    };
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
  }
}
