/** The alerting rules, the dashboard and the runbook agree with the metrics of the service. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { dashboardQueries, rulesFile, rulesTestFile } from '../support/monitoring.ts';
import { startService, type TestService } from '../support/service.ts';

const rules = readFileSync(rulesFile, 'utf8');
const alerts = matches(rules, /^\s+- alert: (\w+)$/gm);

function matches(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, found = '']) => found);
}

const labels = new Set(['http_request_method', 'http_response_status_code', 'http_route']);

/** The metrics in texts, without the metrics that rules record. */
function metricsIn(texts: readonly string[]): ReadonlySet<string> {
  const names = texts.flatMap((text) =>
    matches(text, /(?<![\w:])((?:largesse|http|process|nodejs)_\w+)(?![\w:])/g),
  );
  return new Set(names.filter((name) => !labels.has(name)));
}

/** The rules without their comments and texts. */
const expressions = rules.replaceAll(/^\s*(?:#|runbook_url:|summary:|- (?:alert|name):).*$/gm, '');

test('the service has every metric that a rule or the dashboard uses', async () => {
  await using service = await startService();
  const { text } = await service.request('/metrics');
  const served = new Set(
    Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm)).flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name],
    ),
  );
  const used = metricsIn([expressions, ...dashboardQueries()]);
  assert.ok(used.size > 25, `only ${used.size} metrics`);
  assert.deepEqual(
    [...used].filter((name) => !served.has(name)),
    [],
  );
  const recorded = new Set(matches(rules, /- record: (\S+)/g));
  const read = new Set(
    [rules, ...dashboardQueries()].flatMap((one) => matches(one, /\b((?:job|instance):[\w:]+)/g)),
  );
  assert.deepEqual(
    [...read].filter((name) => !recorded.has(name)),
    [],
  );
});

test('the dashboard shows every metric that a rule uses', () => {
  const shown = metricsIn(dashboardQueries());
  assert.deepEqual(
    [...metricsIn([expressions])].filter((name) => !shown.has(name)),
    [],
  );
});

test('the test finds a metric that does not exist', () => {
  const used = metricsIn(['rate(largesse_nothing_total{http_route="x"}[5m]) / job:largesse_requests:rate5m']);
  assert.deepEqual([...used], ['largesse_nothing_total']);
});

test('every alert has a unit test, and an entry in the runbook that its annotation names', () => {
  assert.ok(alerts.length > 15, `only ${alerts.length} alerts`);
  const page = readFileSync('docs/operations.md', 'utf8');
  const [, runbook = ''] = page.split(/^## Alerts$/m);
  assert.deepEqual(matches(runbook, /^### (Largesse\w+)$/gm).toSorted(), alerts.toSorted());
  const annotations = matches(rules, /^\s+runbook_url: docs\/operations\.md#(\w+)$/gm);
  assert.deepEqual(
    annotations,
    alerts.map((alert) => alert.toLowerCase()),
  );
  const tested = new Set(
    matches(
      readFileSync(rulesTestFile, 'utf8'),
      /^\s+- eval_time: \w+\n\s+alertname: (\w+)\n\s+exp_alerts:\n/gm,
    ),
  );
  assert.deepEqual(
    alerts.filter((alert) => !tested.has(alert)),
    [],
  );
  for (const entry of runbook.split(/^### /m).slice(1))
    for (const part of ['**Meaning.**', '**Check.**', '**Do.**'])
      assert.ok(entry.includes(part), `${part} ${entry}`);
});

async function metricsOf(service: Pick<TestService, 'request'>): Promise<Readonly<Record<string, string>>> {
  const { text } = await service.request('/metrics');
  const found = Array.from(
    text.matchAll(/^(largesse_\w+) (\S+)$/gm),
    ([, name = '', value = '']) => [name, value] as const,
  );
  return Object.fromEntries(found);
}

test('the metrics say whether the service is ready, and count changes that failed', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const token = await service.token('flowers.example');
  const change = () => service.request('/gift_card', { method: 'POST', token, json: { initial_value: 5 } });
  assert.equal((await change()).status, 201);
  const before = await metricsOf(service);
  assert.deepEqual([before['largesse_ready'], before['largesse_failed_changes_total']], ['1', '0']);
  await service.database.meddle('alter table gift_cards rename to elsewhere');
  assert.equal((await change()).status, 500);
  assert.equal((await service.request('/gift_card/1', { token })).status, 404);
  assert.equal((await metricsOf(service))['largesse_failed_changes_total'], '1');

  await using full = await startService({ limits: { diskFreeBytesMin: Number.MAX_SAFE_INTEGER } });
  assert.equal((await full.request('/readyz')).status, 503);
  assert.equal((await metricsOf(full))['largesse_ready'], '0');
});
