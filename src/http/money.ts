/** Movements of money over HTTP: look up, redeem, debit, credit, hold, capture, void, reverse, undo, and their history. */

import type { Card } from '../domain/card.ts';
import { Fault, Refusals } from '../domain/fault.ts';
import { holdSecondsDefault, type Hold } from '../domain/hold.ts';
import type { Transfer } from '../domain/ledger.ts';
import {
  balanceRecordOf,
  holdRecordOf,
  recordOf,
  spendableRecordOf,
  tillRecordOf,
  transactionOf,
} from '../domain/record.ts';
import type { SpendableRecord, TillRecord } from '../domain/schemas.ts';
import { lookUp, undo } from '../service/card.ts';
import { capture, placeHold, showHold, voidHold } from '../service/hold.ts';
import type { Answer } from '../service/idempotency.ts';
import { requireStanding, today, type MoneyCommand } from '../service/money.ts';
import { credit, debit, reverse } from '../service/spend.ts';
import type { Body, Wrapper } from './body.ts';
import { cardEtagOf, isKnown, notModified } from './etag.ts';
import type { Exchange } from './exchange.ts';
import * as parameters from './parameters.ts';
import type { Parameter } from './parameters.ts';
import { idOf, reader, refuseOthers, subjectOf, unknownParameter, versionsOf } from './reading.ts';

/** `POST /gift_card/lookup` */
export async function postLookup(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller } = exchange;
  const { values } = readBody(exchange, 'gift_card', { code: parameters.requiredCode });
  const { code } = values();
  const found = await storage.read(() =>
    lookUp(ctx, { store: caller.store, code, usableOnly: !mayRead(exchange) }),
  );
  if (found.kind === 'missed') {
    if (found.hadBy !== null) exchange.noteRetiredCode(found.hadBy);
    throw new Fault('not-found');
  }
  return answer(exchange, 200, { gift_card: cardRecordOf(exchange, found.card) }, found.card);
}

/** `GET /gift_card/{gift_card_id}/balance` */
export async function getBalance(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller, request } = exchange;
  const { store } = caller;
  const cardId = idOf(exchange, 'gift_card_id');
  const { card, runOut } = await storage.read(() => requireStanding(ctx, { storeId: store.id, cardId }));
  const balance = balanceRecordOf(card, today(ctx, store));
  // An expiry, of the card or of a hold, changes the response without a new version of the card.
  const followsVersion = balance.state !== 'expired' && runOut === 0n;
  const etag = cardEtagOf(ctx.keys.publicIds, card);
  if (followsVersion && isKnown(request.headers['if-none-match'], etag)) return notModified(etag);
  return answer(exchange, 200, { gift_card: balance }, card);
}

/** `POST /gift_card/redeem`: look up and debit in one step. */
export async function postRedeem(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'transaction', {
    code: parameters.requiredCode,
    ...spending,
    partial: parameters.partial,
  });
  let missed: { readonly hadBy: number | null } | undefined;
  try {
    return await exchange.write(body, function* () {
      const { code, amount, partial = false, ...beside } = values();
      const found = yield* lookUp(ctx, { store: caller.store, code, usableOnly: !mayRead(exchange) });
      missed = found.kind === 'missed' ? found : undefined;
      if (found.kind === 'missed') throw new Fault('not-found');
      const { card, codeLookup } = found;
      const command = { ...moneyCommand(exchange, card.id, beside), amount, partial, codeLookup };
      return moved(exchange, 201, yield* debit(ctx, command));
    });
  } finally {
    // A response that is replayed under its idempotency key notes nothing: the script did not run.
    const hadBy = missed?.hadBy ?? null;
    if (hadBy !== null) exchange.noteRetiredCode(hadBy);
  }
}

/** `POST /gift_card/{gift_card_id}/debit` */
export async function postDebit(exchange: Exchange): Promise<Answer> {
  const { ctx } = exchange;
  const { body, values } = readBody(exchange, 'transaction', { ...spending, partial: parameters.partial });
  return exchange.write(
    body,
    function* () {
      const cardId = idOf(exchange, 'gift_card_id');
      const { amount, partial = false, ...beside } = values();
      return moved(
        exchange,
        201,
        yield* debit(ctx, { ...moneyCommand(exchange, cardId, beside), amount, partial }),
      );
    },
    subjectOf(exchange),
  );
}

