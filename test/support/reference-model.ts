/**
 * A gift card service in a few hundred lines, without a database: the specification of every operation on money.
 *
 * Terms: the model identifies cards, holds and transfers by their creation order. Amounts are minor units,
 * and the effect of a transfer on the balance is signed. The model does not close expired holds: the clock
 * alone determines whether a hold reserves an amount.
 */

import type { FaultCode } from '../../src/core/domain/fault.ts';
import type { HoldStatus } from '../../src/core/money/domain/hold.ts';
import type { TransferKind } from '../../src/core/money/domain/ledger.ts';

/**
 * An action on a model or the service. Targets are positions in the creation order; an unknown position names
 * nothing.
 */
export type Action = At & Change;

/** The location of the entry that an action makes; absent or null: none. */
type At = { readonly location?: number | null };

type Change =
  | {
      readonly kind: 'issue';
      readonly amount: bigint;
      readonly expiresOn: string | null;
      readonly isSuspended?: boolean;
    }
  | ({ readonly kind: 'update'; readonly releaseHolds: boolean; readonly changes: Changes } & OnCard)
  | ({ readonly kind: 'debit'; readonly amount: bigint; readonly partial: boolean } & OnCard)
  | ({ readonly kind: 'credit'; readonly amount: bigint } & OnCard)
  /** `expiresOn` null: the day stays. */
  | ({ readonly kind: 'top_up'; readonly amount: bigint; readonly expiresOn: string | null } & OnCard)
  | ({ readonly kind: 'hold'; readonly amount: bigint; readonly seconds: number } & OnCard)
  | { readonly kind: 'capture'; readonly hold: number; readonly amount: bigint | null }
  | { readonly kind: 'void'; readonly hold: number }
  | {
      readonly kind: 'reverse';
      readonly transfer: number;
      readonly amount: bigint | null;
      /** Whether the caller can sell, and therefore reverse a credit or a top-up. */
      readonly maySell: boolean;
    }
  | ({ readonly kind: 'undo' } & OnCard)
  | ({ readonly kind: 'suspend' } & OnCard)
  | ({ readonly kind: 'resume' } & OnCard)
  /** Prints codes with a fixed value, or an open one. */
  | { readonly kind: 'print'; readonly codes: number; readonly fixed: bigint | null }
  | { readonly kind: 'activate'; readonly code: number; readonly amount: bigint }
  /** Voids a code, or all that are left of its stock. */
  | { readonly kind: 'void_stock'; readonly code: number; readonly all: boolean }
  | { readonly kind: 'expire' };

type OnCard = {
  readonly card: number;
  /** Whether the version that the caller names is the card's; null: the caller names none. */
  readonly isCurrent: boolean | null;
};

export type Changes = {
  readonly balance?: bigint;
  readonly disable?: boolean;
  readonly expiresOn?: string | null;
  readonly note?: string | null;
};

type Card = {
  balance: bigint;
  expiresOn: string | null;
  disabledAt: number | null;
  suspendedAt: number | null;
  note: string | null;
};
type Hold = {
  readonly card: number;
  readonly amount: bigint;
  readonly expiresAt: number;
  status: HoldStatus;
  captured: bigint;
};
type Transfer = {
  readonly card: number;
  readonly kind: TransferKind;
  readonly effect: bigint;
  readonly reverses: number | null;
  readonly location: number | null;
};

/** A printed code, which is neither a card nor an amount until it is activated. */
type Code = { readonly stock: number; readonly fixed: bigint | null; state: 'left' | 'sold' | 'voided' };

export type Model = {
  now: number;
  readonly undoWindowMs: number;
  /** The most that a credit or a top-up can raise a balance to. */
  readonly limit: bigint;
  /** The store's time zone, which has no summer time. */
  readonly hoursAheadOfUtc: number;
  readonly cards: Card[];
  readonly holds: Hold[];
  readonly transfers: Transfer[];
  /** Codes of all stocks, in the order in which they were printed. */
  readonly codes: Code[];
};

/** The code and the data of an error. */
export type Rejected = {
  readonly code: FaultCode;
  readonly available?: bigint;
  readonly held?: bigint;
  readonly reversible?: bigint;
};

