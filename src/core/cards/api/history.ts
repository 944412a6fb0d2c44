/** The history of a gift card: its changes that are not money. */

import { historyRecordOf } from '../domain/history-record.ts';
import { historySchema } from '../domain/schemas.ts';
import { listCardHistory } from '../service/changes.ts';
import * as examples from '../../../api/examples.ts';
import { list, recordsOf } from '../../../api/list.ts';

export const listHistory = list({
  id: 'listHistory',
  path: '/gift_card/:gift_card_id/history',
  scopes: ['read_gift_cards'],
  tag: 'History',
  summary: 'List a gift card’s changes',
  description:
    'Returns the creation of the card and every change of its state, expiry, note, names, tags and code, newest first. Its money is in its transactions. An update that changes several fields is one entry. `expired` entries are derived from the expiry date and the store’s time zone at that time; they have the id of the entry before them, and are in addition to `limit`. The order is that in which the changes were made, even if the clocks of servers differed. `Link` has the neighboring pages.',
  member: 'history',
  record: historySchema,
  example: examples.historyEntry,
  responseDescription: 'A page of changes.',
  cursor: { isPublic: true, of: ({ id }) => id },
  errors: ['not-found'],
  sample: { query: 'limit=50' },
  *page({ ctx, store, ids }, page) {
    const found = yield* listCardHistory(ctx, { store, cardId: ids.gift_card_id }, page);
    return recordsOf(found, (entry) => historyRecordOf(ctx.keys.publicIds, entry));
  },
});
