/**
 * The way of a shop owner, in a network of its own with the usual ports: one command at a terminal, a browser, the emails, the
 * recovery sheet, a card that is sold at a phone, and a second machine that has the shop back. `test/soak/whole-way.sqlite.test.ts`
 * runs it; by hand: `unshare --net --mount node test/browser/whole-way.ts`. `SHOTS=<folder>` keeps a picture of each step.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import puppeteer, { type Page } from 'puppeteer-core';
import { deadlineIn } from '../support/deadline.ts';
import { certificateFor } from '../delivery/email/certificate.ts';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { startAuthority } from '../support/authority.ts';
import { chromiumPrograms } from '../support/chromium-program.ts';
import { runProgram, startProgram, type Program } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { downloadTo } from './walk.ts';

const executable = join(import.meta.dirname, '../../bin/largesse.js');
const domain = 'cards.flowers.example';
const smtpHost = 'smtp.server.example';
/** Addresses of the public internet, in this network only. */
const [address, smtpAddress] = ['93.184.215.14', '93.184.215.15'];
const phone = { width: 390, height: 664, isMobile: true, hasTouch: true };
const desktop = { width: 1280, height: 900 };
const owner = { email: 'ada@flowers.example', password: 'correct horse battery' };
const shots = process.env['SHOTS'];

const folder = makeScratchFolder('largesse-way-');
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function prepareNetwork(): void {
  const file = join(folder, 'resolv.conf');
  writeFileSync(file, 'nameserver 127.0.0.1\n');
  for (const [command = '', ...args] of [
    ['ip', 'link', 'set', 'lo', 'up'],
    ...[address, smtpAddress].map((each) => ['ip', 'address', 'add', `${each}/32`, 'dev', 'lo']),
    ['mount', '--bind', file, '/etc/resolv.conf'],
  ])
    execFileSync(command, args);
}

/** A mail server at its public address. */
async function openSmtp() {
  const { certificate, key } = certificateFor(smtpHost);
  const certificateFile = join(folder, 'smtp.pem');
  writeFileSync(certificateFile, certificate);
  const server = await smtpServer({
    key,
    cert: certificate,
    authOptional: false,
    onAuth: ({ username = '', password }, _session, done) =>
      password === 'hush-hush-hush' ? done(null, { user: username }) : done(new Error('wrong')),
  });
  const port = Number(new URL(server.url().reveal()).port);
  const front = createServer((socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const each of [socket, inner]) each.on('error', () => undefined);
    socket.pipe(inner).pipe(socket);
  });
  front.listen(587, smtpAddress);
  return { server, certificateFile, close: () => front.close() };
}

type Machine = { readonly folder: string; readonly program: Program; readonly link: string };

/** The one command, at a terminal. */
async function startMachine(name: string, environment: Readonly<Record<string, string>>): Promise<Machine> {
  const own = join(folder, name);
  mkdirSync(own);
  const command = [process.execPath, executable, 'serve', '--domain', domain]
    .map((part) => `'${part}'`)
    .join(' ');
  const program = startProgram('script', ['-qec', command, '/dev/null'], {
    environment: { ...environment, TERM: 'dumb', LANG: 'C.UTF-8' },
    folder: own,
  });
  const [, link = ''] = await program.written(/^ {2}Open {2}(https:\S+)/m, 120_000);
  const output = program.output();
  const [progress = ''] = /^.*certificate ✓.*$/m.exec(output) ?? [];
  assert.match(progress, /^DNS ✓ · port 80 ✓ · certificate ✓ \d+\.\d s/);
  assert.match(output, /[▀▄█]{5}/, 'a QR code for the phone');
  say(`${name}: ${progress.trim()}`);
  return { folder: own, program, link };
}

/** A browser that trusts the authority, with an empty profile. */
async function openBrowser(root: string) {
  const home = join(folder, 'browser');
  const database = join(home, '.pki/nssdb');
  mkdirSync(database, { recursive: true });
  const file = join(folder, 'root.pem');
  writeFileSync(file, root);
  execFileSync('certutil', ['-d', `sql:${database}`, '-N', '--empty-password']);
  execFileSync('certutil', ['-d', `sql:${database}`, '-A', '-t', 'C,,', '-n', 'authority', '-i', file]);
  for await (const { path, environment } of chromiumPrograms())
    return await puppeteer.launch({
      executablePath: path,
      pipe: true,
      userDataDir: join(home, 'profile'),
      defaultViewport: desktop,
      args: ['--no-first-run', '--no-sandbox', '--disable-dev-shm-usage'],
      env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...environment, HOME: home },
    });
  throw new Error('no Chrome or Chromium runs on this machine');
}

