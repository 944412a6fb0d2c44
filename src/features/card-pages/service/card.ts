/** Changes of a card by members of staff: its balance, its details, its code, its holds, and whether it can be used. */

import { editableFields, propertyOf } from '../../../core/cards/domain/fields.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { FieldErrors } from '../../../core/domain/fault.ts';
import type { Hold } from '../../../core/money/domain/hold.ts';
import { formatMoney, subtract, type Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { reenableCard, update, type UpdateCommand } from '../../../core/cards/service/card.ts';
import { rotateCode, sendGiftCard } from '../../../core/emails/service/email.ts';
import { voidOpenHold } from '../../../core/money/service/hold.ts';
import { assertVersion, loadCard } from '../../../core/cards/service/present-card.ts';
import { asStaff, listAsStaff, moveAsStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertSaleLimit } from '../../../core/staff/service/limits.ts';

/** A change that a form has made, which has no read-only fields. */
type CardUpdate = Pick<UpdateCommand, 'store' | 'cardId' | 'actor' | 'changes'> &
  Partial<Pick<UpdateCommand, 'releaseHolds' | 'adjustmentNote' | 'versions' | 'locationId'>>;

/** @throws Fault as `update` does. */
export function* changeCard(ctx: Context, command: CardUpdate): Script<Card> {
  const unsent = { echoed: new Map(), echoedCode: null, errors: new FieldErrors() };
  return yield* update(ctx, { releaseHolds: false, versions: null, ...command, ...unsent });
}

type Adjustment = {
  readonly cardId: number;
  readonly balance: Money;
  readonly reason: string;
  /** The version for which the person has seen the difference. */
  readonly version: string;
};

/** @throws Fault `precondition-failed`; those of `moveAsStaff`, `assertSaleLimit` and `update`. */
export function* adjustBalance(
  ctx: Context,
  by: ByStaff,
  { cardId, balance, reason, version }: Adjustment,
): Script<void> {
  const { store } = by;
  yield* moveAsStaff(ctx, by, {
    permission: 'changeCards',
    *change({ member, actor, locationId }) {
      const state = yield* loadCard(ctx, { storeId: store.id, cardId });
      const before = state.card.balance;
      assertVersion([version], state);
      const added = subtract(balance, before);
      if (added.minor > 0n) assertSaleLimit(member, added);
      yield* changeCard(ctx, {
        store,
        cardId,
        actor,
        locationId,
        changes: { balance },
        adjustmentNote: reason,
        versions: [version],
      });
      const after = yield* loadCard(ctx, { storeId: store.id, cardId });
      return { before, after, isAdjusted: added.minor !== 0n };
    },
    entryOf: ({ before, after: { card, chainEnd }, isAdjusted }) => ({
      action: 'card-changed',
      subjectId: cardId,
      details: {
        before: formatMoney(before),
        balance: formatMoney(card.balance),
        ...(isAdjusted && { entry: ctx.keys.publicIds.of(chainEnd.transferId) }),
      },
    }),
  });
}

type Edit = {
  readonly cardId: number;
  readonly changes: UpdateCommand['changes'];
  /** The version of which the form was made. */
  readonly version: string;
};

/**
 * Changes details of a card. The audit log has the names of the fields that have changed.
 * @throws Fault `precondition-failed`; those of `asStaff` and `update`.
 */
export function* editCard(ctx: Context, by: ByStaff, { cardId, changes, version }: Edit): Script<void> {
  const { store } = by;
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    *change({ actor }) {
      const { card: before } = yield* loadCard(ctx, { storeId: store.id, cardId });
      const after = yield* changeCard(ctx, { store, cardId, actor, changes, versions: [version] });
      return editableFields.filter((name) => before[propertyOf(name)] !== after[propertyOf(name)]);
    },
    entryOf: (fields) =>
      fields.length === 0
        ? null
        : { action: 'card-changed', subjectId: cardId, details: { fields: fields.join(', ') } },
  });
}

/** @throws Fault `invalid-parameter` on `disable` if the card has holds that are not released; those of `asStaff`. */
export function* disableCard(
  ctx: Context,
  by: ByStaff,
  { cardId, releaseHolds }: { readonly cardId: number; readonly releaseHolds: boolean },
): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    change: ({ actor }) =>
      changeCard(ctx, { store: by.store, cardId, actor, changes: { disable: true }, releaseHolds }),
    entryOf: ({ balance }) => ({
      action: 'card-disabled',
      subjectId: cardId,
      details: { balance: formatMoney(balance), holdsReleased: releaseHolds },
    }),
  });
}

/** @throws Fault `undo-window-closed`; those of `asStaff`. */
export function* enableCard(ctx: Context, by: ByStaff, cardId: number): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    change: ({ actor }) => reenableCard(ctx, { store: by.store, cardId, actor, versions: null }),
    entryOf: () => ({ action: 'card-reenabled', subjectId: cardId, details: {} }),
  });
}

/** Releases an open hold. @throws Fault those of `asStaff` and `voidOpenHold`. */
export function* releaseHoldOf(ctx: Context, by: ByStaff, { id, cardId, amount }: Hold): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    change: () => voidOpenHold(ctx, { store: by.store, holdId: id, versionsOf: () => null }),
    entryOf: () => ({ action: 'hold-released', subjectId: cardId, details: { amount: formatMoney(amount) } }),
  });
}

type NewCode = {
  readonly cardId: number;
  readonly address: EmailAddress;
  /** Whether the service can send emails. */
  readonly canSend: boolean;
};

/** Emails a new code. @throws Fault those of `asStaff` and `sendGiftCard`. */
export function* emailNewCode(
  ctx: Context,
  by: ByStaff,
  { cardId, address, canSend }: NewCode,
): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    change: ({ actor }) =>
      sendGiftCard(ctx, { store: by.store, cardId, actor, versions: null, canSend, address }),
    entryOf: () => ({ action: 'code-sent', subjectId: cardId, details: { how: 'email' } }),
  });
}

/** Replaces the code by one that is printed. @throws Fault those of `asStaff` and `rotateCode`. */
export function* printNewCode(ctx: Context, by: ByStaff, cardId: number): Script<Secret> {
  const { code } = yield* asStaff(ctx, by, {
    permission: 'changeCards',
    change: ({ actor }) => rotateCode(ctx, { store: by.store, cardId, actor, versions: null }),
    entryOf: () => ({ action: 'code-sent', subjectId: cardId, details: { how: 'print' } }),
  });
  return code;
}

/** The details of an export in the audit log: the names of the filters. Their values can be personal. */
export type ExportedCards = { readonly state: string | undefined; readonly filters: readonly string[] };

/** Lists an export of cards. @throws Fault those of `asStaff`. */
export function* recordCardExport(
  ctx: Context,
  by: ByStaff,
  { state, filters }: ExportedCards,
): Script<void> {
  const details = {
    ...(state !== undefined && { state }),
    ...(filters.length > 0 && { filters: filters.join(', ') }),
  };
  yield* listAsStaff(ctx, by, 'exportCards', { action: 'cards-exported', subjectId: null, details });
}
