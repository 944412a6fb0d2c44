/** The effects of a sandbox's fixed codes on a request, in addition to the states of their cards. */

import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fixedCodes } from '../domain/fixed-codes.ts';
import { Secret } from '../../../platform/secret.ts';

const slowMs = 10_000;

/**
 * @param socket of the client. If it has gone, the wait ends, and the request continues as on a slow network.
 * @throws Error for the code that makes a 500.
 */
export async function followFixedCode(values: object, socket: Socket): Promise<void> {
  const code = 'code' in values ? givenIn(values.code)?.reveal() : undefined;
  if (code === fixedCodes.error.code) throw new Error('the fixed code of the sandbox that makes a 500');
  if (code === fixedCodes.slow.code) await waitWhileOpen(socket);
}

/** The first reading of a given code. No creation has an effect: a new card cannot have a fixed code. */
function givenIn(parsed: unknown): Secret | undefined {
  const reading: unknown = Array.isArray(parsed) ? parsed[0] : undefined;
  const isReading = typeof reading === 'object' && reading !== null && 'code' in reading;
  return isReading && reading.code instanceof Secret ? reading.code : undefined;
}

async function waitWhileOpen(socket: Socket): Promise<void> {
  const gone = new AbortController();
  const end = (): void => gone.abort();
  socket.once('close', end);
  await wait(slowMs, undefined, { signal: gone.signal }).catch(() => undefined);
  socket.off('close', end);
}
