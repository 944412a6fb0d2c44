/**
 * Every route of the pages that sends a file says so. One with names, addresses, codes or keys that are stored needs a recent
 * confirmation, and is in the audit log.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { ConsoleRoute } from '../../src/pages/kit/route.ts';
import { loadPages } from '../../src/start/routes.ts';
import { parseRecoveryKey } from '../../src/features/backups/platform/recovery-key.ts';
import type { Browser } from '../support/browser.ts';
import { staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { locationOf } from '../support/till.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';

const { routes: consoleRoutes } = await loadPages();

const server = await smtpServer({
  onRcptTo: ({ address }, _session, done) =>
    done(address === 'ada@exmaple.com' ? reply(550, '5.1.1 no such user') : null),
});
after(() => server[Symbol.asyncDispose]());
const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example', MACHINE: 'owner' };
const shop = await openStaffedShop({ environment });
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');
await shop.issue();

async function issueBatch(): Promise<string> {
  const rows = 'initial_value,recipient_email\r\n25.00,ada@exmaple.com\r\n25.00,';
  const checked = await owner.post('/cards/batches/new', { kind: 'file', name: 'November', rows });
  const form = formOf(checked, '/cards/batches/issue');
  const issued = await owner.post('/cards/batches/issue', {
    ...form,
    expected_count: '2',
    expected_total: '50',
  });
  assert.equal(issued.status, 303, textOfPage(issued));
  const at = locationOf(issued);
  await until(async () => /Bounced 1/.test(textOfPage(await owner.get(at))));
  return at;
}

async function printStock(): Promise<string> {
  const json = { name: 'Counter', count: 1, fixed_value: '20.00' };
  const created = await shop.ask('POST /stocks', { json });
  const { id } = (created.json as { readonly stock: { readonly id: number } }).stock;
  await until(async () => (await shop.ask(`GET /stocks/${id}`)).text.includes('"complete"'));
  return `/cards/stock/${id}`;
}

const backupsPath = '/settings/machine/backups';

/** @returns the name of a backup that is kept for a download. */
async function makeBackup(): Promise<string> {
  await owner.post(backupsPath, { kind: 'download', rhythm: 'nightly' });
  const made = await owner.post(`${backupsPath}/sheet`);
  const key = await parseRecoveryKey(/AGE-SECRET-KEY-1 [0-9A-Z ]+/.exec(made.text)?.[0] ?? '');
  assert.ok(key.ok, textOfPage(made));
  await owner.post(`${backupsPath}/sheet/confirm`, { typed: key.value.identity.reveal().slice(-6) });
  let page = await owner.get(backupsPath);
  await until(async () => (page = await owner.get(backupsPath)).text.includes(`${backupsPath}/download`));
  return formOf(page, `${backupsPath}/download`)['name'] ?? '';
}

const [batch, stock, backup] = [await issueBatch(), await printStock(), await makeBackup()];

/** The request for each export. */
const requests: Readonly<
  Record<string, { readonly at: string; readonly form?: Readonly<Record<string, string>> }>
> = {
  '/cards/export': { at: '/cards/export' },
  '/cards/batches/:id/undelivered.csv': { at: `${batch}/undelivered.csv` },
  '/cards/batches/:id/undelivered.xlsx': { at: `${batch}/undelivered.xlsx` },
  '/cards/batches/:id/codes.csv': { at: `${batch}/codes.csv` },
  '/cards/batches/:id/codes.xlsx': { at: `${batch}/codes.xlsx` },
  '/cards/batches/:id/letters.csv': { at: `${batch}/letters.csv` },
  '/cards/stock/:id/codes.csv': { at: `${stock}/codes.csv` },
  '/cards/stock/:id/codes.xlsx': { at: `${stock}/codes.xlsx` },
  [`${backupsPath}/download`]: { at: `${backupsPath}/download`, form: { name: backup } },
};