/** `POST /gift_card/{gift_card_id}/credit` */
export async function postCredit(exchange: Exchange): Promise<Answer> {
  const { ctx } = exchange;
  const { body, values } = readBody(exchange, 'transaction', spending);
  return exchange.write(
    body,
    function* () {
      const cardId = idOf(exchange, 'gift_card_id');
      const { amount, ...beside } = values();
      return moved(exchange, 201, yield* credit(ctx, { ...moneyCommand(exchange, cardId, beside), amount }));
    },
    subjectOf(exchange),
  );
}

/** `POST /gift_card/{gift_card_id}/holds` */
export async function postHold(exchange: Exchange): Promise<Answer> {
  const { ctx, basePath } = exchange;
  const { body, values } = readBody(exchange, 'hold', { ...spending, expires_in: parameters.expiresIn });
  return exchange.write(
    body,
    function* () {
      const cardId = idOf(exchange, 'gift_card_id');
      const { amount, expires_in: seconds = holdSecondsDefault, ...beside } = values();
      const held = yield* placeHold(ctx, { ...moneyCommand(exchange, cardId, beside), amount, seconds });
      const made = shown(exchange, 201, held);
      const location = `${basePath}/holds/${ctx.keys.publicIds.of(held.hold.id)}`;
      return { ...made, headers: { ...made.headers, location } };
    },
    subjectOf(exchange),
  );
}

/** `GET /holds/{hold_id}` */
export async function getHold(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller } = exchange;
  const holdId = idOf(exchange, 'hold_id');
  return shown(exchange, 200, await storage.read(() => showHold(ctx, caller.store.id, holdId)));
}

/** `POST /holds/{hold_id}/capture` */
export async function postCapture(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { store, actor } = caller;
  const { body, values } = readBody(exchange, 'transaction', {
    amount: parameters.optionalAmount,
    note: parameters.note,
  });
  return exchange.write(body, function* () {
    const holdId = idOf(exchange, 'hold_id');
    const { amount = null, note = null } = values();
    const taken = yield* capture(ctx, {
      store,
      holdId,
      actor,
      amount,
      note,
      versionsOf: versionsOf(exchange),
    });
    const { publicIds } = ctx.keys;
    return answer(
      exchange,
      201,
      {
        transaction: transactionOf(publicIds, taken.transfer),
        hold: holdRecordOf(publicIds, taken.hold, ctx.clock.now()),
        gift_card: cardRecordOf(exchange, taken.card),
      },
      taken.card,
    );
  });
}

/** `POST /holds/{hold_id}/void` */
export async function postVoid(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'hold', {});
  return exchange.write(body, function* () {
    const holdId = idOf(exchange, 'hold_id');
    values();
    return shown(
      exchange,
      200,
      yield* voidHold(ctx, { store: caller.store, holdId, versionsOf: versionsOf(exchange) }),
    );
  });
}

/** `POST /transactions/{transaction_id}/reverse` */
export async function postReverse(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { store, actor, scopes } = caller;
  const { body, values } = readBody(exchange, 'transaction', {
    amount: parameters.optionalAmount,
    note: parameters.note,
  });
  return exchange.write(body, function* () {
    const transferId = idOf(exchange, 'transaction_id');
    const { amount = null, note = null } = values();
    return moved(
      exchange,
      201,
      yield* reverse(ctx, {
        store,
        transferId,
        amount,
        actor,
        note,
        scopes,
        versionsOf: versionsOf(exchange),
      }),
    );
  });
}

/** `POST /gift_card/{gift_card_id}/undo` */
export async function postUndo(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'gift_card', {});
  return exchange.write(body, function* () {
    const cardId = idOf(exchange, 'gift_card_id');
    const versions = versionsOf(exchange)(cardId);
    values();
    const card = yield* undo(ctx, { store: caller.store, cardId, versions });
    return answer(exchange, 200, { gift_card: recordOf(ctx.keys.publicIds, card) }, card);
  });
}

