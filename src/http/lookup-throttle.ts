/**
 * Limits failed lookups per caller, for every operation that can be used to guess a code or an id.
 *
 * A request reserves its failures before it looks for something, and releases those that did not fail.
 *
 * A token that looks for a visitor uses two budgets: that of the visitor, and that of all its visitors together. New
 * visitors cost nothing, so the second one limits those who name many.
 */

import { Fault } from '../core/domain/fault.ts';
import type { Context } from '../core/storage/context.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';
import type { LookupCaller } from '../core/stores/storage/lookup-throttle.ts';
import type { Storage } from '../database/storage.ts';
import type { Caller } from './auth.ts';
import { LookupBudgets, type NamedBudget, type OpenBudget, type Reservation } from './lookup-budgets.ts';
import { problems } from './problem.ts';

/** A budget of the caller is exhausted. Only ids, paths and generated codes that exist are served. */
type Exhausted = {
  readonly fault: Fault;
  /**
   * Whether a chosen code is served with an address of its card: only the budget of all visitors of the token is exhausted.
   */
  readonly acceptsAddress: boolean;
};

type FailuresOf = (status: number) => number;

export type LookupAttempt = {
  /** The failed lookups per hour of the caller or, if that is less, of its visitor. */
  readonly perHour: number;
  /** Null: `admit` has reserved a failure, or was not called. */
  readonly exhausted: Exhausted | null;
  /**
   * Reserves failures in the caller's budgets until the request ends. Those that `failuresOf` returns for the status of the
   * response are recorded, and the others are released. A request has one reservation, however often it reserves.
   * @param count at most `perHour`; 1 by default, and always after another reservation.
   * @returns a promise if it has to wait. @throws Fault `too-many-misses`, or rejects with it.
   */
  reserve(failuresOf: FailuresOf, count?: number): Promise<void> | undefined;
  /**
   * Reserves one failure as `reserve` does, but also admits the request while a budget is exhausted: `exhausted` says so, and
   * a 404 becomes the fault of the budget.
   */
  admit(failuresOf: FailuresOf): Promise<void> | undefined;
  /** Records failures if some are left, and never rejects the request. */
  count(failuresOf: FailuresOf): void;
  /** Records the failures of the visitor, who has tried an address while `acceptsAddress`. The last call counts. */
  countAddress(failures: number): void;
};

/** The caller of a request, and the person who typed what it looks for. */
type LookedFor = {
  readonly caller: Caller;
  /** Null: the caller names none. */
  readonly visitor: string | null;
};

export type LookupThrottle = {
  /** Runs a request, and then records or releases its reservation. @throws Fault `too-many-misses`. */
  run<T extends Pick<HttpResponse, 'status' | 'headers'>>(
    lookedFor: LookedFor,
    request: (attempt: LookupAttempt) => Promise<T>,
  ): Promise<T>;
};

type LookupLimits = {
  /** The default of failed lookups per hour for a token or development mode. */
  readonly perHour: number;
  /** The maximum for a signed-in storefront customer. */
  readonly perHourOfCustomer: number;
  /** The maximum for a visitor that a token names. */
  readonly perHourOfVisitor: number;
  /** Callers and visitors whose state is kept in memory. */
  readonly callersMax: number;
};

type ThrottleSource = {
  readonly ctx: Pick<Context, 'wallClock' | 'keys'>;
  readonly storage: Pick<Storage, 'read' | 'write'>;
  readonly limits: LookupLimits;
  /** Called for every throttled lookup; `isNew` is true at most once a minute per caller. */
  readonly onThrottled: (caller: Caller, isNew: boolean) => void;
};

export function lookupThrottle({ ctx, storage, limits, onThrottled }: ThrottleSource): LookupThrottle {
  const budgets = new LookupBudgets({ ctx, storage }, limits.callersMax);
  return {
    async run(lookedFor, request) {
      const attempt = new Attempt(budgets, () => budgetsOf(lookedFor, { ctx, limits }));
      try {
        const response = await request(attempt);
        // A replayed response was counted when it was first returned.
        if (!('idempotent-replayed' in response.headers)) await attempt.settle(response.status);
        return response;
      } catch (error) {
        const last = error instanceof Fault ? await attempt.settleFault(error) : error;
        // Visitors are not logged, and share the log lines of their token.
        if (last instanceof Fault && last.code === 'too-many-misses')
          onThrottled(lookedFor.caller, attempt.isLogged());
        throw last;
      } finally {
        attempt.end();
      }
    },
  };
}

/** The lookups of one request. */
class Attempt implements LookupAttempt {
  readonly #budgets: LookupBudgets;
  readonly #names: () => readonly NamedBudget[];
  #opened: readonly OpenBudget[] | undefined;
  #reservation: Reservation | undefined;
  #exhausted: Exhausted | null = null;
  #addressFailures = 0;
  readonly #reserved: FailuresOf[] = [];
  readonly #counted: FailuresOf[] = [];