/** The other routes with files, and why they need neither. */
const others: readonly (readonly [RegExp, string])[] = [
  [/^\/settings\/online-sales\/window\.svg$/, 'the link to the buy page, which is public'],
  [/^\/books\//, 'sums of the books, and the names of locations'],
  [/^\/sales\/months\/:month\/sales\./, 'amounts and ids, without names and addresses'],
  [/^\/accountant\/:token\//, 'the same sums, with a signed link; each opening is in the audit log'],
  [/^\/cards\/batches\/lines\./, 'lines of the file that the browser has sent with the request'],
  [/^\/b(?:\/:domain)?\/wallet\/apple$/, 'the card of the visitor, who has sent its code'],
];

const exporting = consoleRoutes.filter(({ sendsFile }) => sendsFile === 'export');

async function countActions(): Promise<number> {
  const [row] = await shop.service.query('select count(*) as n from staff_actions');
  return Number(row?.['n']);
}

/** A confirmation counts for ten minutes. */
function letConfirmationEnd(): void {
  shop.service.clock.advance(11 * 60_000);
}

async function confirm(): Promise<void> {
  const response = await owner.post('/confirm?next=%2Fcards', { password: staffPassword });
  assert.equal(response.status, 303, textOfPage(response));
}

function ask(browser: Browser, { method, path }: ConsoleRoute) {
  const { at, form } = requests[path] ?? assert.fail(`${path} has no request here`);
  assert.equal(method, 'POST', 'a link in another page or a prefetch could start a GET');
  return browser.post(at, form);
}

test('every route that sends a file is an export, or is one of those that need not be', () => {
  assert.deepEqual(exporting.map(({ path }) => path).toSorted(), Object.keys(requests).toSorted());
  const rest = consoleRoutes.filter(({ sendsFile }) => sendsFile === 'other').map(({ path }) => path);
  assert.deepEqual(
    rest.filter((path) => !others.some(([form]) => form.test(path))),
    [],
  );
  for (const [form, reason] of others)
    assert.ok(
      rest.some((path) => form.test(path)),
      reason,
    );
});

for (const route of exporting)
  test(`${route.path} sends a file only after a recent confirmation, and is in the audit log`, async () => {
    assert.ok(route.access !== 'anyone' && route.isSensitive, 'it needs no confirmation');
    const before = await countActions();
    letConfirmationEnd();
    const unconfirmed = await ask(owner, route);
    assert.equal(unconfirmed.status, 303);
    assert.match(locationOf(unconfirmed), /^\/confirm\?next=/);
    assert.equal(await countActions(), before, 'nothing was sent');
    await confirm();
    const sent = await ask(owner, route);
    assert.equal(sent.status, 200, textOfPage(sent));
    assert.match(sent.headers.get('content-disposition') ?? '', /^attachment; /);
    assert.equal(await countActions(), before + 1);
  });

test('new codes go to other addresses only after a recent confirmation, and are in the audit log', async () => {
  await confirm();
  const form = formOf(await owner.get(`${batch}/undelivered`), `${batch}/correct`);
  const [field = ''] = Object.entries(form).find(([, value]) => value === 'ada@exmaple.com') ?? [];
  const corrected = { ...form, [field]: 'ada@example.com' };
  const before = await countActions();
  letConfirmationEnd();
  for (const response of [
    await owner.get(`${batch}/undelivered`),
    await owner.post(`${batch}/correct`, corrected),
  ])
    assert.match(locationOf(response), /^\/confirm\?next=/);
  const emails = await shop.service.query("select 1 from email_deliveries where address = 'ada@example.com'");
  assert.deepEqual([emails.length, await countActions()], [0, before]);
  await confirm();
  assert.equal((await owner.post(`${batch}/correct`, corrected)).status, 303);
  const [entry] = await shop.service.query('select action from staff_actions order by id desc limit 1');
  assert.equal(entry?.['action'], 'batch-corrected');
});

test('a new code of one card needs no confirmation, and each is in the audit log with the person', async () => {
  const card = await shop.issue({ recipient_email: 'ada@exmaple.com' });
  const pathOf = async (): Promise<string | undefined> =>
    new RegExp(`href="(/emails/\\d+)"(?:(?!</li>|</tr>).)*?${card.last_characters}`, 's').exec(
      (await owner.get('/emails?state=failed')).text,
    )?.[1];
  await until(async () => (await pathOf()) !== undefined);
  const email = (await pathOf()) ?? assert.fail('no email');
  letConfirmationEnd();
  const before = await countActions();
  const form = formOf(await owner.get(email), `${email}/correct`);
  const corrected = await owner.post(`${email}/correct`, { ...form, address: 'ada@example.com' });
  assert.match(locationOf(corrected), /^\/emails\/\d+\?done=sent$/);
  const resend = `/cards/${card.id}/resend`;
  const printed = formOf(await owner.get(resend), resend);
  assert.equal((await owner.post(resend, { ...printed, how: 'print' })).status, 303);
  const [row] = await shop.service.query("select id from staff where email = 'owner@flowers.example'");
  const entries = await shop.service.query('select action, staff_id from staff_actions order by id');
  assert.deepEqual(
    entries.slice(before).map(({ action, staff_id: staffId }) => [action, staffId]),
    ['code-sent', 'recipient-corrected', 'code-sent'].map((action) => [action, row?.['id']]),
  );
  // The next requests for a file are rejected, so no confirmation was left.
  assert.match(locationOf(await owner.post(`${batch}/undelivered.csv`)), /^\/confirm\?next=/);
});
