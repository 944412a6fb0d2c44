/** The service's scripts for the tests of money: an action is the input, and its result the output. */

import { chosenOf } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import type { Context } from '../../src/core/storage/context.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import type { Card, CardChanges } from '../../src/core/cards/domain/card.ts';
import { Fault, FieldErrors, type FaultCode } from '../../src/core/domain/fault.ts';
import type { Hold } from '../../src/core/money/domain/hold.ts';
import type { Transfer } from '../../src/core/money/domain/ledger.ts';
import { stockValuesOf, type Stock } from '../../src/core/stocks/domain/stock.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { Money } from '../../src/core/money/domain/money.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import { capture, placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import type { MoneyCommand } from '../../src/core/money/service/transfer.ts';
import { startStock, voidCodesOf } from '../../src/features/stock/service/stock.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { numberedVersions } from '../support/numbered-versions.ts';
import type { Action } from '../support/reference-model.ts';
import { expireHolds } from '../support/upkeep.ts';

/** The ids of the positions by which actions name things. */
type Places = {
  readonly cards: readonly number[];
  readonly holds: readonly number[];
  readonly transfers: readonly number[];
  /** Absent: the actions name none. */
  readonly locations?: readonly number[];
  readonly stocks?: readonly number[];
  /** The stock of each printed code, as a position. */
  readonly stockOfCode?: readonly number[];
};

export type Desk = { readonly ctx: Context; readonly store: Store; readonly places: Places };

/** The result of an action: the card, and the created hold, transfer or stock. */
export type Done = {
  readonly card?: Card;
  readonly hold?: Hold;
  readonly transfer?: Transfer;
  readonly stock?: Stock;
};

/** An id that does not exist. */
const missingId = 1;

const holdsClosedAtOnce = 50;

/** The script of an action. `versions` are those that the caller names. */
export function* perform(desk: Desk, action: Action, versions: readonly number[] | null = null): Script<Done> {
  const { ctx, store, places } = desk;
  const actor = 'test';
  const accepted = versions && numberedVersions(versions);
  const locationId = places.locations?.[action.location ?? -1] ?? null;
  const on = (card: number): MoneyCommand => ({
    store,
    cardId: places.cards[card] ?? missingId,
    actor,
    locationId,
    reference: null,
    note: null,
    orderId: null,
    versions: accepted,
  });
  const money = (minor: bigint): Money => ({ minor, currency: store.currency });
  const moneyOrNull = (minor: bigint | null): Money | null => (minor === null ? null : money(minor));
  const versionsOf = (): null => null;
  switch (action.kind) {
    case 'issue': {
      const none = { customer: null, recipient: null, code: null };
      const { expiresOn, isSuspended = false } = action;
      return yield* issue(ctx, { store, apiClientId: null, actor, locationId, value: money(action.amount), details: { ...noDetails, expiresOn }, isSuspended, ...none });
    } // prettier-ignore
    case 'update': {
      const { balance, ...others } = action.changes;
      const changes: CardChanges = { ...others, ...(balance !== undefined && { balance: money(balance) }) };
      const asked = { changes, releaseHolds: action.releaseHolds, echoed: new Map(), echoedCode: null };
      const card = yield* update(ctx, { ...on(action.card), ...asked, errors: new FieldErrors() });
      // The response does not show the held amount.
      return { card: { ...card, held: money(0n) } };
    }
    case 'debit':
      return yield* debit(ctx, { ...on(action.card), amount: money(action.amount), partial: action.partial });
    case 'credit':
      return yield* credit(ctx, { ...on(action.card), amount: money(action.amount) });
    case 'top_up': {
      const { amount, expiresOn } = action;
      return yield* topUp(ctx, { ...on(action.card), amount: money(amount), expiresOn, notify: true });
    }
    case 'hold':
      return yield* placeHold(ctx, { ...on(action.card), amount: money(action.amount), seconds: action.seconds });
    case 'capture': {
      const holdId = places.holds[action.hold] ?? missingId;
      return yield* capture(ctx, { store, holdId, amount: moneyOrNull(action.amount), actor, locationId, note: null, versionsOf });
    }
    case 'void':
      return yield* voidOpenHold(ctx, { store, holdId: places.holds[action.hold] ?? missingId, versionsOf });
    case 'reverse': {
      const transferId = places.transfers[action.transfer] ?? missingId;
      const amount = moneyOrNull(action.amount);
      const scopes = action.maySell ? (['write_gift_cards', 'redeem_gift_cards'] as const) : (['redeem_gift_cards'] as const);
      return yield* reverse(ctx, { store, transferId, amount, actor, locationId, note: null, scopes, versionsOf });
    }
    case 'undo':
      return { card: yield* reenableCard(ctx, on(action.card)) };
    case 'suspend':
      return yield* suspendCard(ctx, { ...on(action.card), reason: 'a reason' });
    case 'resume':
      return yield* resumeCard(ctx, on(action.card));
    case 'print':
    case 'activate':
    case 'void_stock':
      return yield* performOnStock(desk, action, locationId);
    case 'expire':
      yield* expireHolds(ctx, holdsClosedAtOnce);
      return {};
  }
} // prettier-ignore

/** The printed code at a position; an unknown one was never printed. */
function printedCode(place: number): Secret {
  return new Secret(`printed${String(place + 10_000)}`);
}

function* performOnStock(
  { ctx, store, places }: Desk,
  action: Extract<Action, { readonly kind: 'print' | 'activate' | 'void_stock' }>,
  locationId: number | null,
): Script<Done> {
  const money = (minor: bigint): Money => ({ minor, currency: store.currency });
  const caller = { store, actor: 'test', apiClientId: null };
  const { stocks = [], stockOfCode = [] } = places;
  switch (action.kind) {
    case 'print': {
      const values = stockValuesOf({ fixedValue: action.fixed === null ? null : money(action.fixed) }, store);
      const codes = Array.from({ length: action.codes }, (_, place) =>
        printedCode(stockOfCode.length + place),
      );
      const terms = { ...values, validMonths: null };
      return { stock: yield* startStock(ctx, { ...caller, name: null, terms, codes }) };
    }
    case 'activate': {
      const card = { details: noDetails, customer: null, recipient: null, stock: 'required' } as const;
      const code = printedCode(action.code);
      return yield* issue(ctx, { ...caller, ...card, locationId, value: money(action.amount), code });
    }
    case 'void_stock': {
      const key = { storeId: store.id, stockId: stocks[stockOfCode[action.code] ?? -1] ?? missingId };
      const codes = action.all ? null : [chosenOf(printedCode(action.code))];
      yield* voidCodesOf(ctx, { key, codes, actor: 'test' });
      return {};
    }
  }
}

/** The data of errors that the model has. */
const amounts: ReadonlySet<string> = new Set(['available', 'held', 'reversible']);

/** Returns the code and data of a fault, for comparisons. @throws the error itself, if it is not a fault. */
export function errorOf(error: unknown): {
  readonly code: FaultCode;
  readonly available?: bigint;
  readonly held?: bigint;
  readonly reversible?: bigint;
} {
  if (!(error instanceof Fault)) throw error;
  const data = Object.entries(error.extensions ?? {})
    .filter(([name]) => amounts.has(name))
    .map(([name, text]) => {
      assert.match(text, /^\d+\.\d\d$/, `${name} of ${error.code}`);
      return [name, BigInt(text.replace('.', ''))] as const;
    });
  return { code: error.code, ...Object.fromEntries(data) };
}
