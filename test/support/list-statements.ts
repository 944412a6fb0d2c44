/** The statements of lists of cards: every filter and order, and every path through them. */

import { issue } from '../../src/core/cards/service/issue.ts';
import { countCards, listCards, showCardDetails, type RowsMax } from '../../src/core/cards/service/list.ts';
import { pageOfCustomers } from '../../src/core/customers/service/customer.ts';
import { anyCard, type CardFilter } from '../../src/core/cards/storage/filter.ts';
import type { CardSort } from '../../src/core/cards/storage/list.ts';
import type { Script, Statement } from '../../src/database/sql/sql.ts';
import { email, issueCommand } from './fixtures.ts';
import type { OpenStore } from './open-store.ts';

/** Runs a script and collects the statements that it sends. */
function* collected<T>(script: Script<T>, into: Statement[]): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    into.push(...step.value.statements);
    step = script.next(yield step.value);
  }
  return step.value;
}

/** Statements by the name of their list. */
export async function listStatements({
  storage,
  ctx,
  store,
}: OpenStore): Promise<ReadonlyMap<string, readonly Statement[]>> {
  const person = email('ann@example.com');
  const { card } = await storage.write(() =>
    issue(ctx, issueCommand(store, { customer: person, expiresOn: '2031-12-31' })),
  );
  for (let count = 0; count < 3; count += 1)
    await storage.write(() => issue(ctx, issueCommand(store, { expiresOn: '2031-12-31' })));
  const range = { min: 0, max: ctx.clock.now() };
  const filters: Readonly<Record<string, Partial<CardFilter>>> = {
    all: {},
    'by state': { state: 'scheduled' },
    'by email status': { emailStatus: 'bounced' },
    'by customer': { customerId: card.customer?.id ?? 0 },
    'by creation': { createdAt: range },
    'by disabling': { disabledAt: range },
    'by last activity': { lastActivityAt: range },
    'by expiry': { expiresOn: { min: '2026-01-01', max: '2026-12-31' } },
    'by order': { orderId: 7 },
    'by batch': { batchId: 7 },
    'by redemption': { batchId: 7, redeemed: true, viewed: false },
    'by note': { note: 'x' },
    'by text': { text: 'x' },
  };
  const bounds: Readonly<Record<string, RowsMax>> = {
    few: { found: 2_000, walk: 10_000, slowWalk: 2_500 },
    walk: { found: -1, walk: 10_000, slowWalk: 2_500 },
  };
  const found = new Map<string, Statement[]>();
  const collect = async <T>(name: string, script: () => Script<T>): Promise<T> => {
    const statements: Statement[] = [];
    found.set(name, statements);
    return await storage.read(() => {
      statements.length = 0;
      return collected(script(), statements);
    });
  };
  for (const [filterName, given] of Object.entries(filters)) {
    const filter = { ...anyCard, ...given };
    for (const [boundName, rowsMax] of Object.entries(bounds)) {
      for (const by of ['created_at', 'balance', 'expires_on'] as const) {
        for (const isDescending of [false, true]) {
          const sort: CardSort = { by, isDescending };
          const list = { store, filter, sort, after: null, limit: 2 };
          const name = `${filterName}, ${boundName}, ${by} ${isDescending ? 'descending' : 'ascending'}`;
          await collect(name, () => listCards(ctx, list, rowsMax));
          const after = { id: card.id, balance: 100n, expiresOn: null };
          await collect(`${name}, next`, () => listCards(ctx, { ...list, after }, rowsMax));
          for (const expiresOn of [null, '2031-12-31']) {
            const back = { ...list, after: { ...after, expiresOn }, isBackwards: true };
            await collect(`${name}, before ${expiresOn}`, () => listCards(ctx, back, rowsMax));
          }
        }
      }
      await collect(`${filterName}, ${boundName}, count`, () => countCards(ctx, { store, filter }, rowsMax));
    }
  }
  await collect('one card', () => showCardDetails(ctx, { storeId: store.id, cardId: card.id }));
  await collect('customers', () => pageOfCustomers(store.id, { address: null, before: null, limit: 50 }));
  return found;
}
