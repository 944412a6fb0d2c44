/** The order in which the processes of a service write. */

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { ProcessOrder } from '../../src/start/processes/messages.ts';
import { TurnOrder } from '../../src/start/processes/turns.ts';
import { seeded } from '../support/seeded.ts';

/** No process has waited for another for so long (ms) when the order ends, and a turn ends after so long. */
const calmMs = 50;
const turnMaxMs = 2_000;

type Sent = { readonly to: number | 'all'; readonly order: ProcessOrder };

/** An order whose messages are recorded, with the time of the test. */
function openOrder(t: TestContext, onSent: (sent: Sent) => void = () => undefined) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let sent: Sent[] = [];
  const record = (to: number | 'all', order: ProcessOrder): void => {
    sent.push({ to, order });
    onSent({ to, order });
  };
  const turns = new TurnOrder(record, (order) => record('all', order));
  return {
    turns,
    /** The messages since the last call: `2` is a turn of process 2, `ordered` and `free` are for all. */
    sent: (): readonly string[] => {
      const texts = sent.map(({ to, order }) => {
        if (order.type === 'turn-begun') return String(to);
        assert.equal(order.type, 'turns');
        return `${order.areOrdered ? 'ordered' : 'free'}${to === 'all' ? '' : ` for ${to}`}`;
      });
      sent = [];
      return texts;
    },
    pass: (ms: number) => t.mock.timers.tick(ms),
  };
}

test('processes have turns in the order in which they asked, one at a time', (t) => {
  const { turns, sent } = openOrder(t);
  turns.want(2);
  assert.deepEqual(sent(), ['ordered', '2']);
  turns.want(3);
  turns.want(1);
  turns.want(3);
  assert.deepEqual(sent(), []);
  turns.end(2);
  assert.deepEqual(sent(), ['3']);
  turns.want(2);
  turns.want(3);
  turns.end(3);
  assert.deepEqual(sent(), ['1']);
  turns.end(1);
  assert.deepEqual(sent(), ['2']);
  turns.end(2);
  assert.deepEqual(sent(), ['3']);
  turns.end(3);
  assert.deepEqual(sent(), []);
});

test('the end of a turn that a process does not have is ignored', (t) => {
  const { turns, sent } = openOrder(t);
  turns.end(1);
  turns.want(1);
  turns.want(2);
  sent();
  turns.end(2);
  turns.end(3);
  assert.deepEqual(sent(), []);
  turns.end(1);
  turns.end(1);
  assert.deepEqual(sent(), ['2']);
});

test('the order ends when no process has waited for another for a while, and begins again', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.want(1);
  pass(calmMs - 1);
  turns.want(2);
  turns.end(1);
  turns.end(2);
  pass(calmMs - 1);
  assert.deepEqual(sent(), ['ordered', '1', '2']);
  pass(1);
  assert.deepEqual(sent(), ['free']);
  pass(10 * turnMaxMs);
  assert.deepEqual(sent(), []);
  turns.want(2);
  assert.deepEqual(sent(), ['ordered', '2']);
});

test('the order ends although one process alone has turns all the time', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.want(1);
  for (let passed = 0; passed < calmMs; passed += 10) {
    turns.end(1);
    turns.want(1);
    pass(10);
  }
  assert.deepEqual(sent(), ['ordered', ...Array.from({ length: 6 }, () => '1')]);
  turns.end(1);
  assert.deepEqual(sent(), ['free']);
});

test('the order continues while a process has a turn', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.want(1);
  pass(turnMaxMs - 1);
  assert.deepEqual(sent(), ['ordered', '1']);
  turns.end(1);
  pass(calmMs);
  assert.deepEqual(sent(), ['free']);
});

test('a turn that takes too long ends, and its process has another one later', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.want(1);
  turns.want(2);
  pass(turnMaxMs);
  assert.deepEqual(sent(), ['ordered', '1', '2']);
  turns.end(1);
  turns.want(1);
  assert.deepEqual(sent(), []);
  turns.end(2);
  assert.deepEqual(sent(), ['1']);
  pass(turnMaxMs);
  pass(calmMs);
  assert.deepEqual(sent(), ['free']);
});

