/** Searches of the person who is signed in. */

import type { SearchOutcome, Searcher } from '../service/staff-lookup.ts';
import type { Script } from '../storage/sql.ts';
import type { ConsoleServices, StaffRequest } from './route.ts';

export function searcherOf(
  { lookups }: Pick<ConsoleServices, 'lookups'>,
  { signedIn }: Pick<StaffRequest, 'signedIn'>,
): Searcher {
  return { store: signedIn.store, member: signedIn.member, perHour: lookups.perHour };
}

/** Runs a search, and records the uses of codes that were replaced. */
export async function runSearch<Result>(
  services: Pick<ConsoleServices, 'lookups' | 'storage'>,
  request: Pick<StaffRequest, 'signedIn'>,
  search: (searcher: Searcher) => Script<SearchOutcome<Result>>,
): Promise<SearchOutcome<Result>> {
  const { lookups, storage } = services;
  const searcher = searcherOf(services, request);
  const outcome = await storage.write(() => search(searcher));
  if (outcome.kind === 'missed')
    for (const cardId of outcome.retired) lookups.recordRetired({ storeId: searcher.store.id, cardId });
  return outcome;
}
