/** The log: one JSON object per line, or coloured text on a terminal in development. */

import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { systemClock } from './clock.ts';
import { lineLimits, lineWriter } from './line-writer.ts';
import { loggedError } from './logged-error.ts';

export type Log = {
  readonly logger: FastifyBaseLogger;
  /** Logs a response in one line. */
  readonly request: (request: LoggedRequest) => void;
  /** Writes the buffered lines. It ends within one second. */
  flush(): Promise<void>;
};

/** A request with its response: the fields of a log line. */
export type LoggedRequest = {
  readonly request_id: string;
  readonly method: string;
  /** The path's template. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  /** The client's address. */
  readonly client: string;
  /** The caller's store and name; undefined without a credential. */
  readonly store: string | undefined;
  readonly actor: string | undefined;
};

/** Errors are logged without values from the database. */
const serializers = { err: (error: unknown) => loggedError(error) };
const messageKey = 'message';
const requestMessage = 'request';

/** The writes of several processes to one pipe mix if they are longer (PIPE_BUF of Linux). */
const pipeBytes = 4_096;

/** Processes share the mode of a pipe. Node.js makes it blocking when one of them starts, and again when one exits. */
function unblockOutput(): void {
  const { _handle: handle } = process.stdout as {
    _handle?: { setBlocking?: (isBlocking: boolean) => number };
  };
  handle?.setBlocking?.(false);
}

/** @param isShared whether other processes write to the same output. */
export async function createLog(
  { logLevel, isProduction }: { readonly logLevel: string; readonly isProduction: boolean },
  { isShared }: { readonly isShared: boolean } = { isShared: false },
): Promise<Log> {
  const time = isoTime();
  const options = {
    level: logLevel,
    base: null,
    messageKey,
    serializers,
    timestamp: () => `,"time":"${time()}"`,
    formatters: { level: (level: string) => ({ level }) },
  };
  // Node.js makes a pipe non-blocking when `process.stdout` is first used, which the line writer requires.
  const { isTTY } = process.stdout;
  if (!isProduction && isTTY) {
    // Loaded only for a terminal, to save memory.
    const { default: pretty } = await import('pino-pretty');
    const stream = pretty({
      colorize: true,
      messageKey,
      translateTime: 'SYS:HH:MM:ss',
      singleLine: true,
      sync: true,
    });
    const log = logWith(pino(options, stream));
    return { ...log, request: (request) => log.logger.info(requestText(request)) };
  }
  const limits = isShared
    ? { ...lineLimits, writeBytesMax: pipeBytes, beforeWrite: unblockOutput }
    : lineLimits;
  const dropped = (lines: number): void => logger.warn({ lines }, 'log lines were dropped before this line');
  const writer = lineWriter(1, dropped, limits);
  const logger = pino(options, { write: (line) => writer.write(line) });
  process.once('exit', () => writer.flushSync());
  return {
    logger,
    request: logger.isLevelEnabled('info')
      ? (request) => writer.write(formatRequest(request, time()))
      : () => undefined,
    flush: () => writer.flush(),
  };
}

/** A response for a person at a terminal, in one line: `GET /docs 200, 12 ms`. */
function requestText({ method, route, status, duration_ms, actor }: LoggedRequest): string {
  const who = actor === undefined ? '' : `, ${actor}`;
  return `${method} ${route} ${status}, ${Math.round(duration_ms)} ms${who}`;
}

/** Formats a response as the logger would, at a third of the cost. Most log lines are responses. */
function formatRequest(request: LoggedRequest, time: string): string {
  const fields = JSON.stringify(request).slice(1, -1);
  return `{"level":"info","time":"${time}",${fields},"${messageKey}":"${requestMessage}"}\n`;
}

/** Creates a log on an existing logger, without a buffer. */
export function logWith(base: FastifyBaseLogger): Log {
  const logger = base.child({}, { serializers });
  return {
    logger,
    request: (request) => logger.info(request, requestMessage),
    flush: () => Promise.resolve(),
  };
}

/** The current time in ISO 8601. It is formatted once per millisecond, because formatting is slow. */
function isoTime(): () => string {
  let instant = Number.NaN;
  let text = '';
  return () => {
    const now = systemClock.now();
    if (now !== instant) {
      instant = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}