test('a process that ends loses its turn and its place', (t) => {
  const { turns, sent } = openOrder(t);
  turns.want(1);
  turns.want(2);
  turns.want(3);
  turns.left(2);
  sent();
  turns.left(1);
  assert.deepEqual(sent(), ['3']);
  turns.joined(1);
  assert.deepEqual(sent(), ['ordered for 1']);
  turns.end(3);
  assert.deepEqual(sent(), []);
});

test('the order ends after its last process has ended', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.want(1);
  turns.left(1);
  pass(calmMs);
  assert.deepEqual(sent(), ['ordered', '1', 'free']);
});

test('a process that starts knows whether there are turns', (t) => {
  const { turns, sent, pass } = openOrder(t);
  turns.joined(1);
  assert.deepEqual(sent(), []);
  turns.want(1);
  turns.joined(2);
  assert.deepEqual(sent(), ['ordered', '1', 'ordered for 2']);
  turns.end(1);
  pass(calmMs);
  sent();
  turns.joined(3);
  assert.deepEqual(sent(), []);
});

/** A process as the order sees it. */
type Member = {
  isRunning: boolean;
  isOrdered: boolean;
  isWaiting: boolean;
  hasTurn: boolean;
  /** The turns of others since it waits. */
  passed: number;
};

test('in any order of events, at most one process has a turn, and each that waits has one soon', (t) => {
  const seed = Number(process.env['TURNS_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed} (TURNS_SEED)`);
  const random = seeded(seed);
  const count = 5;
  const fresh = { isOrdered: false, isWaiting: false, hasTurn: false, passed: 0 };
  const members: Member[] = Array.from({ length: count }, () => ({ isRunning: false, ...fresh }));
  let begun = 0;
  const receive = (member: Member, order: ProcessOrder): void => {
    assert.ok(member.isRunning, 'a message to a process that has ended');
    if (order.type === 'turns') return void (member.isOrdered = order.areOrdered);
    begun += 1;
    assert.ok(member.isWaiting, 'a turn of a process that does not wait');
    for (const other of members) {
      assert.equal(other.hasTurn, false, 'two turns at a time');
      if (other !== member && other.isWaiting) other.passed += 1;
      // Each of the others was before it, and has had at most one turn since.
      assert.ok(other.passed < count, 'a process starves');
    }
    Object.assign(member, { isWaiting: false, hasTurn: true, passed: 0 });
  };
  const { turns, pass } = openOrder(t, ({ to, order }) => {
    for (const [number, member] of members.entries())
      if (to === number || (to === 'all' && member.isRunning)) receive(member, order);
  });
  const settle = (): void => {
    const waits = members.some(({ isWaiting }) => isWaiting);
    assert.ok(!waits || members.some(({ hasTurn }) => hasTurn), 'processes wait and none has a turn');
    const running = members.filter(({ isRunning }) => isRunning);
    if (waits) assert.ok(running.every(({ isOrdered }) => isOrdered));
    else assert.ok(new Set(running.map(({ isOrdered }) => isOrdered)).size <= 1);
  };
  for (let step = 0; step < 20_000; step += 1) {
    const number = random.between(0, count - 1);
    const member = members[number] ?? assert.fail();
    const act = random.between(1, 100);
    if (!member.isRunning) {
      Object.assign(member, fresh, { isRunning: true });
      turns.joined(number);
    } else if (member.hasTurn && act <= 60) {
      member.hasTurn = false;
      turns.end(number);
    } else if (act <= 90) {
      if (!member.hasTurn) {
        member.isWaiting = true;
        turns.want(number);
      }
    } else if (act <= 93) {
      Object.assign(member, fresh, { isRunning: false });
      turns.left(number);
    } else if (act <= 98) pass(random.between(1, calmMs));
    else {
      // A process that is suspended has its turn until it reports the end, which is then ignored.
      for (const each of members) each.hasTurn = false;
      pass(turnMaxMs);
    }
    settle();
  }
  assert.ok(begun > 2_000, `only ${begun} turns`);
});
