/** The way of a shop owner from one command to a second machine, in a network of its own (`test/browser/whole-way.ts`). */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { runProgram, startProgram } from '../support/programs.ts';

const script = join(import.meta.dirname, '../browser/whole-way.ts');

test('one command and a browser lead to a sold card, and a second machine has the shop back', async (t) => {
  const { HOME = '/tmp', SHOTS } = process.env;
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const allowed = await runProgram('unshare', [...user, '--net', '--mount', 'true']);
  assert.equal(allowed.code, 0, `a network of its own needs root or user namespaces: ${allowed.errors}`);
  await using way = startProgram('unshare', [...user, '--net', '--mount', process.execPath, script], {
    environment: { HOME, ...(SHOTS !== undefined && { SHOTS }) },
  });
  const { code } = await way.ended(10 * 60_000);
  assert.equal(code, 0, `${way.output()}\n${way.errors()}`);
  t.diagnostic(way.output());
  assert.match(way.output(), /The shop is back on the second machine\.\n$/);
});
