/** PostgreSQL errors in the log: the constraint is logged, values are not. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { databaseToServe, openShop, serve } from '../support/served.ts';

type LoggedError = Readonly<Record<string, unknown>>;

const secret = 'only for ada@example.com';
const trigger = 'create trigger planted before insert on gift_cards for each row execute function plant()';

/** Returns the logged error of a request that fails in the database, after these statements. */
async function lineOf(
  plant: readonly string[],
  json: object,
): Promise<{ readonly err: LoggedError; readonly output: string }> {
  await using database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  for (const statement of plant) await database.meddle(statement);
  await using service = await serve(database.environment);
  const response = await fetch(`${service.url}/gift_card`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  assert.equal(response.status, 500, text);
  assert.ok(!text.includes('ada@'), text);
  const [line] = await service.written(/^.*"level":"error".*$/m);
  const { err } = JSON.parse(line) as { readonly err: LoggedError };
  return { err, output: `${service.output()} ${service.errors()}` };
}

test('a violated check constraint is logged by name, without the row', async () => {
  const plant = [`alter table gift_cards add constraint planted check (note not like '%ada@%')`];
  const { err, output } = await lineOf(plant, { initial_value: 5, note: secret, message: 'Grace’s own' });
  const { stack, ...rest } = err;
  // The coordinator of a cluster repeats a worker's error about a shard, with fewer fields.
  const isRepeated = rest['routine'] === 'ReportResultError';
  const repeated = JSON.parse(JSON.stringify(rest).replaceAll(/_\d+(?=\\")/g, '')) as LoggedError;
  assert.deepEqual(repeated, {
    type: 'error',
    message: 'new row for relation "gift_cards" violates check constraint "planted"',
    code: '23514',
    severity: 'ERROR',
    ...(isRepeated
      ? { routine: 'ReportResultError' }
      : { schema: 'public', table: 'gift_cards', constraint: 'planted', routine: 'ExecConstraints' }),
  });
  assert.match(String(stack), /^at .*\n\s+at /);
  for (const value of [secret, 'ada@', 'Grace', 'Failing row']) assert.ok(!output.includes(value), output);
});

test('a value in an index error is not logged, and neither is its context', async () => {
  const plant = [
    `create function plant() returns trigger language plpgsql as $$
    begin
      create temporary table planted (note text unique);
      insert into planted values (new.note), (new.note);
      return new;
    exception when unique_violation then
      raise exception using errcode = '23000', message = 'planted', detail = 'Key (note)=(' || new.note || ')',
        hint = new.note;
    end $$`,
    trigger,
  ];
  const { err, output } = await lineOf(plant, { initial_value: 5, note: secret });
  assert.equal(err['code'], '23000');
  for (const field of ['detail', 'hint', 'where', 'internalQuery', 'parameters', 'position']) {
    assert.ok(!(field in err), field);
  }
  assert.ok(!output.includes('ada@'), output);
});

test('a message that contains a value is omitted, in the stack too', async () => {
  const plant = [
    `create function plant() returns trigger language plpgsql as $$
    begin
      perform new.note::bigint;
      return new;
    end $$`,
    trigger,
  ];
  const note = `${secret}\n    at a line that looks like a place`;
  const { err, output } = await lineOf(plant, { initial_value: 5, note });
  assert.equal(err['code'], '22P02');
  assert.match(String(err['routine']), /^(?:pg_strtoint64|ReportResultError)/);
  assert.match(String(err['message']), /^withheld/);
  assert.ok(!output.includes('ada@') && !output.includes('looks like a place'), output);
});
