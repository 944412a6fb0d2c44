/** The first run as a shop owner sees it: the service at a terminal, the link, the shop, and a session. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { send } from '../support/http-client.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { makeHome, type Home } from './largesse.ts';
import { executable } from '../support/program.ts';

/** Starts the service at a pseudo-terminal: `script` of util-linux, or of BSD and macOS. */
function startAtTerminal({ database, folder }: Home, environment: Readonly<Record<string, string>>): Program {
  const command = [process.execPath, executable, 'serve'] as const;
  const args =
    process.platform === 'linux'
      ? ['-qec', command.map((part) => `'${part}'`).join(' '), '/dev/null']
      : ['-q', '/dev/null', ...command];
  const all = { ...database.environment, PORT: '0', TERM: 'dumb', ...environment };
  return startProgram('script', args, { environment: all, folder });
}

type Greeting = { readonly lines: readonly string[]; readonly open: string };

/** The lines at the terminal until the service accepts requests. */
async function greetingOf(program: Program): Promise<Greeting> {
  await program.written(/^ {2}Mode {2}.*$/m, 60_000);
  const lines = program.output().replaceAll('\r', '').trimEnd().split('\n');
  const [, open = ''] = /^ {2}Open {2}(\S+)/m.exec(program.output()) ?? [];
  return { lines, open };
}

function browserOf(url: string): Browser {
  const { origin } = new URL(url);
  return openBrowser({ url: origin, request: (path, request) => send(`${origin}${path}`, request) });
}

async function stop(program: Program): Promise<void> {
  program.kill('SIGTERM');
  await program.ended();
}

test('at a terminal, six lines lead to a shop with an owner who is signed in', async () => {
  await using home = await makeHome();
  {
    await using program = startAtTerminal(home, {});
    const { lines, open } = await greetingOf(program);
    const origin = new URL(open).origin;
    assert.equal(lines.length, 6, lines.join('\n'));
    assert.match(lines[0] ?? '', /^Largesse \d+\.\d+\.\d+$/);
    assert.match(
      lines[1] ?? '',
      /^ {2}Open {2}http:\/\/localhost:\d+\/setup\/lgf_\S+ \(sets up your shop, once, in the next 24 hours\)$/,
    );
    assert.equal(lines[2], `  API   ${origin}/docs`);
    assert.match(lines[3] ?? '', /^ {2}Data {2}\/\S+$/);
    assert.equal(lines[4], `  Keys  ${home.keysFile}`);
    assert.match(lines[5] ?? '', /^ {2}Mode {2}development, .*demonstration store.*; emails are kept in \/\S+$/);
    const browser = browserOf(open);
    const root = await browser.request('/', { headers: { accept: 'text/html' } });
    assert.equal(root.headers.get('location'), '/setup');
    const { pathname: path } = new URL(open);
    assert.equal((await browser.get(path)).status, 200);
    const shop = {
      shop: 'Flowers',
      currency: 'EUR',
      time_zone: 'Europe/Paris',
      locale: 'en',
      limit: '',
      domain: '',
    };
    const owner = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
    const done = await browser.post(`${path}/owner`, { ...shop, ...owner });
    assert.equal(done.headers.get('location'), '/cards/new', done.text);
    assert.equal((await browser.get('/account')).status, 200);
    await stop(program);
  }

  await using last = startAtTerminal(home, { NODE_ENV: 'production', PUBLIC_URL: 'https://cards.flowers.example' });
  const { lines, open } = await greetingOf(last);
  assert.equal(open, 'https://cards.flowers.example/');
  assert.match(lines.join('\n'), /^ {2}Mode {2}production; no email is sent, because SMTP_URL is not set$/m);
  await stop(last);
}); // prettier-ignore

test('a log does not contain the link, and says which command prints it', async () => {
  await using home = await makeHome();
  const served = await home.serve();
  const { program } = served;
  await program.written(/"message":"there is no owner yet: [^"\\]*\\"largesse setup link\\"/);
  await served.stop();
  assert.doesNotMatch(program.output() + program.errors(), /lgf_|Open {2}/);
  const { code, output } = await home.run(['setup', 'link'], { BASE_PATH: '/cards', PORT: '3000' });
  assert.equal(code, 0);
  assert.match(
    output,
    /^http:\/\/localhost:3000\/cards\/setup\/lgf_\S+\nThe link works once, for 24 hours\.\n$/,
  );
});
