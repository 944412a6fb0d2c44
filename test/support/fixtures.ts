/** Contexts, stores and commands for tests that run scripts without the service. */

import { plainClock, wallClockOf, type Clock } from '../../src/platform/clock.ts';
import { systemRandom, type Random } from '../../src/platform/random.ts';
import { CodeCohorts } from '../../src/core/cards/storage/code-cohorts.ts';
import type { Context } from '../../src/core/storage/context.ts';
import { noDetails, type CardDetails } from '../../src/core/cards/domain/fields.ts';
import type { CardChanges } from '../../src/core/cards/domain/card.ts';
import { readGivenCode } from '../../src/core/cards/domain/given-code.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { parseEmail, type EmailAddress } from '../../src/core/domain/email-address.ts';
import { FieldErrors } from '../../src/core/domain/fault.ts';
import { parseAmount, type Money } from '../../src/core/money/domain/money.ts';
import type { Secret } from '../../src/platform/secret.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { keysOf, type MasterKey } from '../../src/platform/keys.ts';
import type { UpdateCommand } from '../../src/core/cards/service/card.ts';
import type { IssueCommand } from '../../src/core/cards/service/issue.ts';
import type { NewStore } from '../../src/core/stores/service/store.ts';

export type ManualClock = Clock & { advance(ms: number): void };

/** 2026-03-15T12:00:00Z. */
const noon = Date.UTC(2026, 2, 15, 12);

/** A clock that only changes when it is set. */
export function manualClock(at: number = noon): ManualClock {
  let now = at;
  return {
    ...plainClock(() => now),
    advance(ms) {
      now += ms;
    },
  };
}

/** A context whose system clock is behind the given one, as after a jump. The given clock is correct. */
export function contextWithSlowClock(ctx: Context, ms: number): Context {
  const slowNow = (): number => ctx.clock.now() - ms;
  const clock: Clock = {
    ...ctx.clock,
    now: slowNow,
    earliest: slowNow,
    latest: () => ctx.clock.now(),
    retainFrom: () => 0,
  };
  return { ...ctx, clock, wallClock: wallClockOf(clock) };
}

/** A master key whose bytes are all `fill`. */
export function masterKey(id: string, fill: number): MasterKey {
  return { id, secret: new Uint8Array(32).fill(fill) };
}

export type TestContext = Context & { readonly clock: ManualClock };

export function testContext({
  clock = manualClock(),
  random = {},
  masters = [masterKey('test', 7)],
}: {
  readonly clock?: ManualClock;
  /** Functions that replace the random generator. */
  readonly random?: Partial<Random>;
  readonly masters?: readonly MasterKey[];
} = {}): TestContext {
  return {
    clock,
    wallClock: wallClockOf(clock),
    testClock: null,
    random: { ...systemRandom(clock), ...random },
    keys: keysOf(masters),
    codeCohorts: new CodeCohorts(),
  };
}

export function newStore(given: Partial<NewStore> = {}): NewStore {
  return {
    domain: 'flowers.example',
    name: 'Flowers',
    currency: currencyOf('USD'),
    timeZone: 'UTC',
    issueLimit: null,
    proxySecret: null,
    requireSignature: false,
    customerSearch: false,
    stockRequired: 'no',
    undoWindowMinutes: 0,
    ...given,
  };
}

/** Parses an amount, which can be zero. */
export function money(text: string, currency = 'USD'): Money {
  const parsed = parseAmount(text, { currency: currencyOf(currency), zeroAllowed: true });
  if (!parsed.ok) throw new Error(`${text} is not an amount of ${currency}: ${parsed.error}`);
  return parsed.value;
}

export function email(text: string): EmailAddress {
  const parsed = parseEmail(text);
  if (!parsed.ok) throw new Error(`${text} is not an email address: ${parsed.error}`);
  return parsed.value;
}

export function code(text: string): Secret {
  const parsed = readGivenCode(text);
  if (!parsed.ok) throw new Error(`${text} is not a code: ${parsed.error}`);
  return parsed.value[0].code;
}

export type IssueOptions = Partial<Omit<IssueCommand, 'store' | 'details'> & CardDetails>;

/** The command to issue a card of 15.00 without a customer, with the given changes. */
export function issueCommand(store: Store, given: IssueOptions = {}): IssueCommand {
  const entries = Object.entries(given);
  const isDetail = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(noDetails, name);
  return {
    store,
    apiClientId: null,
    actor: 'test',
    value: money('15', store.currency.code),
    details: { ...noDetails, ...(Object.fromEntries(entries.filter(isDetail)) as Partial<CardDetails>) },
    customer: null,
    recipient: null,
    code: null,
    ...Object.fromEntries(entries.filter((entry) => !isDetail(entry))),
  };
}

export function updateCommand(
  store: Store,
  cardId: number,
  changes: CardChanges,
  given: Partial<Omit<UpdateCommand, 'store' | 'cardId' | 'changes'>> = {},
): UpdateCommand {
  return {
    store,
    cardId,
    actor: 'test',
    changes,
    releaseHolds: false,
    echoed: new Map(),
    echoedCode: null,
    versions: null,
    errors: new FieldErrors(),
    ...given,
  };
}
