/**
 * Work that a browser does before a form is accepted (a partial SHA-256 collision, as in Hashcash), so that a program that
 * submits many forms pays for each with processor time. It is bound to the key of the form, which is accepted once.
 */

import { createHash } from 'node:crypto';
import type { SalePage } from '../domain/rules.ts';
import { idsAt } from '../../../platform/random.ts';
import { countBegunSince } from '../storage/sale-lists.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';

const noncePattern = /^\d{1,10}$/;
const minuteMs = 60_000;
/** Forms of a store in a minute from which on `auto` demands work. A shop's busiest minute has fewer. */
const begunMax = 30;

/** Whether `SHA-256(key.nonce)` begins with 16 zero bits, for which a browser tries 65,536 numbers on average. */
export function isWorkDone(key: string, nonce: string): boolean {
  if (!noncePattern.test(nonce)) return false;
  return createHash('sha256').update(`${key}.${nonce}`).digest().readUInt16BE() === 0;
}

/** Whether the store demands work for a form now. */
export function* demandsWork(
  { clock }: Pick<Context, 'clock'>,
  { storeId, work }: Pick<SalePage, 'storeId' | 'work'>,
): Script<boolean> {
  if (work !== 'auto') return work === 'on';
  const since = idsAt(clock.now() - minuteMs);
  return (yield* countBegunSince(storeId, { since, limit: begunMax })) >= begunMax;
}
