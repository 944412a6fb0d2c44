/** The chart of the first page: its figures are those of the liability report. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import { join } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import { startService } from '../support/service.ts';

test('the chart of a year has the liability at the end of each month', async () => {
  await using service = await startService({ limits: { closingPeriodMs: 50 } });
  const { code, errors } = await command(service.environment, 'demo', 'load');
  assert.equal(code, 0, errors);
  const yesterday = addDays(dayOf(service.clock.now(), 'UTC'), -1);
  await until(async () => {
    const [row] = await service.query(`select max(day) as day from store_closings where part = 'closed'`);
    return row?.['day'] === yesterday;
  }, 120_000);
  const owner = await join(service, 'owner');
  let text = '';
  await until(async () => {
    ({ text } = await owner.get('/today'));
    return text.includes('<svg class="plot"');
  });
  const rows = Array.from(
    text.matchAll(/<tr><th scope="row">([^<]*)<\/th><td class="sum">\$([\d,.]*)<\/td><\/tr>/g),
    ([, month = '', amount = '']) => ({ month, amount: amount.replaceAll(',', '') }),
  );
  assert.equal(rows.length, 12);
  const now = Temporal.PlainYearMonth.from(dayOf(service.clock.now(), 'UTC').slice(0, 7));
  for (const [place, { month, amount }] of rows.entries()) {
    const isNow = place === rows.length - 1;
    const shown = now.subtract({ months: rows.length - 1 - place });
    const last = shown.toPlainDate({ day: shown.daysInMonth }).toString();
    const { json } = await service.request(`/reports/liability${isNow ? '' : `?as_of=${last}`}`);
    const { liability } = json as { readonly liability: { readonly outstanding: string } };
    assert.equal(amount, liability.outstanding, `${month}, ${last}`);
    if (!isNow) assert.match(month, new RegExp(`${shown.year}$`));
  }
  const [, title = ''] = /<title id="chart-title">([^<]*)</.exec(text) ?? [];
  assert.match(
    title,
    /^Outstanding balance at the end of each month: \$[\d,.]+ in \w+ \d{4}, \$[\d,.]+ now$/,
  );
  assert.equal(/<polyline class="line" points="([^"]*)"/.exec(text)?.[1]?.split(' ').length, 12);
});
