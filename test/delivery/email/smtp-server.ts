/** SMTP servers for tests: a real one with handlers, and one that follows a script. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { Secret } from '../../../src/platform/secret.ts';

type Received = {
  readonly from: string;
  readonly to: readonly string[];
  readonly message: Buffer;
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly session: string;
};

export type SmtpServer = AsyncDisposable & {
  readonly received: readonly Received[];
  /** Its SMTP_URL. */
  url(query?: string, credentials?: string): Secret;
};

/** A rejection by a server. */
export function reply(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code });
}

/** A mail server that accepts every email by default. */
export async function smtpServer(
  options: SMTPServerOptions & { readonly afterData?: () => Error | null } = {},
): Promise<SmtpServer> {
  const { afterData, ...settings } = options;
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: settings.key === undefined ? ['STARTTLS'] : [],
    disableReverseLookup: true,
    closeTimeout: 100,
    ...settings,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const error = afterData?.() ?? null;
        const { mailFrom, rcptTo } = session.envelope;
        if (!error) {
          assert.ok(mailFrom);
          received.push({
            from: mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            message: Buffer.concat(chunks),
            secure: session.secure,
            user: typeof session.user === 'string' ? session.user : undefined,
            session: session.id,
          });
        }
        done(error);
      });
    },
  });
  // A client that disconnects is not an error of the server.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    received,
    url: urlTo(server.server),
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server.server, 'close');
    },
  };
}

/**
 * A server that responds to each line as the script says: with a text, with `stall` (nothing more), or with `hang up`.
 * `greeting` is the first response; other keys are the start of the client's line; `.` is the end of an email.
 */
export async function scriptedServer(
  script: Readonly<Record<string, string>>,
): Promise<SmtpServer & { readonly lines: readonly string[]; readonly connections: () => number }> {
  const lines: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const standard: Readonly<Record<string, string>> = {
    greeting: '220 scripted ESMTP',
    EHLO: '250-scripted\r\n250 8BITMIME',
    'MAIL FROM': '250 2.1.0 ok',
    'RCPT TO': '250 2.1.5 ok',
    DATA: '354 go on',
    '.': '250 2.0.0 taken',
    RSET: '250 ok',
    QUIT: '221 bye',
  };
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let isData = false;
    const respond = (command: string): void => {
      const text = { ...standard, ...script }[command] ?? '502 what?';
      if (text === 'hang up') socket.destroy();
      else if (text !== 'stall') socket.write(`${text}\r\n`);
      isData = command === 'DATA' && text.startsWith('354');
    };
    respond('greeting');
    let rest = '';
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString('latin1')).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        if (isData && line !== '.') continue;
        respond(Object.keys(standard).find((command) => line.toUpperCase().startsWith(command)) ?? line);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    received: [],
    lines,
    connections: () => connections,
    url: urlTo(server),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function urlTo(server: Pick<Server, 'address'>): SmtpServer['url'] {
  const { port } = server.address() as AddressInfo;
  return (query = '', credentials = '') => new Secret(`smtp://${credentials}127.0.0.1:${port}${query}`);
}
