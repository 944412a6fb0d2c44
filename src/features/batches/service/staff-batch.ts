/** Actions of staff with many cards: checks, issues, and reading their codes. */

import type { CardToIssue } from '../../../core/cards/domain/new-card.ts';
import { exceeds, formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { SendOn } from '../../../core/emails/domain/send-on.ts';
import type { BatchKey } from '../storage/batch.ts';
import type { FileColumn } from '../domain/column-names.ts';
import { findCreatedBatch, startBatch } from './batch.ts';
import {
  cancelUnsent,
  correctUndelivered,
  rescheduleUnsent,
  resendUndelivered,
  type CancelledEmails,
  type CorrectedAddress,
  type RescheduledEmails,
  type ResentCards,
} from './campaign.ts';
import { rememberColumns } from './columns.ts';
import { asStaff, listAsStaff, moveAsStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertSaleLimit } from '../../../core/staff/service/limits.ts';

/** Lists a check of cards with codes. @throws Fault those of `moveAsStaff`. */
export function* recordBatchCheck(ctx: Context, by: ByStaff, codes: number): Script<void> {
  yield* listAsStaff(ctx, by, 'issueBatches', {
    action: 'batch-checked',
    subjectId: null,
    details: { codes },
  });
}

type CardsToIssue = {
  readonly name: string | null;
  readonly cards: readonly CardToIssue[];
  readonly total: Money;
  /** The line of each card in a file; null: there is none. */
  readonly lines: readonly number[] | null;
  /** Absent: the cards are of no file. */
  readonly file?: {
    /** The key of the file, of which there is no batch yet; undefined: none. */
    readonly key: string | undefined;
    /** The decisions about its columns. */
    readonly decided?: { readonly headings: readonly string[]; readonly columns: readonly FileColumn[] };
  };
};

/**
 * Stores the cards, which are issued afterwards. The person's limit applies to each card.
 * @returns the id of the batch.
 * @throws Fault those of `moveAsStaff`, `assertSaleLimit` and `startBatch`; `idempotency-key-reused` if another batch has the
 * key.
 */
export function* issueBatch(
  ctx: Context,
  by: ByStaff,
  { name, cards, total, lines, file = { key: undefined } }: CardsToIssue,
): Script<number> {
  const { id } = yield* moveAsStaff(ctx, by, {
    permission: 'issueBatches',
    *change({ member, actor, locationId }) {
      const none = { minor: 0n, currency: total.currency };
      assertSaleLimit(
        member,
        cards.reduce((highest, { value }) => (exceeds(value, highest) ? value : highest), none),
      );
      const { key, decided } = file;
      if (key !== undefined && (yield* findCreatedBatch(ctx, by.store.id, key)))
        throw new Fault('idempotency-key-reused');
      if (decided) yield* rememberColumns(ctx, by.store.id, decided);
      return yield* startBatch(ctx, {
        store: by.store,
        name,
        actor,
        apiClientId: null,
        locationId,
        cards,
        total,
        ...(lines && { fileLines: lines }),
        ...(key !== undefined && { key }),
      });
    },
    entryOf: () => ({ action: 'batch-issued', subjectId: null, details: { amount: formatMoney(total) } }),
  });
  return id;
}

/** Lists that the codes of a batch were read. @throws Fault those of `moveAsStaff`. */
export function* recordCodesRead(ctx: Context, by: ByStaff): Script<void> {
  const details = { amount: null };
  yield* listAsStaff(ctx, by, 'issueBatches', { action: 'batch-codes-read', subjectId: null, details });
}

/** Lists that the addresses of a batch that did not work were downloaded. @throws Fault those of `asStaff`. */
export function* recordAddressesRead(
  ctx: Context,
  by: ByStaff,
  { name, rows }: { readonly name: string | null; readonly rows: number },
): Script<void> {
  const details = { name, rows };
  yield* listAsStaff(ctx, by, 'changeEmails', { action: 'batch-addresses-read', subjectId: null, details });
}

type BatchAction = 'batch-resent' | 'batch-corrected' | 'batch-cancelled' | 'batch-rescheduled';

/** The entry of a change of emails of a batch; null: none changed. */
function emailsEntry(action: BatchAction, { name }: { readonly name: string | null }, rows: number) {
  return rows === 0 ? null : { action, subjectId: null, details: { name, rows } };
}

/** Emails new codes, to the same addresses or to corrected ones. @throws Fault those of `asStaff` and the resending. */
export function* resendBatch(
  ctx: Context,
  by: ByStaff,
  key: BatchKey,
  {
    canSend,
    corrected,
  }: { readonly canSend: boolean; readonly corrected: readonly CorrectedAddress[] | null },
): Script<ResentCards> {
  return yield* asStaff(ctx, by, {
    permission: 'changeEmails',
    change({ actor }) {
      const sender = { store: by.store, actor, canSend };
      return corrected === null
        ? resendUndelivered(ctx, key, sender)
        : correctUndelivered(ctx, key, corrected, sender);
    },
    entryOf: ({ batch, resent }) =>
      emailsEntry(corrected === null ? 'batch-resent' : 'batch-corrected', batch, resent),
  });
}

/** Cancels the emails that were not sent. @throws Fault those of `asStaff` and `cancelUnsent`. */
export function* cancelBatchEmails(ctx: Context, by: ByStaff, key: BatchKey): Script<CancelledEmails> {
  return yield* asStaff(ctx, by, {
    permission: 'changeEmails',
    change: () => cancelUnsent(ctx, key),
    entryOf: ({ batch, cancelled }) => emailsEntry('batch-cancelled', batch, cancelled),
  });
}

/** Sends the emails that were not sent at another time. @throws Fault those of `asStaff` and `rescheduleUnsent`. */
export function* rescheduleBatch(
  ctx: Context,
  by: ByStaff,
  key: BatchKey,
  sendOn: SendOn,
): Script<RescheduledEmails> {
  return yield* asStaff(ctx, by, {
    permission: 'changeEmails',
    change: () => rescheduleUnsent(ctx, key, sendOn),
    entryOf: ({ batch, rescheduled }) => emailsEntry('batch-rescheduled', batch, rescheduled),
  });
}
