/** Fills the demonstration store with a year of history, for people who want to see lists and reports. */

import assert from 'node:assert/strict';
import { plainClock } from '../../../platform/clock.ts';
import type { Context } from '../../../core/storage/context.ts';
import { noDetails } from '../../../core/cards/domain/fields.ts';
import type { CardChanges } from '../../../core/cards/domain/card.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import { demoPlaces, planDemo, type DemoPerson, type DemoStep } from '../domain/demo.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault, FieldErrors } from '../../../core/domain/fault.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { scopes, type Store } from '../../../core/stores/domain/store.ts';
import { parseTags } from '../../../core/cards/domain/tags.ts';
import { systemRandom } from '../../../platform/random.ts';
import { hasCards } from '../../../core/cards/storage/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findDemonstrationStore } from '../../../core/stores/storage/store.ts';
import { update } from '../../../core/cards/service/card.ts';
import { issue } from '../../../core/cards/service/issue.ts';
import { recordExpired } from '../../../core/cards/service/expiry.ts';
import { capture, placeHold, voidOpenHold } from '../../../core/money/service/hold.ts';
import { debit, reverse } from '../../../core/money/service/spend.ts';
import { topUp } from '../../../core/money/service/top-up.ts';
import { ensureDemonstrationStore } from '../../../core/stores/service/store.ts';
import { createToken } from '../../../core/stores/service/token.ts';

/** The number of cards in the demonstration. */
export const demoCards = 2_000;

export type LoadedDemo = {
  readonly store: Store;
  readonly cards: number;
  /** The first day, in the store's time zone. */
  readonly from: string;
};

/**
 * Creates the demonstration store if it does not exist, and issues and uses cards in the year before now. All of
 * it is one transaction.
 * @throws Fault `invalid-parameter` if the database contains a real store, or the demonstration store has cards.
 */
export function* loadDemo(ctx: Context, { cards }: { readonly cards: number }): Script<LoadedDemo> {
  yield* ensureDemonstrationStore(ctx);
  const record = yield* findDemonstrationStore();
  if (!record)
    throw rejected('the database contains a real store: use another database for the demonstration');
  const { store } = record;
  if (yield* hasCards(store.id))
    throw rejected('the demonstration store already has cards: use a new database for the demonstration');
  const now = ctx.clock.now();
  const steps = planDemo(() => fractionOf(ctx.random.bytes(4)), { cards, now });
  const player = new Player(ctx, store);
  let day = dayOf(steps[0]?.at ?? now, store.timeZone);
  const from = day;
  yield* player.begin(startOfDay(day, store.timeZone));
  for (const step of steps) {
    const next = dayOf(step.at, store.timeZone);
    while (day < next) {
      day = addDays(day, 1);
      yield* player.expire(startOfDay(day, store.timeZone));
    }
    yield* player.play(step);
  }
  return { store, cards, from };
}

function rejected(detail: string): Fault {
  return new Fault('invalid-parameter', { detail });
}

/** A number from 0 to 1, of 32 random bits. */
function fractionOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) / 2 ** 32;
}

type DemoActor = { readonly actor: string; readonly apiClientId: number };

/** Executes steps in the past, at their instants. */
class Player {
  #at = 0;
  readonly #ctx: Context;
  readonly #store: Store;
  readonly #actors = new Map<string, DemoActor>();
  readonly #cardIds: number[] = [];
  /** The transfers and the last hold of each card. */
  readonly #transferIds: number[][] = [];
  readonly #holdIds: number[] = [];