export function todayOf({ now, hoursAheadOfUtc }: Model, days = 0): string {
  return new Date(now + (hoursAheadOfUtc + 24 * days) * 3_600_000).toISOString().slice(0, 10);
}

export function statusOf({ now }: Model, { status, expiresAt }: Hold): HoldStatus {
  return status === 'open' && expiresAt <= now ? 'expired' : status;
}

function openHolds(model: Model, card: number): Hold[] {
  return model.holds.filter((hold) => hold.card === card && statusOf(model, hold) === 'open');
}

export function heldOf(model: Model, card: number): bigint {
  return openHolds(model, card).reduce((sum, { amount }) => sum + amount, 0n);
}

/** Executes the action, or changes nothing and returns the error. */
export function apply(model: Model, action: Action): Rejected | undefined {
  const made = model.transfers.length;
  const rejected = applyUnplaced(model, action);
  // An action makes one transfer at most.
  const [transfer] = model.transfers.splice(made);
  if (transfer) model.transfers.push({ ...transfer, location: action.location ?? null });
  return rejected;
}

function applyUnplaced(model: Model, action: Action): Rejected | undefined {
  switch (action.kind) {
    case 'issue':
      return issue(model, action);
    case 'print':
    case 'activate':
    case 'void_stock':
      return applyToStock(model, action);
    case 'update':
    case 'undo':
    case 'suspend':
    case 'resume':
    case 'debit':
    case 'credit':
    case 'top_up':
    case 'hold':
      return applyToCard(model, action);
    case 'capture':
    case 'void': {
      const hold = model.holds[action.hold];
      if (!hold) return { code: 'not-found' };
      const status = statusOf(model, hold);
      if (status !== 'open') return { code: status === 'expired' ? 'hold-expired' : 'hold-closed' };
      const captured = action.kind === 'void' ? 0n : (action.amount ?? hold.amount);
      if (captured > hold.amount) return { code: 'capture-exceeds-hold', held: hold.amount };
      hold.status = action.kind === 'void' ? 'voided' : 'captured';
      hold.captured = captured;
      return action.kind === 'void' ? undefined : move(model, hold.card, 'capture', -captured);
    }
    case 'reverse':
      return reverse(model, action);
    case 'expire':
      return undefined;
  }
}

function issue(
  model: Model,
  {
    amount,
    expiresOn,
    isSuspended = false,
  }: Pick<Extract<Action, { kind: 'issue' }>, 'amount' | 'expiresOn' | 'isSuspended'>,
): undefined {
  const suspendedAt = isSuspended ? model.now : null;
  model.cards.push({ balance: 0n, expiresOn, disabledAt: null, suspendedAt, note: null });
  return move(model, model.cards.length - 1, 'issue', amount);
}

function applyToStock(
  model: Model,
  action: Extract<Action, { kind: 'print' | 'activate' | 'void_stock' }>,
): Rejected | undefined {
  if (action.kind === 'print') {
    const { fixed } = action;
    const stock = new Set(model.codes.map((code) => code.stock)).size;
    for (let count = 0; count < action.codes; count += 1) model.codes.push({ stock, fixed, state: 'left' });
    return undefined;
  }
  const code = model.codes[action.code];
  if (action.kind === 'activate') {
    if (code?.state === 'sold') return { code: 'already-activated' };
    if (code?.state !== 'left' || (code.fixed !== null && code.fixed !== action.amount))
      return { code: 'invalid-parameter' };
    code.state = 'sold';
    return issue(model, { amount: action.amount, expiresOn: null });
  }
  if (!code) return { code: 'not-found' };
  if (!action.all && code.state === 'sold') return { code: 'invalid-parameter' };
  const chosen = action.all ? model.codes.filter(({ stock }) => stock === code.stock) : [code];
  for (const each of chosen) if (each.state === 'left') each.state = 'voided';
  return undefined;
}

function move(model: Model, card: number, kind: TransferKind, effect: bigint, reverses: number | null = null): undefined {
  const found = model.cards[card];
  if (found) found.balance += effect;
  model.transfers.push({ card, kind, effect, reverses, location: null });
} // prettier-ignore

