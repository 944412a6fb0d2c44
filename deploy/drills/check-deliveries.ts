/**
 * Counts what receivers of webhooks and emails notice of a restore to a time in the past.
 *
 *     node check-deliveries.ts --url <url> --received <file of receive.ts> --emails <folder> --time <time>
 *       --restored-at <time>
 *
 * `--time` is the time to which the database was restored, `--restored-at` the moment of the restore.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    received: { type: 'string' },
    emails: { type: 'string' },
    time: { type: 'string' },
    'restored-at': { type: 'string' },
  },
});
const { url, received: file, emails: folder } = values;
assert.ok(url !== undefined && file !== undefined && folder !== undefined);
const restoredAt = Date.parse(values['restored-at'] ?? '');
const time = Date.parse(values.time ?? '');
assert.ok(!Number.isNaN(restoredAt) && !Number.isNaN(time), '--time and --restored-at are required');

type Received = { readonly at: number; readonly id: number; readonly status: number };

/** The ids of all events that the database contains. */
async function listEvents(): Promise<ReadonlySet<number>> {
  const ids = new Set<number>();
  for (let after = ''; ;) {
    const response = await fetch(`${url}/events?limit=250${after}`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { events } = JSON.parse(text) as { readonly events: readonly { readonly id: number }[] };
    for (const { id } of events) ids.add(id);
    const last = events.at(-1);
    if (!last) return ids;
    after = `&after=${last.id}`;
  }
}

const existing = await listEvents();
const accepted = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Received)
  .filter(({ status }) => status < 300);
const before = new Set(accepted.filter(({ at }) => at < restoredAt).map(({ id }) => id));
const after = new Set(accepted.filter(({ at }) => at >= restoredAt).map(({ id }) => id));
const undone = [...before].filter((id) => !existing.has(id));
const repeated = [...after].filter((id) => before.has(id));
const early = new Set(accepted.filter(({ at }) => at < time).map(({ id }) => id));
const repeatedEarly = repeated.filter((id) => early.has(id));
const missing = [...existing].filter((id) => !before.has(id) && !after.has(id));
console.log(
  `webhooks: ${before.size} events delivered before the restore, ${undone.length} of them undone by it; ` +
    `${after.size} delivered since, ${repeated.length} of them for the second time ` +
    `(${repeatedEarly.length} were first delivered before the time); ${missing.length} not delivered`,
);

const [lost] = undone.toSorted((one, other) => one - other);
if (lost !== undefined) {
  const response = await fetch(`${url}/events?after=${lost}`);
  console.log(`polling: GET /events?after=<an event that was undone> returns ${response.status}`);
  await response.body?.cancel();
}

/** A file is `<time>-<id>.eml`; an email that is sent again has the same id. */
const emails = readdirSync(folder)
  .filter((name) => name.endsWith('.eml'))
  .map((name) => name.slice(name.indexOf('-') + 1));
console.log(
  `emails: ${new Set(emails).size} sent, ${emails.length - new Set(emails).size} of them for the second time`,
);
process.exitCode = missing.length === 0 ? 0 : 1;
