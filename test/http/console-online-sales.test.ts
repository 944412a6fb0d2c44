/** Staff see online sales, release and return reviewed ones, and refund what was not spent. */

import assert from 'node:assert/strict';
import { dirname, join as pathOf } from 'node:path';
import { describe, test } from 'node:test';
import { emailFolder } from '../../src/features/emails/delivery/folder.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { buyDomain, decide, giftForm, order, redirectOf, startSelling } from '../support/buy-page.ts';
import { join, openStoreWithStaff, submitForm } from '../support/console.ts';
import { shopAt } from '../support/sandbox-shop.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/delivering.ts';

/** A visitor buys with the sandbox's payment. @returns the path of the sale on the pages for staff. */
async function buy(
  service: TestService,
  staff: Browser,
  {
    form = {},
    payment = {},
  }: {
    readonly form?: Readonly<Record<string, string>>;
    readonly payment?: Readonly<Record<string, string>>;
  } = {},
): Promise<string> {
  const visitor = openBrowser(service);
  const ordered = await order(visitor, { ...giftForm, ...form });
  assert.equal(ordered.status, 303, ordered.text);
  const page = await decide(visitor, redirectOf(ordered), { action: 'pay', method: 'card', ...payment });
  const opened = await visitor.get(new URL(page, service.url).pathname);
  assert.equal(opened.status, 200, opened.text);
  return newestIn(await staff.get('/sales'));
}

function newestIn({ text }: { readonly text: string }): string {
  const [, path] = /href="(\/sales\/\d+)"/.exec(text) ?? assert.fail(text);
  return path ?? '';
}

