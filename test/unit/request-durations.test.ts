/** The histogram of request durations has the same text as one of prom-client. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { requestDurations } from '../../src/http/request-durations.ts';

const options = { name: 'durations_seconds', help: 'Durations.', buckets: [0.001, 0.01, 0.5, 1] };
const methods = ['GET', 'POST'];
const routes = ['/gift_card', '/gift_card/:gift_card_id', 'unknown'];
const statuses = [200, 201, 404, 503];
const durations = [0, 0.001, 0.0011, 0.02, 0.5, 0.7, 1, 1.5, 100];

/** The lines of a metric, sorted, because the order of its series has no meaning. */
async function linesOf(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics()).split('\n').toSorted();
}

test('request durations are reported as by a histogram of prom-client', async () => {
  const own = new Registry();
  const expected = new Registry();
  const observe = requestDurations(own, options);
  const histogram = new Histogram({
    ...options,
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    registers: [expected],
  });
  assert.deepEqual(await linesOf(own), await linesOf(expected));
  let count = 0;
  for (const method of methods)
    for (const route of routes)
      for (const status of statuses)
        for (const seconds of durations) {
          count += 1;
          if (count % 7 === 0) continue;
          observe({ method, route, status, seconds });
          const labels = {
            http_request_method: method,
            http_route: route,
            http_response_status_code: status,
          };
          histogram.observe(labels, seconds);
        }
  const lines = await linesOf(own);
  assert.deepEqual(lines, await linesOf(expected));
  const series = methods.length * routes.length * statuses.length;
  // Each series has its buckets, the one above all of them, the sum and the count.
  assert.equal(lines.filter((line) => line.startsWith(options.name)).length, series * 7);
});