let shot = 0;

async function keepShot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  shot += 1;
  const path = join(shots, `${String(shot).padStart(2, '0')}-${name}.png`) as `${string}.png`;
  await page.screenshot({ path, fullPage: true });
}

async function textOf(page: Page): Promise<string> {
  return await page.$eval('body', (body) => body.innerText.replaceAll(/\s+/g, ' '));
}

async function submit(page: Page, selector: string): Promise<void> {
  try {
    await Promise.all([page.waitForNavigation({ timeout: 60_000 }), page.click(selector)]);
  } catch (error) {
    await keepShot(page, 'failed');
    throw new Error(`${page.url()}: ${selector} leads to no page: ${await textOf(page)}`, { cause: error });
  }
}

async function type(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    await page.$eval(`[name="${name}"]`, (field) => ((field as HTMLInputElement).value = ''));
    await page.type(`[name="${name}"]`, value);
  }
}

/** Chooses one of the values of a field, as with the keyboard: the page can move below a pointer. */
async function choose(page: Page, name: string, value: string): Promise<void> {
  const selector = `[name="${name}"][value="${value}"]`;
  await page.focus(selector);
  await page.keyboard.press('Space');
  assert.ok(await page.$eval(selector, (field) => (field as HTMLInputElement).checked), selector);
}

async function shows(page: Page, pattern: RegExp, timeoutMs = 60_000): Promise<string> {
  for (const deadline = deadlineIn(timeoutMs); ;) {
    const text = await textOf(page).catch(() => '');
    if (pattern.test(text)) return text;
    if (deadline.isOver()) throw new Error(`${page.url()} does not show ${String(pattern)}: ${text}`);
    await wait(200);
  }
}

async function setUpShop(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await keepShot(page, 'setup');
  await type(page, { shop: 'Flowers', currency: 'EUR', time_zone: 'Europe/Berlin' });
  await submit(page, 'form[data-suggests] button.first');
  await type(page, { name: 'Ada', email: owner.email });
  await choose(page, 'how', 'password');
  await page.type('#password', owner.password);
  await keepShot(page, 'owner');
  await submit(page, 'main form button.first');
}

type Smtp = Awaited<ReturnType<typeof openSmtp>>;

/** Types a mail server, and the six digits of its first email. */
async function setUpEmails(page: Page, { server }: Smtp): Promise<void> {
  if (!page.url().includes('/settings/emails/server'))
    await page.goto(`https://${domain}/settings/emails/server`);
  await page.select('[name=provider]', 'other');
  await page.select('[name=port]', '587');
  await type(page, {
    sender: 'gifts@flowers.example',
    user: 'gifts',
    password: 'hush-hush-hush',
    host: smtpHost,
  });
  await keepShot(page, 'email-server');
  await submit(page, 'form[action$="/settings/emails/server"] button.first');
  await shows(page, /six digits|digits/i);
  const message = server.received.at(-1)?.message.toString().replaceAll('\r', '') ?? '';
  const [digits = ''] = /^\d{6}$/m.exec(message) ?? [];
  await keepShot(page, 'digits');
  await type(page, { digits });
  await submit(page, 'form[action$="/code"] button.first');
  await shows(page, /The email has arrived/);
  say('emails: the six digits have arrived');
}

/** Makes the recovery sheet and the first backup. @returns the key of the sheet. */
async function setUpBackups(page: Page): Promise<string> {
  const path = `https://${domain}/settings/machine/backups`;
  await page.goto(path);
  await submit(page, 'form[action$="/backups/sheet"] button');
  await keepShot(page, 'sheet');
  const key = await page.$eval('.key .code', (code) => code.textContent);
  await type(page, { typed: key.replaceAll(/\s/g, '').slice(-6) });
  await submit(page, 'form[action$="/sheet/confirm"] button');
  await choose(page, 'kind', 'download');
  await submit(page, 'form[action$="/machine/backups"] button.first');
  await shows(page, /The last verified backup is from/);
  await keepShot(page, 'backups');
  say('backups: the first one is verified');
  return key;
}