function shown({ text }: { readonly text: string }): string {
  return text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('the pages of online sales', () => {
  test('a store without a buy page is led to its settings', async () => {
    await using service = await openStoreWithStaff();
    const owner = await join(service, 'owner');
    const page = await owner.get('/sales');
    assert.equal(page.status, 200);
    assert.match(page.text, /href="\/settings\/online-sales"/);
    const manager = await join(service, 'manager');
    assert.doesNotMatch((await manager.get('/sales')).text, /settings\/online-sales/);
    const cashier = await join(service, 'cashier');
    assert.equal((await cashier.get('/sales')).status, 403);
  });

  test('a sale is listed, found by its number and addresses, and refunded once', async () => {
    await using service = await startSelling();
    const manager = await join(service, 'manager');
    const path = await buy(service, manager);
    const number = path.split('/').at(-1) ?? '';
    for (const search of ['alan@example.com', 'GRACE@example.com', number]) {
      const found = await manager.get(`/sales?search=${encodeURIComponent(search)}`);
      assert.match(shown(found), new RegExp(`${number} .*Grace Hopper .*Sold .*€50\\.00`), search);
    }
    for (const search of ['eve@example.com', '1234567', 'Grace', 'x'.repeat(1_000)])
      assert.match(shown(await manager.get(`/sales?search=${search}`)), /No sale is in this list/, search);
    // The payment and the card of a fast machine have the same time.
    await service.database.meddle('update online_sales set created_at = decided_at, paid_at = decided_at');
    const page = await manager.get(path);
    assert.match(shown(page), /€ 50\.00 .*Card made .*Paid .*Ordered .*Left on the card €50\.00/);
    assert.match(page.text, /grace@example\.com/);
    const [, code = ''] = /href="\/cards\/\d+">•••• (\w{4})</.exec(page.text) ?? assert.fail(page.text);

    const confirm = await manager.get(`${path}/refund`);
    assert.match(shown(confirm), new RegExp(`The card •••• ${code} stops first.*€50\\.00 goes back to`));
    const refunded = await submitForm(manager, `${path}/refund`, { fields: { reason: 'bought twice' } });
    assert.equal(refunded.status, 303, refunded.text);
    const after = await manager.get(path);
    assert.match(
      shown(after),
      /Refunded by staff · bought twice −€50\.00 .*Left on the card €0\.00 Refunded €50\.00/,
    );
    assert.doesNotMatch(after.text, /\/refund"/);
    const again = await manager.post(`${path}/refund`, { reason: '' });
    assert.match(shown(again), /Nothing of this sale can be refunded now/);
    const [sums] = await service.query(
      'select count(*) as refunds, sum(amount) as amount from online_sale_refunds',
    );
    assert.deepEqual([Number(sums?.['refunds']), Number(sums?.['amount'])], [1, 5_000]);
    const audit = await (await join(service, 'owner')).get('/audit');
    assert.match(shown(audit), /bought twice|refund/i);
  });

  test('a reviewed sale is released or returned, and accountants only read it', async () => {
    await using service = await startSelling({ reviewsFirst: true });
    const manager = await join(service, 'manager');
    const accountant = await join(service, 'accountant');
    const first = await buy(service, manager);
    const list = await manager.get('/sales?state=review');
    assert.match(shown(list), /It is the first sale to this email address/);
    assert.match(shown(await accountant.get('/sales?state=review')), /first sale/);
    assert.doesNotMatch((await accountant.get('/sales?state=review')).text, /\/release"/);
    assert.equal((await accountant.post(`${first}/release`)).status, 403);
    assert.equal((await accountant.get(`${first}/refund`)).status, 403);
    const released = await submitForm(manager, '/sales?state=review', { action: `${first}/release` });
    assert.equal(released.status, 303, released.text);
    assert.match(shown(await manager.get(first)), /Sold .*Card made/);
    // A second decision changes nothing.
    await manager.post(`${first}/release`);
    assert.match(shown(await manager.get('/sales?state=review')), /No sale is in this list/);

    const second = await buy(service, manager, {
      form: { buyer_email: 'eve@example.com', email: 'x@example.com' },
    });
    const confirm = await manager.get(`${second}/return`);
    assert.match(shown(confirm), /No card is made\. .*€50\.00 goes back/);
    assert.equal((await submitForm(manager, `${second}/return`, {})).status, 303);
    const page = await manager.get(second);
    assert.match(shown(page), /No card made .*staff decided it/);
    await until(async () => /Refunded/.test(shown(await manager.get(second))));
    const [cards] = await service.query('select count(*) as cards from gift_cards');
    assert.equal(Number(cards?.['cards']), 1);
  });

  test('a refund above the limit of the person is rejected, and nothing has changed', async () => {
    await using service = await startSelling();
    const manager = await join(service, 'manager');
    const owner = await join(service, 'owner');
    const people = await owner.get('/staff');
    const [, person] =
      /href="(\/staff\/\d+)" aria-label="Change manager"/.exec(people.text) ?? assert.fail(people.text);
    const limited = { name: 'manager', role: 'manager', refund_limit: '10' };
    assert.equal((await owner.post(person ?? '', limited)).status, 303);
    const path = await buy(service, manager);
    const rejected = await submitForm(manager, `${path}/refund`, {});
    assert.equal(rejected.status, 422, rejected.text);
    assert.match(shown(rejected), /€10\.00/);
    assert.match(shown(await manager.get(path)), /Sold/);
  });

  test('the page of a month has the sums by provider, and later months lead to the present one', async () => {
    await using service = await startSelling();
    const accountant = await join(service, 'accountant');
    await buy(service, accountant);
    const page = await accountant.get('/sales/months/2999-01');
    assert.equal(page.status, 303);
    const month = await accountant.get(page.headers.get('location') ?? '');
    assert.match(shown(month), /Sandbox payment test 1 €50\.00 €0\.00 €0\.00/);
    for (const wrong of ['0', '2026-13', 'x'.repeat(200)]) {
      assert.equal((await accountant.get(`/sales/months/${wrong}`)).status, 303, wrong);
      assert.equal((await accountant.get(`/sales/months/${wrong}/sales.csv`)).status, 303, wrong);
    }
    const [, file = ''] = /href="([^"]+\/sales\.csv)\?"/.exec(month.text) ?? assert.fail(month.text);
    const csv = await accountant.get(file);
    assert.match(csv.text, /^\S*Order,Day,Provider,Payment,Currency,Paid,Fee/);
    assert.match(csv.text, /\d{16},[\d-]+,Sandbox payment \(test\),\S+,EUR,50\.00,.*Single-purpose/);
    assert.doesNotMatch(csv.text, /alan|grace|birthday/i);
    const workbook = await accountant.get(file.replace('.csv', '.xlsx'));
    assert.match(workbook.headers.get('content-type') ?? '', /spreadsheetml/);
    assert.equal((await openBrowser(service).get(file)).status, 303);
  });

  test('the accountant’s link offers the online sales of its month, without a name or a code', async () => {
    await using service = await startSelling();
    const api = shopAt(() => service.url, await service.token(buyDomain));
    const owner = await join(service, 'owner');
    const settings = '/settings/accountant';
    const added = { email: 'ledger@accounting.example', language: 'de', format: 'csv' };
    await submitForm(owner, settings, { fields: added });
    await buy(service, await join(service, 'manager'));
    const [sale] = await service.query('select payment_id from online_sales');
    const advanced = await api.post('/test_clock', { advance_seconds: 32 * 86_400 });
    assert.equal(advanced.status, 200, advanced.text);
    const folder = emailFolder(pathOf(dirname(service.database.keysFile), 'mails'));
    const emails = await Promise.all((await folder.list()).map(({ name }) => folder.read(name)));
    // The newest is first. After the last days of a month, the month after it has ended as well.
    const text = emails.findLast((email) => email?.to === added.email)?.text ?? assert.fail();
    const [, link = ''] = /(\/accountant\/[\w-]+)/.exec(text) ?? assert.fail(text);

    const visitor = openBrowser(service);
    const page = await visitor.get(link);
    assert.match(shown(page), /Online-Verkäufe Jeder Verkauf des Monats mit Zahlung/);
    assert.match(page.text, new RegExp(`href="${link}/online-sales/xlsx"`));
    const csv = await visitor.get(`${link}/online-sales/csv`);
    const name = csv.headers.get('content-disposition') ?? '';
    assert.match(name, /^attachment; filename="online-sales-\d{4}-\d\d\.csv"$/);
    const [heads = '', row = '', ...more] = csv.text.trimEnd().split('\r\n');
    assert.match(heads, /Bestellung;Tag;Anbieter;Zahlung;Währung;Bezahlt;Gebühr;Auszahlung/);
    assert.match(row, new RegExp(`;${String(sale?.['payment_id'])};EUR;50,00;`));
    assert.deepEqual(more, []);
    assert.doesNotMatch(csv.text, /alan|grace|birthday/i);
    const workbook = await visitor.get(`${link}/online-sales/xlsx`);
    assert.match(workbook.headers.get('content-type') ?? '', /spreadsheetml/);
    assert.match(shown(await owner.get(settings)), /downloaded/);
  });

  test('unknown sales are not found', async () => {
    await using service = await startSelling();
    const manager = await join(service, 'manager');
    for (const path of ['/sales/1', '/sales/x', `/sales/${'9'.repeat(30)}`]) {
      assert.equal((await manager.get(path)).status, 404, path);
      assert.equal((await manager.post(`${path}/refund`)).status, 404, path);
      assert.equal((await manager.post(`${path}/release`)).status, 404, path);
    }
  });
});