/** What a debit, credit and hold take alike. */
const spending = {
  amount: parameters.amount,
  currency: parameters.expectedCurrency,
  reference: parameters.reference,
  note: parameters.note,
  order_id: parameters.orderId,
};

type Declared = Readonly<Record<string, Parameter<unknown>>>;
type ValueOf<P> = P extends Parameter<infer T> ? T : never;
type RequiredNames<P> = { [K in keyof P]: P[K] extends Parameter<unknown, true> ? K : never }[keyof P];
type Values<P> = { readonly [K in RequiredNames<P> & keyof P]: ValueOf<P[K]> } & {
  readonly [K in Exclude<keyof P, RequiredNames<P>>]?: ValueOf<P[K]>;
};

/**
 * Reads a body's parameters by their declarations. What is refused is told by `values`, which a
 * script calls: so the refusal is the outcome that an idempotency key keeps.
 */
export function readBody<P extends Declared>(
  exchange: Exchange,
  wrapper: Wrapper,
  declared: P,
): {
  readonly body: Body;
  /** @throws Fault `invalid-parameter` with everything that was refused; `currency-mismatch`. */
  readonly values: () => Values<P>;
} {
  const { ctx, caller } = exchange;
  const refusals = new Refusals();
  const body = exchange.readBody(wrapper, refusals);
  const read = reader(body, { store: caller.store, now: ctx.clock.now(), isForm: body.isForm }, refusals);
  const entries = Object.entries(declared).map(([name, parameter]) => [name, read(name, parameter)] as const);
  refuseOthers(body, refusals, {
    known: new Set(Object.keys(declared)),
    isHarmless: () => false,
    refusalOf: () => unknownParameter,
  });
  const values = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  return {
    body,
    values() {
      refusals.throwIfAny();
      refuseCurrency(values['currency'], exchange);
      // Nothing was refused, so every required parameter is there, read by its own declaration.
      return values as Values<P>;
    },
  };
}

function refuseCurrency(asked: unknown, { caller }: Exchange): void {
  const { code } = caller.store.currency;
  if (typeof asked === 'string' && asked !== code) {
    throw new Fault('currency-mismatch', {
      detail: `The gift card is in ${code}.`,
      errors: { currency: [`is ${asked}, but the gift card is in ${code}`] },
    });
  }
}

function moneyCommand(
  exchange: Exchange,
  cardId: number,
  values: {
    readonly reference?: string | null;
    readonly note?: string | null;
    readonly order_id?: number | null;
  },
): MoneyCommand {
  const { caller } = exchange;
  return {
    store: caller.store,
    cardId,
    actor: caller.actor,
    reference: values.reference ?? null,
    note: values.note ?? null,
    orderId: values.order_id ?? null,
    versions: versionsOf(exchange)(cardId),
  };
}

function mayRead({ caller }: Exchange): boolean {
  return caller.scopes.includes('read_gift_cards');
}

/** A card for this caller: without `read_gift_cards`, only what a till needs. */
function cardRecordOf(exchange: Exchange, card: Card): TillRecord | SpendableRecord {
  const { ctx, caller } = exchange;
  const { publicIds } = ctx.keys;
  return mayRead(exchange)
    ? spendableRecordOf(publicIds, card)
    : tillRecordOf(publicIds, card, today(ctx, caller.store));
}

function moved(
  exchange: Exchange,
  status: number,
  { transfer, card }: { readonly transfer: Transfer; readonly card: Card },
): Answer {
  const transaction = transactionOf(exchange.ctx.keys.publicIds, transfer);
  return answer(exchange, status, { transaction, gift_card: cardRecordOf(exchange, card) }, card);
}

function shown(
  exchange: Exchange,
  status: number,
  { hold: held, card }: { readonly hold: Hold; readonly card: Card },
): Answer {
  const { clock, keys } = exchange.ctx;
  const hold = holdRecordOf(keys.publicIds, held, clock.now());
  return answer(exchange, status, { hold, gift_card: cardRecordOf(exchange, card) }, card);
}

/** An answer that tells of one card. */
function answer({ ctx }: Exchange, status: number, body: object, card: Card): Answer {
  return {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      etag: cardEtagOf(ctx.keys.publicIds, card),
    },
    body: JSON.stringify(body),
  };
}