  constructor(ctx: Context, store: Store) {
    const clock = { ...plainClock(() => this.#at), monotonic: () => ctx.clock.monotonic() };
    // Ids follow the clock, so these are smaller than those of the present.
    const ids = systemRandom(clock);
    this.#ctx = { ...ctx, clock, random: { ...ctx.random, id: () => ids.id() } };
    this.#store = store;
  }

  /** Creates an access token for each till and for the online shop. Their secrets are not used. */
  *begin(at: number): Script<void> {
    this.#at = at;
    for (const name of demoPlaces) {
      const { token } = yield* createToken(this.#ctx, { store: this.#store, name, scopes });
      const { apiClientId } = token;
      this.#actors.set(name, { actor: `api_client:${apiClientId}`, apiClientId });
    }
  }

  /** Publishes the expiries of the day that begins at an instant. */
  *expire(at: number): Script<void> {
    this.#at = at;
    yield* recordExpired(this.#ctx, this.#store, Number.MAX_SAFE_INTEGER);
  }

  *play(step: DemoStep): Script<void> {
    this.#at = step.at;
    const [ctx, store] = [this.#ctx, this.#store];
    const by = this.#actors.get(step.place);
    assert(by, `${step.place} has no token`);
    const { actor } = by;
    if (step.kind === 'issue') return yield* this.#issue(step, by);
    const cardId = this.#cardIds[step.card];
    const transferIds = this.#transferIds[step.card];
    assert(cardId !== undefined && transferIds, `the card ${step.card} was not issued`);
    const movement = { store, cardId, actor, note: null, orderId: null, versions: null };
    const ofHold = { store, holdId: this.#holdIds[step.card] ?? 0, versionsOf: () => null };
    switch (step.kind) {
      case 'debit': {
        const command = { ...movement, ...this.#spent(step), partial: false };
        transferIds[step.movement] = (yield* debit(ctx, command)).transfer.id;
        break;
      }
      case 'top_up': {
        const command = { ...movement, ...this.#spent(step), expiresOn: null, notify: false };
        transferIds[step.movement] = (yield* topUp(ctx, command)).transfer.id;
        break;
      }
      case 'hold': {
        const command = { ...movement, ...this.#spent(step), seconds: step.seconds };
        this.#holdIds[step.card] = (yield* placeHold(ctx, command)).hold.id;
        break;
      }
      case 'capture': {
        const { transfer } = yield* capture(ctx, { ...ofHold, actor, amount: null, note: null });
        transferIds[step.movement] = transfer.id;
        break;
      }
      case 'void':
        yield* voidOpenHold(ctx, ofHold);
        break;
      case 'reverse':
        yield* reverse(ctx, {
          store,
          actor,
          transferId: transferIds[step.movement] ?? 0,
          amount: step.amount === null ? null : this.#money(step.amount),
          note: step.note,
          scopes,
          versionsOf: () => null,
        });
        break;
      case 'adjust':
        yield* this.#update(cardId, actor, { balance: this.#money(step.balance), note: step.note });
        break;
      case 'extend':
        yield* this.#update(cardId, actor, { expiresOn: step.expiresOn });
        break;
      case 'disable':
        yield* this.#update(cardId, actor, { disable: true, note: step.note });
        break;
    }
  }

  *#issue(step: DemoStep & { readonly kind: 'issue' }, by: DemoActor): Script<void> {
    const { expiresOn, note, message, customer, recipient } = step;
    const names = recipient
      ? { senderName: customer?.name ?? null, recipientName: recipient.name }
      : { senderName: null, recipientName: customer?.name ?? null };
    const { card } = yield* issue(this.#ctx, {
      store: this.#store,
      ...by,
      value: this.#money(step.value),
      details: { ...noDetails, ...names, expiresOn, note, message, tags: tagTextOf(step.tags) },
      customer: addressOf(customer),
      recipient: addressOf(recipient),
      code: null,
    });
    this.#cardIds[step.card] = card.id;
    this.#transferIds[step.card] = [];
  }

  *#update(cardId: number, actor: string, changes: CardChanges): Script<void> {
    yield* update(this.#ctx, {
      store: this.#store,
      cardId,
      actor,
      changes,
      releaseHolds: true,
      echoed: new Map(),
      echoedCode: null,
      versions: null,
      errors: new FieldErrors(),
    });
  }

  #spent({ reference, amount }: { readonly reference: string; readonly amount: number }) {
    return { reference, amount: this.#money(amount) };
  }

  #money(cents: number) {
    return { minor: BigInt(cents), currency: this.#store.currency };
  }
}

function addressOf(person: DemoPerson | null): EmailAddress | null {
  return person && valueOf(parseEmail(person.email));
}

function tagTextOf(tags: readonly string[]): string | null {
  return valueOf(parseTags(tags));
}

function valueOf<T>(parsed: Parsed<T>): T {
  assert(parsed.ok, 'the plan has an invalid value');
  return parsed.value;
}
