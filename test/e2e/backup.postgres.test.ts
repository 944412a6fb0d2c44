/** `largesse backup` of a database on a server. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { makeHome } from './largesse.ts';

test('the command does not back up a server, and names the tool that does in one line', async () => {
  await using home = await makeHome();
  await home.json('migrate');
  const { code, output, errors } = await home.run(['backup', 'copy.db']);
  assert.deepEqual([code, output], [1, '']);
  assert.match(errors, /^largesse: [^\n]*pg_dump\n$/);
});
