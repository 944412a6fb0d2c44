/** Logs: one JSON object a line; for people at a terminal in development, the same in colour. */

import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import type { Config } from './config.ts';

export type Log = {
  readonly logger: FastifyBaseLogger;
  /** Writes out what is still in memory. */
  flush(): void;
};

/** Lines gather in memory up to this size or time: a write for every request would cost more than the request. */
const bufferBytes = 4_096;
const flushPeriodMs = 500;

export async function createLog({
  logLevel,
  isProduction,
}: Pick<Config, 'logLevel' | 'isProduction'>): Promise<Log> {
  const options = {
    level: logLevel,
    base: null,
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
  };
  if (!isProduction && process.stdout.isTTY) {
    // Only people at a terminal need it: it stays out of the memory of everybody else.
    const { default: pretty } = await import('pino-pretty');
    const stream = pretty({
      colorize: true,
      messageKey: 'message',
      translateTime: 'SYS:HH:MM:ss',
      sync: true,
    });
    return { logger: pino(options, stream), flush: () => undefined };
  }
  const destination = pino.destination({ dest: 1, sync: false, minLength: bufferBytes });
  const flush = (): void => {
    // Before the destination is open there is nothing to write to; its own opening writes what waits.
    try {
      destination.flushSync();
    } catch {
      destination.flush();
    }
  };
  setInterval(() => destination.flush(), flushPeriodMs).unref();
  return { logger: pino(options, destination), flush };
}
