/** Retrieves, updates and re-enables gift cards. Each is one transaction. */

import type { Context } from '../../storage/context.ts';
import { type Card, effectiveChanges, validateChanges, type CardChanges } from '../domain/card.ts';
import type { EmailStatus } from '../domain/state.ts';
import type { Readings } from '../domain/given-code.ts';
import { type Store, aboveLimit, isAbove } from '../../stores/domain/store.ts';
import { replaceCard, type CurrentCard } from '../storage/card.ts';
import { findByCode } from '../storage/code.ts';
import { type Script, resolved, parallel } from '../../../database/sql/sql.ts';
import { detailsOfActor, record } from '../../money/service/transfer.ts';
import { today } from '../../stores/service/day.ts';
import { releaseHold, type Closing } from '../../money/service/hold-closing.ts';
import { requireCard, requireVersion } from './present-card.ts';
import { cardReenabledEvent, cardUpdateEvents } from '../../events/domain/event.ts';
import { type FieldErrors, Fault } from '../../domain/fault.ts';
import { isHoldExpired, type Hold } from '../../money/domain/hold.ts';
import { adjustmentOf } from '../../money/domain/ledger.ts';
import { matchesRecord, type ReadOnlyField } from '../domain/record.ts';
import { findChangeEnd, recordChange } from '../storage/change.ts';
import { findDetailedCards } from '../storage/detailed-card.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { listOpenHolds } from '../../money/storage/hold.ts';

/** @throws Fault `not-found` if the store has no such card. */
export function* retrieve(storeId: number, cardId: number): Script<Card> {
  return yield* requireCard(storeId, cardId);
}

export type UpdateCommand = {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  /** The location at which the balance changes; absent: at no location. */
  readonly locationId?: number | null;
  readonly changes: CardChanges;
  /** Whether to release the card's open holds when it is disabled. */
  readonly releaseHolds: boolean;
  /** The note of the ledger's entry if the balance changes; absent: none. */
  readonly adjustmentNote?: string | null;
  /** The read-only fields in the request. */
  readonly echoed: ReadonlyMap<ReadOnlyField, unknown>;
  /** The code in the request, if there is one. */
  readonly echoedCode: Readings | null;
  /** The versions that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
  /** The errors of the parameters that were found before the card was read. */
  readonly errors: FieldErrors;
};

/**
 * Applies all changes to a card, or none. Without effective changes, the version stays the same.
 * @throws Fault `not-found`, `precondition-failed`, or `invalid-parameter` with all errors.
 */
export function* update(ctx: Context, command: UpdateCommand): Script<Card> {
  const { store, cardId, changes, echoedCode } = command;
  const [state, changeEnd, echoedId, emailStatus] = yield* parallel(
    requireVersion(ctx, command),
    findChangeEnd({ storeId: store.id, cardId }),
    echoedCode ? findHolderOf(ctx, store, echoedCode) : resolved(cardId),
    findEchoedStatus(ctx, command),
  );
  const { card } = state;
  assertUpdatable(ctx, { card, emailStatus }, echoedId, command);

  const effective = effectiveChanges(card, changes);
  if (Object.keys(effective).length === 0) return card;
  const releases = yield* findReleases(ctx, state, command);
  const released = applyReleases(card, releases);
  const now = ctx.clock.now();
  const { disable, ...values } = effective;
  const changed: Card = {
    ...released,
    ...values,
    disabledAt: disable ? now : card.disabledAt,
    version: released.version + 1,
  };
  const releasing = releases.map(({ hold, ...closing }) =>
    // Each release adds one version. `replaceCard` detects any other new version.
    releaseHold(ctx, hold, { ...closing, version: null }),
  );
  yield* parallel(parallel(...releasing), replaceCard(released, changed));
  if (effective.balance) {
    const movement = adjustmentOf(card.balance, effective.balance);
    const why = { ...detailsOfActor(command, now), note: command.adjustmentNote ?? null };
    yield* record(ctx, { card: changed, end: state.chainEnd }, movement, why);
  }
  const { actor } = command;
  yield* recordChange(ctx, { before: card, after: changed, end: changeEnd, actor, createdAt: now });
  for (const event of cardUpdateEvents(ctx.keys.publicIds, changed, effective))
    yield* recordEvent(ctx, event);
  return changed;
}

/** The status of the card's email, if the request has a field that depends on it. */
function* findEchoedStatus(
  ctx: Context,
  { store, cardId, echoed }: Pick<UpdateCommand, 'store' | 'cardId' | 'echoed'>,
): Script<EmailStatus> {
  if (!echoed.has('state') && !echoed.has('email_status')) return 'none';
  const [found] = yield* findDetailedCards(store.id, [cardId], ctx.clock.earliest());
  return found?.emailStatus ?? 'none';
}

