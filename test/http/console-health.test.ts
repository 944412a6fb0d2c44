/** The card of “Today” about what a person has to repair: its findings, the people who see them, and no card when all is well. */

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { checkDatabase } from '../../src/features/doctor/cli/database.ts';
import { readConfig } from '../../src/start/config.ts';
import { scriptedServer, smtpServer } from '../delivery/email/smtp-server.ts';
import type { Browser } from '../support/browser.ts';
import { openStaffedShop, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { engine } from '../support/engine.ts';
import { issueCertificateFor } from '../support/issued-certificate.ts';
import { freePorts } from '../support/postgres-port.ts';
import { runCommand } from '../support/command-line.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const day = 24 * 60 * 60_000;
const limits = { examinationPeriodMs: 20 };
/** More than any disk has. */
const tooMuch = 2 ** 60;
const owned = { MACHINE: 'owner', NODE_ENV: 'development' };

/** A server is backed up with its own tools. */
function testOfFile(name: string, run: () => Promise<void>): void {
  if (engine.id === 'sqlite') test(name, run);
}

/** The text of the card; empty: there is none. */
async function cardOf(browser: Browser, language = 'en'): Promise<string> {
  const page = await browser.request('/today', { headers: { 'accept-language': language } });
  assert.equal(page.status, 200, page.text);
  const [card = ''] = /<section class="panel health".*?<\/section>/s.exec(page.text) ?? [];
  return textOfPage({ text: card }).trim();
}

/** Waits for a card that fits. */
async function finds(browser: Browser, wanted: RegExp): Promise<string> {
  let card = '';
  await until(async () => wanted.test((card = await cardOf(browser))));
  return card;
}

/** The shop is ten days old, and its last backup three. */
async function neglect({ service }: StaffedShop): Promise<void> {
  await service.database.meddle(`update stores set created_at = created_at - ${10 * day}`);
}

test('nothing is shown when all is well', async () => {
  await using shop = await openStaffedShop({ limits, environment: owned });
  await shop.issue();
  assert.equal(await cardOf(await shop.as('owner')), '');
});

test('an owner of the machine finds a full disk, a wrong clock and a missing backup, and others do not', async () => {
  const ill = { ...limits, diskFreeBytesMin: tooMuch };
  await using shop = await openStaffedShop({ limits: ill, environment: owned });
  const owner = await shop.as('owner');
  const manager = await shop.as('manager');
  await neglect(shop);
  shop.service.clock.jump(3 * 60 * 60_000);
  const card = await finds(owner, engine.id === 'sqlite' ? /No backup was/ : /clock/);
  assert.match(card, /urgent: The clock has jumped ahead by 3 hours Check the time of the machine/);
  if (engine.id === 'sqlite') {
    assert.match(card, /^3 things need you/);
    assert.match(card, /The disk of the database is full [\d,.]+ (?:GB|MB) are free\. When it is full/);
    assert.match(card, /No backup was ever verified .*largesse backup <file>/);
    const spoken = [
      ['de', /^Um 3 Sachen müssen Sie sich kümmern .*dringend: Die Uhr ist um 3 Stunden vorgesprungen/],
      ['fr', /^3 points demandent votre attention .*L’horloge a avancé d’un coup de 3 heures/],
      ['es', /^3 asuntos necesitan su atención .*El reloj se ha adelantado 3 horas de golpe/],
    ] as const;
    for (const [language, said] of spoken) assert.match(await cardOf(owner, language), said);
  } else assert.match(card, /^1 thing needs you/, 'a server has its own disk and backups');
  assert.equal(await cardOf(manager), '', 'a manager cannot repair the machine');
  shop.service.clock.jump(-3 * 60 * 60_000);
  assert.doesNotMatch(await cardOf(owner), /clock/);
});

test('the machine of an operator, or of several shops, is not the concern of an owner', async () => {
  await using ofOperator = await openStaffedShop({ limits, environment: { MACHINE: 'operator' } });
  const owner = await ofOperator.as('owner');
  ofOperator.service.clock.jump(3 * 60 * 60_000);
  assert.equal(await cardOf(owner), '');
  if (engine.id !== 'sqlite') return;
  await using shared = await openStaffedShop({ limits });
  const one = await shared.as('owner');
  shared.service.clock.jump(3 * 60 * 60_000);
  assert.match(await cardOf(one), /The clock has jumped/);
  const made = await runCommand(['store', 'create', 'books.example', '--currency', 'EUR'], {
    environment: shared.service.environment,
  });
  assert.equal(made.code, 0, made.errors);
  assert.equal(await cardOf(one), '');
});

testOfFile('a backup ends its finding at once', async () => {
  await using shop = await openStaffedShop({ limits: { examinationPeriodMs: 1_000 } });
  const owner = await shop.as('owner');
  await neglect(shop);
  await finds(owner, /No backup was ever verified/);
  const { environment, database } = shop.service;
  const { code, errors } = await runCommand(['backup', join(database.folder, 'copy.db')], { environment });
  assert.equal(code, 0, errors);
  assert.equal(await cardOf(owner), '');
  await database.meddle(`update setup_steps set done_at = done_at - ${3 * day}`);
  assert.match(await finds(owner, /No verified backup/), /No verified backup for 3 days The last one: /);
}); // prettier-ignore

test('emails that are not sent are shown with the reason, to those who may change emails, and by doctor', async () => {
  await using server = await scriptedServer({ EHLO: '250-scripted\r\n250 AUTH PLAIN LOGIN' });
  const url = `smtp://user:secret@127.0.0.1:${new URL(server.url().reveal()).port}`;
  const environment = { SMTP_URL: url, MAIL_FROM: 'gifts@flowers.example' };
  await using shop = await openStaffedShop({ limits, environment });
  const [owner, manager, accountant] = [
    await shop.as('owner'),
    await shop.as('manager'),
    await shop.as('accountant'),
  ];
  await shop.issue({ recipient_email: 'grace@example.com' });
  await until(async () => (await shop.service.query('select 1 from email_deliveries where response is not null')).length > 0);
  assert.equal(await cardOf(owner), '', 'an email can be late by minutes');
  await shop.service.database.meddle(`update email_deliveries set send_at = send_at - ${60 * 60_000}`);
  const card = await finds(owner, /email/);
  assert.match(card, /^1 thing needs you urgent: 1 email has not been sent since /);
  assert.match(card, /The encrypted connection to 127\.0\.0\.1 failed\. The emails/);
  assert.match(card, /go out by themselves once the mail server accepts them/);
  assert.match(card, /Its last response: 502 what\?/);
  assert.doesNotMatch(card, /Set the mail server/, 'the operator sets it');
  assert.ok(!card.includes('secret'));
  assert.match(await cardOf(manager), /1 email has not been sent/);
  assert.equal(await cardOf(accountant), '');
  const findings = await checkDatabase(readConfig(shop.service.environment));
  const late = findings.find(({ check }) => check === 'emails');
  assert.match(late?.message ?? '', /^1 emails of flowers\.example wait since \S+; the last response to them: /);
  await shop.service.database.meddle('update email_deliveries set send_at = created_at');
  assert.equal(await cardOf(owner), '');
}); // prettier-ignore

test('a certificate that ends soon is shown with its end', async () => {
  const folder = makeScratchFolder('largesse-health-');
  const now = Date.now();
  const { chain, key } = issueCertificateFor(['localhost'], { from: now - 80 * day, until: now + 9.5 * day });
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, chain);
  writeFileSync(keyFile, key);
  chmodSync(keyFile, 0o600);
  await using smtp = await smtpServer();
  const [port, httpsPort, httpPort] = await freePorts();
  const environment = {
    ...owned,
    HTTPS: 'files',
    PORT: String(port),
    HTTPS_PORT: String(httpsPort),
    HTTP_PORT: String(httpPort),
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    PUBLIC_URL: `https://localhost:${port}`,
    SMTP_URL: smtp.url().reveal(),
    MAIL_FROM: 'gifts@flowers.example',
  };
  const periods = { certificateNoticePeriodMs: 20, noticesPeriodMs: 20 };
  await using shop = await openStaffedShop({ limits: { ...limits, ...periods }, environment });
  const card = await cardOf(await shop.as('owner'));
  await until(() => smtp.received.length > 0);
  const said = smtp.received.map(({ message }) => message.toString()).join('');
  assert.match(said, /Subject: The certificate of Flowers ends soon/);
  assert.match(said, /was not renewed/);
  assert.match(card, /^1 thing needs you soon: The certificate expires in 9 days Valid until /);
  assert.match(card, /Without it, browsers do not open these pages\. .*largesse doctor/);
  // The job has looked many times since.
  assert.deepEqual(
    smtp.received.map(({ to }) => to),
    [['owner@flowers.example']],
  );
});
