/** The statements of the pages of emails. */

import { deliveryStates, emailKinds } from '../../src/core/emails/domain/email.ts';
import {
  countEmailsIn,
  countUndelivered,
  findEmailById,
  findNewestCodeEmails,
  listEmailCards,
  listEmails,
  listEmailsOf,
  walkEmails,
} from '../../src/features/emails/storage/list.ts';
import type { Script, Statement } from '../../src/database/sql/sql.ts';

const forwards = { from: null, isBackwards: false, limit: 51 };
const backwards = { from: 7, isBackwards: true, limit: 51 };
const filter = { states: deliveryStates, kinds: emailKinds };

/** The statements of the first step of each script, by name. */
export function emailListStatements(storeId: number): ReadonlyMap<string, readonly Statement[]> {
  const scripts: Readonly<Record<string, Script<unknown>>> = {
    newest: listEmails(storeId, null, forwards),
    newer: listEmails(storeId, null, backwards),
    'newest of a filter': listEmails(storeId, filter, forwards),
    'newer of a filter': listEmails(storeId, filter, backwards),
    'of a customer': listEmailsOf(storeId, { customerId: 7 }, filter, forwards),
    'newer of a customer': listEmailsOf(storeId, { customerId: 7 }, filter, backwards),
    'of a card': listEmailsOf(storeId, { cardId: 7 }, filter, forwards),
    'searched emails': walkEmails(storeId, { ...filter, text: 'ada' }, forwards, 2_000),
    'newer searched emails': walkEmails(storeId, { ...filter, text: 'ada' }, backwards, 2_000),
    'cards of emails': listEmailCards(storeId, [7, 8]),
    'one email': findEmailById(storeId, 7),
    'emails of cards': findNewestCodeEmails(storeId, [7, 8]),
    'count of a state': countEmailsIn(storeId, ['scheduled'], 1_001),
    'count of undelivered codes': countUndelivered(storeId, { today: '2026-11-22', max: 1_001 }),
  };
  return new Map(
    Object.entries(scripts).map(([name, script]) => {
      const step = script.next([]);
      return [name, step.done === true ? [] : step.value.statements];
    }),
  );
}