/** Sells a card at the phone. @returns its code, as the email has it. */
async function sellAtPhone(page: Page, { server }: Smtp): Promise<string> {
  await page.setViewport(phone);
  await page.goto(`https://${domain}/till/sell`);
  for (const digit of '5000') await page.tap(`[data-digit="${digit}"]`);
  await choose(page, 'how', 'email');
  await keepShot(page, 'till-amount');
  await Promise.all([page.waitForNavigation(), page.tap('#pay')]);
  await type(page, { email: 'grace@example.com' });
  await keepShot(page, 'till-email');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  await shows(page, /€50\.00/);
  await keepShot(page, 'till-sold');
  for (const deadline = deadlineIn(60_000); !deadline.isOver(); await wait(100)) {
    const email = server.received.find(({ to }) => to.includes('grace@example.com'));
    const text = email?.message.toString().replaceAll(/=\r?\n/g, '') ?? '';
    const [code] = /\b(?:[0-9A-Z]{4} ){3}[0-9A-Z]{4}\b/.exec(text) ?? [];
    if (code === undefined) continue;
    say('till: a card of €50.00 is sold, and its email has arrived');
    return code.replaceAll(' ', '');
  }
  throw new Error('the email did not arrive');
}

/** Backs up now and downloads the backup. @returns its path. */
async function downloadBackup(page: Page): Promise<string> {
  await page.setViewport(desktop);
  await page.goto(`https://${domain}/settings/machine/backups`);
  const before = await page.$eval('main table [dir=ltr]', (name) => name.textContent);
  await submit(page, 'form[action$="/backups/now"] button');
  for (const deadline = deadlineIn(60_000); ; await page.reload()) {
    const newest = await page.$eval('main table [dir=ltr]', (name) => name.textContent);
    if (newest !== before) break;
    assert.ok(!deadline.isOver(), 'there is no new backup');
    await wait(500);
  }
  const target = join(folder, 'downloads');
  mkdirSync(target);
  return await downloadTo(page, target, () => page.click('form[action$="/backups/download"] button'));
}

/** “I have a backup” on the second machine, until the owner has confirmed the state of the shop. */
async function restore(page: Page, link: string, { backup, key }: { readonly backup: string; readonly key: string }): Promise<void> {
  await page.goto(link);
  await submit(page, 'a[href$="/restore"]');
  const input = await page.$('input[type=file]');
  assert.ok(input);
  await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(backup);
  await keepShot(page, 'restore-file');
  await submit(page, 'form[data-upload] button');
  await type(page, { key });
  await submit(page, 'form[action$="/restore/key"] button');
  await shows(page, /This is in the backup/);
  await keepShot(page, 'restore-found');
  await type(page, { shop: 'Flowers' });
  await submit(page, 'form[action$="/restore/install"] button.first');
  await page.waitForFunction(() => location.pathname.endsWith('/sign-in'), { timeout: 120_000 });
  await type(page, owner);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  await page.goto(`https://${domain}/restored`);
  await keepShot(page, 'restored');
  await page.click('[name=off]');
  const [drop] = await page.$$('[name=held][value=drop]');
  await drop?.click();
  await submit(page, 'main form button.first');
  assert.equal(new URL(page.url()).pathname, '/today');
  await keepShot(page, 'today');
} // prettier-ignore

prepareNetwork();
await using authority = await startAuthority({ domain, ports: { http: 80, https: 443, dns: 53 } });
await authority.setAddresses(domain, [address]);
await authority.manageDns('add-a', { host: `${smtpHost}.`, addresses: [smtpAddress] });
const smtp = await openSmtp();
const { ACME_URL = '', ACME_CA_FILE = '' } = authority.environment;
const environment = {
  ACME_URL,
  ACME_CA_FILE,
  NODE_EXTRA_CA_CERTS: smtp.certificateFile,
  NODE_ENV: 'production',
};
const browser = await openBrowser(await authority.root());
let page = await browser.newPage();
const first = await startMachine('first', environment);
await setUpShop(page, first.link);
await setUpEmails(page, smtp);
const key = await setUpBackups(page);
const code = await sellAtPhone(page, smtp);
const backup = await downloadBackup(page);
first.program.kill('SIGKILL');
await first.program.ended();
rmSync(first.folder, { recursive: true });
say('the first machine is thrown away');

const second = await startMachine('second', environment);
page = await browser.newPage();
try {
  await restore(page, second.link, { backup, key });
} catch (error) {
  // The log says why.
  throw new Error(second.program.output(), { cause: error });
}
await page.goto(`https://${domain}/cards`);
const cards = await textOf(page);
assert.match(cards, /€50\.00/);
assert.match(cards, new RegExp(code.slice(-4), 'i'));
const verified = await runProgram(process.execPath, [executable, 'verify'], {
  environment,
  folder: second.folder,
});
assert.equal(verified.code, 0, verified.errors);
say(verified.output.trimEnd());
second.program.kill('SIGTERM');
await second.program.ended();
await browser.close();
smtp.close();
await smtp.server[Symbol.asyncDispose]();
say('The shop is back on the second machine.');
