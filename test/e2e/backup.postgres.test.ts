/** `largesse backup` where the database is on a server. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { makeHome } from './largesse.ts';

test('a server is not backed up by the command, which says in one line what does it', async () => {
  await using home = await makeHome();
  await home.json('migrate');
  const { code, output, errors } = await home.run(['backup', 'copy.db']);
  assert.deepEqual([code, output], [1, '']);
  assert.match(errors, /^largesse: [^\n]*pg_dump\n$/);
});