function applyToCard(model: Model, action: Extract<Action, OnCard>): Rejected | undefined {
  const card = model.cards[action.card];
  if (!card) return { code: 'not-found' };
  if (action.isCurrent === false) return { code: 'precondition-failed' };
  if (action.kind === 'update') return update(model, card, action);
  if (action.kind === 'undo') {
    const isOpen = card.disabledAt !== null && model.now < card.disabledAt + model.undoWindowMs;
    if (isOpen) card.disabledAt = null;
    return isOpen ? undefined : { code: 'undo-window-closed' };
  }
  if (card.disabledAt !== null) return { code: 'card-disabled' };
  if (action.kind === 'suspend' || action.kind === 'resume') {
    card.suspendedAt = action.kind === 'resume' ? null : (card.suspendedAt ?? model.now);
    return undefined;
  }
  if (card.expiresOn !== null && card.expiresOn < todayOf(model)) return { code: 'card-expired' };
  if (card.suspendedAt !== null) return { code: 'card-suspended' };
  const available = card.balance - heldOf(model, action.card);
  const { amount } = action;
  if (action.kind === 'credit' || action.kind === 'top_up') {
    const expiresOn = action.kind === 'top_up' ? action.expiresOn : null;
    const isLater = expiresOn === null || (card.expiresOn !== null && expiresOn >= card.expiresOn);
    if (card.balance + amount > model.limit || !isLater) return { code: 'invalid-parameter' };
    card.expiresOn = expiresOn ?? card.expiresOn;
    return move(model, action.card, action.kind, amount);
  }
  const takesLess = action.kind === 'debit' && action.partial && available > 0n && available < amount;
  const taken = takesLess ? available : amount;
  if (taken > available) return { code: 'insufficient-balance', available };
  if (action.kind === 'debit') return move(model, action.card, 'debit', -taken);
  const expiresAt = model.now + action.seconds * 1_000;
  model.holds.push({ card: action.card, amount, expiresAt, status: 'open', captured: 0n });
  return undefined;
}

function update(
  model: Model,
  card: Card,
  { card: place, changes, releaseHolds }: Extract<Action, { readonly kind: 'update' }>,
): Rejected | undefined {
  const { balance = card.balance, disable, expiresOn = card.expiresOn, note = card.note } = changes;
  const isDisabled = card.disabledAt !== null;
  const held = disable === true && releaseHolds ? 0n : heldOf(model, place);
  const rejected: Rejected = { code: 'invalid-parameter' };
  if (balance < held || (held > 0n && disable === true && !isDisabled)) return rejected;
  if (isDisabled && (disable === false || balance !== card.balance || expiresOn !== card.expiresOn))
    return rejected;
  if (card.suspendedAt !== null && balance !== card.balance) return rejected;
  if (disable === true && !isDisabled) {
    for (const hold of openHolds(model, place)) hold.status = 'voided';
    card.disabledAt = model.now;
  }
  Object.assign(card, { expiresOn, note });
  return balance === card.balance ? undefined : move(model, place, 'adjustment', balance - card.balance);
}

function reverse(model: Model, action: Extract<Action, { readonly kind: 'reverse' }>): Rejected | undefined {
  const transfer = model.transfers[action.transfer];
  if (!transfer) return { code: 'not-found' };
  if (!['debit', 'capture', 'credit', 'top_up'].includes(transfer.kind)) return { code: 'not-reversible' };
  if (['credit', 'top_up'].includes(transfer.kind) && !action.maySell) return { code: 'insufficient-scope' };
  const back = model.transfers
    .filter(({ reverses }) => reverses === action.transfer)
    .reduce((sum, { effect }) => sum + effect, 0n);
  // A reversal has the opposite sign of the reversed transfer: their sum is the rest.
  const left = transfer.effect + back;
  const reversible = left < 0n ? -left : left;
  const amount = action.amount ?? reversible;
  if (amount === 0n || amount > reversible) return { code: 'reversal-exceeds-transaction', reversible };
  const card = model.cards[transfer.card];
  if (!card || card.disabledAt !== null) return { code: 'card-disabled' };
  const effect = left < 0n ? amount : -amount;
  const available = card.balance - heldOf(model, transfer.card);
  if (available + effect < 0n) return { code: 'insufficient-balance', available };
  return move(model, transfer.card, 'reversal', effect, action.transfer);
}
