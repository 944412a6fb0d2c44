/** Searches of the person who is signed in, and reads by ids and codes that could be guesses. */

import { Fault } from '../../core/domain/fault.ts';
import {
  readWithinBudget,
  releaseStaffLookups,
  reserveStaffLookups,
  type SearchOutcome,
  type Searcher,
} from '../../core/staff/service/lookup.ts';
import type { Script } from '../../database/sql/sql.ts';
import { idIn } from './ids.ts';
import type { ConsoleServices } from './services.ts';
import type { StaffRequest } from './route.ts';

type LookupServices = Pick<ConsoleServices, 'ctx' | 'lookups' | 'storage'>;

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
  if (outcome.kind === 'missed') {
    const storeId = searcher.store.id;
    for (const cardId of outcome.retired) lookups.recordRetired({ storeId, cardId });
    for (const lookup of outcome.stocked) lookups.recordTried({ storeId, lookup });
  }
  return outcome;
}

/**
 * Reads what an id in the path names, within the budget of failed searches.
 * @param find throws Fault `not-found` if the store has nothing with the id.
 * @throws Fault `not-found`, which counts, or `too-many-misses`.
 */
export async function readById<Result>(
  services: LookupServices,
  request: Pick<StaffRequest, 'signedIn' | 'params'>,
  find: (id: number) => Script<Result>,
  name = 'id',
): Promise<Result> {
  const { ctx, storage } = services;
  const id = idIn(services, request, name);
  const searcher = searcherOf(services, request);
  try {
    return await storage.read(() => readWithinBudget(ctx, searcher, () => find(id)));
  } catch (error) {
    if (error instanceof Fault && error.code === 'not-found')
      await storage.write(() => reserveStaffLookups(ctx, searcher, 1));
    throw error;
  }
}

/** The result of a check of codes, and the number of codes that the store has used. */
export type CheckedCodes<Result> = { readonly result: Result; readonly taken: number };

/**
 * Reserves lookups before codes are looked for, and gives back those of codes that the store has not used. If the service
 * stops in between, the reserved lookups stay used up.
 * @param options.count how many codes are looked for, at most `lookupsPerHour`; 0: none.
 * @param options.record runs in the transaction of the reservation.
 * @throws Fault `too-many-misses` if fewer lookups are left, before `check` runs; the errors of `check`.
 */
export async function checkCodes<Result>(
  services: LookupServices,
  request: Pick<StaffRequest, 'signedIn'>,
  { count, record }: { readonly count: number; readonly record?: () => Script<unknown> },
  check: () => Promise<CheckedCodes<Result>>,
): Promise<Result> {
  if (count === 0) return (await check()).result;
  const { ctx, storage } = services;
  const searcher = searcherOf(services, request);
  await storage.write(() => reserveStaffLookups(ctx, searcher, count, record));
  let taken = 0;
  try {
    const checked = await check();
    ({ taken } = checked);
    return checked.result;
  } catch (error) {
    if (error instanceof Fault) taken = error.failedLookups ?? (error.errors?.['code'] ? 1 : 0);
    throw error;
  } finally {
    if (taken < count) await storage.write(() => releaseStaffLookups(ctx, searcher, count - taken));
  }
}
