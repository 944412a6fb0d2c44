/** The record of an entry of a card's history. */

import type { FieldName, FieldValue } from './change.ts';
import type { HistoryEntry } from './history.ts';
import { recordValue } from './field-values.ts';
import { isCardField } from './fields.ts';
import { formatInstant } from '../../domain/day.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { HistoryRecord } from './schemas.ts';

export function historyRecordOf(ids: PublicIds, entry: HistoryEntry): HistoryRecord {
  return {
    id: ids.of(entry.id),
    kind: entry.kind,
    created_at: formatInstant(entry.at),
    actor: entry.actor,
    state: entry.state,
    changes: entry.changes.map(({ field, old, new: next, isErased = false }) => ({
      field,
      old: isErased ? null : shown(field, old),
      new: isErased ? null : shown(field, next),
      is_erased: isErased,
    })),
  };
}

function shown(field: FieldName, value: FieldValue): string | string[] | null {
  if (typeof value === 'number') return isInstant(field) ? formatInstant(value) : String(value);
  return isCardField(field) ? recordValue(field, value) : value;
}

function isInstant(field: FieldName): boolean {
  return field === 'disabled_at' || field === 'suspended_at';
}
