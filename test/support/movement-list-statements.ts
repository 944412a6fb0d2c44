/** The statements of the lists of a store's transfers and holds, by each filter. */

import {
  listHoldsOf,
  listTransfersOf,
  newest,
  type MovementFilter,
} from '../../src/core/money/storage/list.ts';
import type { Script, Statement } from '../../src/database/sql/sql.ts';
import type { OpenStore } from './open-store.ts';

const none: MovementFilter = {
  reference: null,
  orderReference: null,
  externalId: null,
  orderId: null,
  places: null,
  actor: null,
  createdAt: null,
};

/** The index that a list has to read; null: the primary key. */
export const movementLists: readonly {
  readonly name: string;
  readonly filter: MovementFilter;
  readonly index: string | null;
}[] = [
  { name: 'all', filter: none, index: null },
  { name: 'by reference', filter: { ...none, reference: 'x' }, index: 'reference' },
  { name: 'by order as text', filter: { ...none, orderReference: 'x', reference: 'y' }, index: 'order_reference' },
  { name: 'by external id', filter: { ...none, externalId: 'x', orderId: 7 }, index: 'external_id' },
  { name: 'by order', filter: { ...none, orderId: 7 }, index: 'order_id' },
  { name: 'by location and caller', filter: { ...none, places: [7], actor: 'x' }, index: null },
  { name: 'by creation', filter: { ...none, createdAt: { min: 0, max: 9 } }, index: null },
]; // prettier-ignore

function* collected(script: Script<unknown>, into: Statement[]): Script<void> {
  let step = script.next([]);
  while (step.done !== true) {
    into.push(...step.value.statements);
    step = script.next(yield step.value);
  }
}

/** The statements of a list of transfers and of one of holds. */
export async function movementListStatements(
  { storage, store }: Pick<OpenStore, 'storage' | 'store'>,
  filter: MovementFilter,
): Promise<readonly { readonly table: 'transfers' | 'holds'; readonly statement: Statement }[]> {
  const stretch = { max: newest, rowsMax: 2_000, limit: 51 };
  const lists = {
    transfers: () => listTransfersOf(store.id, { ...filter, kind: 'debit' }, stretch),
    holds: () => listHoldsOf(store.id, { ...filter, status: 'open', now: 1 }, stretch),
  } as const;
  const found: { table: 'transfers' | 'holds'; statement: Statement }[] = [];
  for (const table of ['transfers', 'holds'] as const) {
    const statements: Statement[] = [];
    await storage.read(() => {
      statements.length = 0;
      return collected(lists[table](), statements);
    });
    found.push(...statements.map((statement) => ({ table, statement })));
  }
  return found;
}
