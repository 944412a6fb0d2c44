/** Reads that take some milliseconds: lists, counts, sums and exports. */

import type { Storage } from '../../database/storage.ts';
import type { ConsoleServices } from './services.ts';

/** The storage, each of whose reads waits for a turn. @throws Fault `overloaded` if too many reads are waiting. */
export function longReads({
  storage,
  turns,
}: Pick<ConsoleServices, 'storage' | 'turns'>): Pick<Storage, 'read'> {
  return { read: (script) => turns(() => storage.read(script)) };
}