type Release = Pick<Closing, 'closedAt'> & { readonly hold: Hold; readonly status: 'voided' | 'expired' };

/** The holds that an update releases: expired ones and, if it disables the card with `releaseHolds`, all others. */
function* findReleases(
  ctx: Context,
  { card, expiredHeld }: CurrentCard,
  { changes, releaseHolds }: Pick<UpdateCommand, 'changes' | 'releaseHolds'>,
): Script<readonly Release[]> {
  const releasesAll = releaseHolds && changes.disable === true;
  if (expiredHeld === 0n && !(releasesAll && card.held.minor > 0n)) return [];
  const [now, earliest] = [ctx.clock.now(), ctx.clock.earliest()];
  const open = yield* listOpenHolds(card.storeId, card.id);
  const expired = open.filter((hold) => isHoldExpired(hold, earliest));
  const others = releasesAll ? open.filter((hold) => !isHoldExpired(hold, earliest)) : [];
  return [
    ...expired.map((hold) => ({ hold, status: 'expired', closedAt: hold.expiresAt }) as const),
    ...others.map((hold) => ({ hold, status: 'voided', closedAt: now }) as const),
  ];
}

/** The card after the releases. Only voided holds reduce `held`, which never includes expired holds. */
function applyReleases(card: Card, releases: readonly Release[]): Card {
  const minor = releases
    .filter(({ status }) => status === 'voided')
    .reduce((held, { hold }) => held - hold.amount.minor, card.held.minor);
  return { ...card, version: card.version + releases.length, held: { ...card.held, minor } };
}

/**
 * Re-enables a card within the store's undo window.
 * @throws Fault `not-found`, `precondition-failed`, or `undo-window-closed` if the card is not disabled, the window has
 * passed, or the store does not have one.
 */
export function* reenableCard(
  ctx: Context,
  command: Pick<UpdateCommand, 'store' | 'cardId' | 'actor' | 'versions'>,
): Script<Card> {
  const { store, cardId, actor } = command;
  const [{ card }, end] = yield* parallel(
    requireVersion(ctx, command),
    findChangeEnd({ storeId: store.id, cardId }),
  );
  const windowMs = store.undoWindowMinutes * 60_000;
  if (card.disabledAt === null || ctx.clock.earliest() >= card.disabledAt + windowMs)
    throw new Fault('undo-window-closed');
  const enabled: Card = { ...card, disabledAt: null, version: card.version + 1 };
  yield* replaceCard(card, enabled);
  yield* recordChange(ctx, { before: card, after: enabled, end, actor });
  yield* recordEvent(ctx, cardReenabledEvent(ctx.keys.publicIds, enabled));
  return enabled;
}

/**
 * @param echoedId the id of the card with the code in the request.
 * @throws Fault `invalid-parameter` with all errors.
 */
function assertUpdatable(
  ctx: Context,
  { card, emailStatus }: { readonly card: Card; readonly emailStatus: EmailStatus },
  echoedId: number | undefined,
  command: UpdateCommand,
): void {
  const { echoed, store } = command;
  const day = today(ctx, store);
  // A script can be retried, and its first run must not add errors to the command.
  const errors = command.errors.copy();
  for (const [field, value] of echoed) {
    if (!matchesRecord(ctx.keys.publicIds, value, field, { card, today: day, emailStatus }))
      errors.add(field, cannotBeChanged);
  }
  if (echoedId !== card.id) errors.add('code', cannotBeChanged);
  // An unchanged balance is accepted, even if the limit was lowered since.
  const { balance } = effectiveChanges(card, command.changes);
  const { issueLimit } = command.store;
  if (balance && isAbove(issueLimit, balance)) errors.add('balance', aboveLimit(issueLimit));
  for (const [field, messages] of Object.entries(validateChanges(card, command.changes, command))) {
    for (const message of messages) errors.add(field, message);
  }
  errors.throwIfAny();
}

const cannotBeChanged = 'cannot be changed';

/** The id of the card with a code; undefined if there is none. */
function* findHolderOf(ctx: Context, store: Store, readings: Readings): Script<number | undefined> {
  const codes = readings.map(({ code }) => code);
  const used = yield* findByCode(ctx, { storeId: store.id, codes, now: ctx.clock.earliest() });
  return used?.isCurrent ? used.state.card.id : undefined;
}
