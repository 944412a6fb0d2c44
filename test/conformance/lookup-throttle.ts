/** The limit on failed lookups, without HTTP: the number of concurrent lookups. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { isCodeServed } from '../../src/core/money/api/movement.ts';
import type { EmailAddress } from '../../src/core/domain/email-address.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import type { Caller } from '../../src/http/auth.ts';
import { lookupThrottle, type LookupAttempt, type LookupThrottle } from '../../src/http/lookup-throttle.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const notFound = (status: number): number => (status === 404 ? 1 : 0);

function callerOf({ store }: OpenStore, tokenId: number): Caller {
  return {
    store, scopes: [], apiClientId: 1, tokenId, locationId: null, actor: 'api_client:1', onlyStorefrontCustomerId: null,
  }; // prettier-ignore
}

/** Creates the throttle of one process. */
function processOf({ ctx, storage }: OpenStore, perHour: number): LookupThrottle {
  const limits = { perHour, perHourOfCustomer: 10, perHourOfVisitor: 20, callersMax: 4 };
  return lookupThrottle({ ctx, storage, limits, onThrottled: () => undefined });
}

type LookupCounts = { tried: number; running: number; failed: number; triedAtOnceMax: number };

/** Runs one lookup that takes some milliseconds. @returns the status of its response. */
async function look(
  throttle: LookupThrottle,
  caller: Caller,
  { isHit, counts }: { readonly isHit: boolean; readonly counts: LookupCounts },
): Promise<number> {
  try {
    const { status } = await throttle.run({ caller, visitor: null }, async (attempt) => {
      await attempt.reserve(notFound);
      counts.tried += 1;
      counts.running += 1;
      counts.triedAtOnceMax = Math.max(counts.triedAtOnceMax, counts.running + counts.failed);
      await wait(1);
      counts.running -= 1;
      if (!isHit) {
        counts.failed += 1;
        throw new Fault('not-found');
      }
      return { status: 200, headers: {} };
    });
    return status;
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    return error.code === 'not-found' ? 404 : 429;
  }
}

const noLookups = (): LookupCounts => ({ tried: 0, running: 0, failed: 0, triedAtOnceMax: 0 });
const count = (statuses: readonly number[], status: number): number =>
  statuses.filter((other) => other === status).length;

