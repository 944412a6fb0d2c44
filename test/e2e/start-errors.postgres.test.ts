/** Starts on PostgreSQL that fail late. */

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { databaseToServe, startServing } from '../support/served.ts';

const patienceMs = 60_000;

test('a start ends the process if the database stops responding before the service is complete', async () => {
  await using made = await databaseToServe();
  const other = new pg.Client({ connectionString: made.environment['DATABASE_URL'] });
  await other.connect();
  try {
    // The start looks for an owner, and makes a setup link if there is none.
    await other.query('begin');
    await other.query('lock table staff in access exclusive mode');
    await using service = startServing({ ...made.environment, LOG_LEVEL: 'info' });
    await service.written(/largesse: overloaded/, patienceMs);
    assert.doesNotMatch(service.output(), /listening/);
    assert.equal((await service.ended()).code, 1);
  } finally {
    await other.end();
  }
});