  constructor(budgets: LookupBudgets, names: () => readonly NamedBudget[]) {
    this.#budgets = budgets;
    this.#names = names;
  }

  get perHour(): number {
    return Math.min(...this.#open().map(({ perHour }) => perHour));
  }

  get exhausted(): Exhausted | null {
    return this.#exhausted;
  }

  reserve(failuresOf: FailuresOf, count = 1): Promise<void> | undefined {
    const waiting = this.#hold(failuresOf, count);
    if (waiting) return waiting.then(() => this.#assertLeft());
    this.#assertLeft();
    return undefined;
  }

  admit(failuresOf: FailuresOf): Promise<void> | undefined {
    return this.#hold(failuresOf, 1);
  }

  count(failuresOf: FailuresOf): void {
    this.#counted.push(failuresOf);
  }

  countAddress(failures: number): void {
    this.#addressFailures = failures;
  }

  /** Records the failures of a response. @throws Fault `too-many-misses` if a budget is exhausted. */
  async settle(status: number): Promise<void> {
    if (mostFailures(this.#counted, status) > 0) {
      const opened = this.#open();
      if (!opened.some((budget) => this.#budgets.isUsedUp(budget, 1))) await this.#budgets.record(opened, 1);
    }
    if (!this.#reservation) return;
    const { held, count } = this.#reservation;
    if (this.#exhausted) {
      if (this.#addressFailures > 0) await this.#budgets.record(held, this.#addressFailures);
      if (status === 404) throw this.#exhausted.fault;
      return;
    }
    const failures = Math.min(count, mostFailures(this.#reserved, status));
    if (failures === 0 || (await this.#budgets.record(held, failures))) return;
    // Other processes have recorded failures.
    const usedUp = held.filter((budget) => this.#budgets.isUsedUp(budget, failures));
    throw this.#budgets.faultOf(usedUp.length > 0 ? usedUp : held, failures);
  }

  /** Records the failures of a rejection. @returns the fault that the caller receives. */
  async settleFault(fault: Fault): Promise<unknown> {
    try {
      await this.settle(problems[fault.code].status);
      return fault;
    } catch (error) {
      return error;
    }
  }

  isLogged(): boolean {
    const last = this.#open().at(-1);
    return last !== undefined && this.#budgets.isLogged(last);
  }

  end(): void {
    if (this.#reservation) this.#budgets.release(this.#reservation);
  }

  #open(): readonly OpenBudget[] {
    this.#opened ??= this.#names().map((name) => this.#budgets.open(name));
    return this.#opened;
  }

  #hold(failuresOfRequest: FailuresOf, count: number): Promise<void> | undefined {
    this.#reserved.push(failuresOfRequest);
    if (this.#reservation) return undefined;
    const reserved = this.#budgets.reserve(this.#open(), count);
    if (reserved instanceof Promise) return reserved.then((made) => this.#start(made));
    this.#start(reserved);
    return undefined;
  }

  #start(reservation: Reservation): void {
    this.#reservation = reservation;
    const { usedUp, held, count } = reservation;
    if (usedUp.length === 0) return;
    const fault = this.#budgets.faultOf(usedUp, count);
    this.#exhausted = { fault, acceptsAddress: held.length > 0 };
  }

  #assertLeft(): void {
    if (this.#exhausted) throw this.#exhausted.fault;
  }
}

function mostFailures(rules: readonly FailuresOf[], status: number): number {
  return Math.max(0, ...rules.map((rule) => rule(status)));
}

/** The budget of a caller, or those of its visitor and of all its visitors. */
function budgetsOf(
  { caller, visitor }: LookedFor,
  { ctx, limits }: Pick<ThrottleSource, 'ctx' | 'limits'>,
): readonly NamedBudget[] {
  const { storeId, caller: own } = keyOf(caller);
  const perHour = perHourOf(caller, limits);
  if (visitor === null) return [{ key: { storeId, caller: own }, perHour }];
  const digest = ctx.keys.digest('visitor', `${storeId} ${own} ${visitor}`);
  const name = Buffer.from(digest).toString('base64url').slice(0, 22);
  return [
    {
      key: { storeId, caller: `${own} visitor:${name}` },
      perHour: Math.min(perHour, limits.perHourOfVisitor),
    },
    { key: { storeId, caller: `${own} visitors` }, perHour, isOptional: true },
  ];
}

function perHourOf(
  { store, onlyStorefrontCustomerId }: Caller,
  limits: Pick<LookupLimits, 'perHour' | 'perHourOfCustomer'>,
): number {
  const perHour = store.lookupFailuresPerHour ?? limits.perHour;
  return onlyStorefrontCustomerId === null ? perHour : Math.min(perHour, limits.perHourOfCustomer);
}

function keyOf({ store, tokenId, actor }: Caller): LookupCaller {
  return { storeId: store.id, caller: tokenId === null ? actor : `token:${tokenId}` };
}
