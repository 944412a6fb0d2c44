/** Attempts to sign in: their places in the queue for slow hashes, and giving back those that were not compared. */

import type { HashClient } from '../../core/staff/service/hash-queue.ts';
import type { Script } from '../../database/sql/sql.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './services.ts';

/** The client of a request in the queue. @param known names the person, browser or till; null: a stranger. */
export function hashClient(
  { network, isGone }: Pick<ConsoleRequest, 'network' | 'isGone'>,
  known: string | null,
): HashClient {
  return { isKnown: known !== null, key: known ?? network, isGone };
}

/** Runs the comparison of an attempt that was counted. If it throws, nothing was compared, and the attempt is given back. */
export async function compareCounted<T>(
  { storage }: Pick<ConsoleServices, 'storage'>,
  { compare, giveBack }: { readonly compare: () => Promise<T>; readonly giveBack: () => Script<void> },
): Promise<T> {
  try {
    return await compare();
  } catch (error) {
    await storage.write(giveBack);
    throw error;
  }
}
