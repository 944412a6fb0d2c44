/** The clock of a sandbox. A live service has no such path. */

import Type from 'typebox';
import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { testClockSchema, type TestClockRecord } from '../domain/test-clock-schemas.ts';
import { timestamp } from '../../../core/cards/domain/schemas.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import {
  advanceDigest,
  advanceMaxSeconds,
  advanceTarget,
  noCounts,
  parseCounts,
  requireSandbox,
  testClockTool,
  type AdvanceCounts,
  type AdvanceEnd,
} from '../service/test-clock.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Sandbox } from '../storage/sandbox.ts';
import { field, integerFromForm } from '../../../api/field.ts';
import { read, write } from '../../../api/operation.ts';

const example: TestClockRecord = { now: '2027-11-26T09:00:00Z', advancing_to: null, done: noCounts };

function recordOf(
  { clock }: Pick<Context, 'clock'>,
  { isAdvancing, advancedTo }: Pick<Sandbox, 'isAdvancing' | 'advancedTo'>,
  done: AdvanceCounts,
): TestClockRecord {
  const to = isAdvancing ? advancedTo : null;
  return { now: formatInstant(clock.now()), advancing_to: formatInstantOrNull(to), done };
}

export const retrieveTestClock = read({
  id: 'retrieveTestClock',
  path: '/test_clock',
  scopes: ['read_gift_cards'],
  tag: 'Sandbox',
  summary: 'Retrieve the test clock',
  description:
    'Returns the time of the sandbox, and what its last advance has done. Only a sandbox has this operation: a live service responds 404.',
  response: {
    description: 'The clock.',
    members: { test_clock: testClockSchema },
    example: { test_clock: example },
  },
  errors: [],
  *run({ ctx }) {
    const sandbox = yield* requireSandbox();
    return { body: { test_clock: recordOf(ctx, sandbox, parseCounts(sandbox.done)) } };
  },
});

/** Whole seconds with `Z` or an offset. */
const instantForm = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

export const advanceFields = {
  advance_seconds: field<number>(
    Type.Integer({
      minimum: 1,
      maximum: advanceMaxSeconds,
      description: 'By how many seconds the clock moves forward, at most 10 years. Either this or `to`.',
      examples: [86_400],
    }),
    (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= advanceMaxSeconds
        ? accepted(value)
        : rejected(`must be a whole number of seconds from 1 to ${advanceMaxSeconds}`),
    integerFromForm,
  ),
  to: field<number>(
    timestamp({
      description:
        'The time to which the clock moves, with seconds, and `Z` or an offset: later than its time, at most 10 years. Either this or `advance_seconds`.',
      examples: ['2027-11-26T09:00:00Z'],
    }),
    (value) => {
      const wrong = 'must be a date and time with seconds, and Z or an offset';
      if (typeof value !== 'string' || value.length > 40 || !instantForm.test(value)) return rejected(wrong);
      try {
        return accepted(Math.floor(Temporal.Instant.from(value).epochMilliseconds / 1_000) * 1_000);
      } catch {
        return rejected('must be a time that exists');
      }
    },
  ),
};

function endOf({ to, advance_seconds: seconds = 0 }: { to?: number; advance_seconds?: number }): AdvanceEnd {
  return to === undefined ? { seconds } : { to };
}

export const advanceTestClock = write({
  id: 'advanceTestClock',
  method: 'POST',
  path: '/test_clock',
  scopes: ['write_gift_cards'],
  tag: 'Sandbox',
  summary: 'Advance the test clock',
  description:
    'Moves the time of the sandbox forward, runs everything that becomes due, in order, and responds when it is done: holds and cards expire, scheduled emails and reminders are kept, webhooks are sent and retried, days are closed, and old data is erased. `done` counts it in all stores of the sandbox. A year takes about a minute. The time continues from there. What others check stays the real time: timestamps of webhook signatures, the app proxy’s `timestamp`, sessions, limits, and how long an `Idempotency-Key` is kept. A client that does not wait changes nothing: the advance continues, and if the service ends, its next start continues it. Until it has ended, another advance is a 409. The last `to`, sent again, returns what it has done. Only a sandbox has this operation: a live service responds 404.',
  body: {
    name: 'TestClockAdvance',
    description: 'Either `advance_seconds` or `to`.',
    wrapper: 'test_clock',
    fields: advanceFields,
    example: { advance_seconds: 86_400 },
  },
  response: {
    status: 200,
    description: 'The clock after the advance.',
    members: { test_clock: testClockSchema },
    example: { test_clock: example },
  },
  errors: ['test-clock-in-use'],
  check(values, errors) {
    if (errors.any) return;
    const [first, second] = [values.advance_seconds, values.to];
    if (first === undefined && second === undefined)
      errors.add('advance_seconds', 'is required, unless to is sent');
    if (first !== undefined && second !== undefined) errors.add('to', 'cannot be sent with advance_seconds');
  },
  async perform({ ctx, caller, store, body, requestContext }) {
    const { request, tools } = requestContext;
    const testClock = tools.of(testClockTool)();
    if (!testClock) throw new Fault('not-found');
    const { 'idempotency-key': key } = request.headers;
    const owner = { storeId: store.id, apiClientId: caller.apiClientId ?? 0 };
    const digest = typeof key === 'string' ? advanceDigest(ctx, { ...owner, key }) : null;
    const { socket } = request.raw;
    const { timeout } = socket;
    // The client waits in silence.
    socket.setTimeout(0);
    try {
      await testClock.advance({ end: endOf(body), digest });
    } finally {
      if (timeout !== undefined) socket.setTimeout(timeout);
    }
  },
  *run({ ctx, body, requestContext }) {
    const sandbox = yield* requireSandbox();
    if (!requestContext.isDryRun)
      return { body: { test_clock: recordOf(ctx, sandbox, parseCounts(sandbox.done)) } };
    const now = formatInstant(advanceTarget(ctx, endOf(body)));
    return { body: { test_clock: { now, advancing_to: null, done: noCounts } } };
  },
});
