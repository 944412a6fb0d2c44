/** The record of an entry of a card's history. */

import type { FieldName, FieldValue } from './card-change.ts';
import type { HistoryEntry } from './card-history.ts';
import { formatInstant } from './day.ts';
import type { PublicIds } from './public-id.ts';
import type { HistoryRecord } from './schemas.ts';
import { tagsIn } from './tags.ts';

export function historyRecordOf(ids: PublicIds, entry: HistoryEntry): HistoryRecord {
  return {
    id: ids.of(entry.id),
    kind: entry.kind,
    created_at: formatInstant(entry.at),
    actor: entry.actor,
    state: entry.state,
    changes: entry.changes.map(({ field, old, new: next, isErased = false }) => ({
      field,
      old: shown(field, old),
      new: shown(field, next),
      is_erased: isErased,
    })),
  };
}

function shown(field: FieldName, value: FieldValue): string | string[] | null {
  if (typeof value === 'number') return field === 'disabled_at' ? formatInstant(value) : String(value);
  return field === 'tags' && value !== null ? tagsIn(value) : value;
}
