/** Logs: one JSON object a line; for people at a terminal in development, the same in colour. */

import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { systemClock } from './clock-and-chance.ts';
import type { Config } from './config.ts';
import { lineWriter } from './line-writer.ts';
import { loggedError } from './logged-error.ts';

export type Log = {
  readonly logger: FastifyBaseLogger;
  readonly answered: TellAnswered;
  /** Writes out what is still in memory. */
  flush(): Promise<void>;
};

/** Tells of a request that was answered, in one line. */
type TellAnswered = (request: AnsweredRequest) => void;

/** A request that was answered: the fields of its line. */
export type AnsweredRequest = {
  readonly request_id: string;
  readonly method: string;
  /** The template. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  /** The address. */
  readonly client: string;
  /** Of the caller, if there is one. */
  readonly store: string | undefined;
  readonly actor: string | undefined;
};

/** No error is logged with values of the database. */
const serializers = { err: (error: unknown) => loggedError(error) };
const messageKey = 'message';
const answeredMessage = 'request';

export async function createLog({
  logLevel,
  isProduction,
}: Pick<Config, 'logLevel' | 'isProduction'>): Promise<Log> {
  const time = isoTime();
  const options = {
    level: logLevel,
    base: null,
    messageKey,
    serializers,
    timestamp: () => `,"time":"${time()}"`,
    formatters: { level: (level: string) => ({ level }) },
  };
  if (!isProduction && process.stdout.isTTY) {
    // Only people at a terminal need it: it stays out of the memory of everybody else.
    const { default: pretty } = await import('pino-pretty');
    const stream = pretty({ colorize: true, messageKey, translateTime: 'SYS:HH:MM:ss', sync: true });
    return logThrough(pino(options, stream));
  }
  const writer = lineWriter(1, (lines) => logger.warn({ lines }, 'lines of the log were lost here'));
  const logger = pino(options, { write: (line) => writer.write(line) });
  process.once('exit', () => writer.flushSync());
  return {
    logger,
    answered: logger.isLevelEnabled('info')
      ? (request) => writer.write(answeredLine(request, time()))
      : () => undefined,
    flush: () => writer.flush(),
  };
}

/**
 * The line that the logger would write. Most lines of a service are of this kind, and made like this one costs a
 * third of what it costs there.
 */
function answeredLine(request: AnsweredRequest, time: string): string {
  const fields = JSON.stringify(request).slice(1, -1);
  return `{"level":"info","time":"${time}",${fields},"${messageKey}":"${answeredMessage}"}\n`;
}

/** A log that consists of a logger, which keeps nothing in memory. */
export function logThrough(given: FastifyBaseLogger): Log {
  const logger = given.child({}, { serializers });
  return {
    logger,
    answered: (request) => logger.info(request, answeredMessage),
    flush: () => Promise.resolve(),
  };
}

/** The present instant in ISO 8601. The lines of one millisecond share its text, which is slow to make. */
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