export function testLookupThrottle(factory: StorageFactory): void {
  test('failures and running lookups never exceed the budget, and only failed lookups use it', async () => {
    await using opened = await openStore(factory);
    let tokenId = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.boolean(), { maxLength: 24 }),
        async (perHour, hits) => {
          tokenId += 1;
          const throttle = processOf(opened, perHour);
          const caller = callerOf(opened, tokenId);
          const counts = noLookups();
          const statuses = await Promise.all(hits.map((isHit) => look(throttle, caller, { isHit, counts })));
          assert.ok(counts.triedAtOnceMax <= perHour, `${counts.triedAtOnceMax} of ${perHour}`);
          const wrong = hits.filter((isHit) => !isHit).length;
          assert.equal(count(statuses, 404), Math.min(wrong, perHour));
          // While the budget lasts, lookups are not rejected: they wait for another lookup.
          if (wrong < perHour) assert.equal(count(statuses, 429), 0);
          assert.equal(counts.running, 0);
          if (wrong < perHour) assert.equal(await look(throttle, caller, { isHit: true, counts }), 200);
          else assert.equal(await look(throttle, caller, { isHit: true, counts }), 429);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('requests that look for several codes share the budget, and only the codes that fail use it', async () => {
    await using opened = await openStore(factory);
    let tokenId = 100;
    const request = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 6 }));
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 24 }), async (requests) => {
        tokenId += 1;
        const perHour = 6;
        const throttle = processOf(opened, perHour);
        const caller = callerOf(opened, tokenId);
        let [inUse, failed] = [0, 0];
        const check = async ([codes, failures]: readonly [number, number]): Promise<number> => {
          const taken = Math.min(failures, codes);
          try {
            await throttle.run({ caller, visitor: null }, async (attempt) => {
              assert.equal(attempt.perHour, perHour);
              await attempt.reserve(() => taken, codes);
              inUse += codes;
              assert.ok(inUse + failed <= perHour, `${inUse} and ${failed} of ${perHour}`);
              await wait(1);
              inUse -= codes;
              failed += taken;
              return { status: taken > 0 ? 422 : 200, headers: {} };
            });
            return taken;
          } catch (error) {
            assert.ok(error instanceof Fault && error.code === 'too-many-misses', String(error));
            return 0;
          }
        };
        const taken = await Promise.all(requests.map(check));
        assert.equal(
          taken.reduce((sum, each) => sum + each, 0),
          failed,
        );
        assert.equal(inUse, 0);
        // The lookups that did not fail are available again.
        const rest = perHour - failed;
        if (rest > 0) {
          assert.equal(await check([rest, 0]), 0);
          assert.equal(await check([rest, rest]), rest);
        }
        assert.equal(failed, perHour);
        assert.equal(await check([1, 1]), 0);
      }),
      { numRuns: 25 },
    );
  });

  test('all processes together return at most the budget in failures, and each runs at most one budget', async () => {
    await using opened = await openStore(factory);
    const perHour = 5;
    const caller = callerOf(opened, 1);
    const processes = [1, 2, 3].map(() => ({ throttle: processOf(opened, perHour), counts: noLookups() }));
    const statuses = await Promise.all(
      processes.flatMap(({ throttle, counts }) =>
        Array.from({ length: 20 }, () => look(throttle, caller, { isHit: false, counts })),
      ),
    );
    assert.equal(count(statuses, 404), perHour);
    for (const { counts } of processes) assert.ok(counts.tried <= perHour, String(counts.tried));
    for (const { throttle, counts } of processes)
      assert.equal(await look(throttle, caller, { isHit: true, counts }), 429);
    // A process that starts later reads the failures that the others recorded.
    const late = { isHit: true, counts: noLookups() };
    assert.equal(await look(processOf(opened, perHour), caller, late), 429);
    assert.equal(await look(processOf(opened, perHour), callerOf(opened, 2), late), 200);
    assert.equal(late.counts.tried, 1);
  });

  test('more callers than the cache holds lose no recorded failures', async () => {
    await using opened = await openStore(factory);
    const throttle = processOf(opened, 1);
    const counts = noLookups();
    const tokens = Array.from({ length: 12 }, (_, index) => callerOf(opened, index + 1));
    for (const caller of tokens) assert.equal(await look(throttle, caller, { isHit: false, counts }), 404);
    for (const caller of tokens) assert.equal(await look(throttle, caller, { isHit: true, counts }), 429);
  });

  test('a lookup that throws releases its reservation', async () => {
    await using opened = await openStore(factory);
    const throttle = processOf(opened, 1);
    const caller = callerOf(opened, 1);
    for (const error of [new Fault('invalid-parameter'), new Fault('unavailable'), new Error('broken')])
      await assert.rejects(
        throttle.run({ caller, visitor: null }, async (attempt) => {
          await attempt.reserve(notFound);
          await attempt.reserve(notFound);
          throw error;
        }),
        error,
      );
    const replayed = { status: 404, headers: { 'idempotent-replayed': 'true' } };
    await throttle.run({ caller, visitor: null }, async (attempt) => {
      await attempt.reserve(notFound);
      return replayed;
    });
    assert.equal(await look(throttle, caller, { isHit: false, counts: noLookups() }), 404);
    assert.equal(await look(throttle, caller, { isHit: false, counts: noLookups() }), 429);
  });

  test('whether a code is served while a budget is exhausted takes the same statements for all codes', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const ann = email('ann@example.com');
    await opened.issue({ customer: ann, code: code('plastic0000001') });
    const expired = { customer: ann, code: code('plastic0000002'), expiresOn: '2020-01-01' };
    await opened.issue(expired);
    const steps = async (sent: Secret, address: EmailAddress | null): Promise<readonly string[]> => {
      const texts: string[] = [];
      const exhausted = { fault: new Fault('too-many-misses'), acceptsAddress: true };
      const lookup = { exhausted, countAddress: () => undefined } as unknown as LookupAttempt;
      const request = {
        ctx,
        store,
        caller: { ...callerOf(opened, 1), scopes: ['redeem_gift_cards'] as const },
        body: { code: exactly(sent), email: address },
        requestContext: { lookup } as RequestContext,
      };
      const isServed = await storage.read(function* () {
        const script = isCodeServed(request);
        let step = script.next([]);
        while (step.done !== true) {
          texts.push(step.value.statements.map((statement) => statement.text(sqliteDialect)).join(';'));
          step = script.next(yield step.value);
        }
        return step.value;
      });
      assert.equal(isServed, sent.reveal() === 'plastic0000001' && address === ann);
      return texts;
    };
    const unknown = await steps(code('plastic0000009'), null);
    assert.ok(unknown.length > 0);
    for (const [sent, address] of [
      ['plastic0000001', null],
      ['plastic0000001', ann],
      ['plastic0000001', email('eve@example.com')],
      ['plastic0000002', ann],
      ['plastic0000009', ann],
    ] as const)
      assert.deepEqual(await steps(code(sent), address), unknown, sent);
  });
}
