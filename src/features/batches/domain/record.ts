/** The records of batches in the API. */

import type { Batch } from './batch.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import { recordOf } from '../../../core/cards/domain/record.ts';
import type { BatchCardRecord, BatchRecord } from './batch-schemas.ts';
import type { Secret } from '../../../platform/secret.ts';

/** @param now from when on the codes cannot be read, even if they are not erased yet (ms). */
export function batchRecordOf(batch: Batch, now: number): BatchRecord {
  const { codesUntil } = batch;
  return {
    id: batch.id,
    name: batch.name,
    state: batch.state,
    count: batch.cards,
    issued: batch.issued,
    failed: batch.failed,
    currency: batch.total.currency.code,
    total: formatMoney(batch.total),
    issued_total: formatMoney(batch.issuedTotal),
    created_at: formatInstant(batch.createdAt),
    completed_at: formatInstantOrNull(batch.completedAt),
    codes_until: codesUntil === null || codesUntil <= now ? null : formatInstant(codesUntil),
  };
}

export function batchCardRecordOf(
  ids: PublicIds,
  { index, card, code }: { readonly index: number; readonly card: Card; readonly code: Secret | null },
): BatchCardRecord {
  return { index, ...recordOf(ids, card), code: code && code.reveal() };
}
