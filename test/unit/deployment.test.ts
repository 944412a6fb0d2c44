/** compose.yaml and the container images agree with the program. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { settings, type Setting } from '../../src/start/settings.ts';

const compose = readFileSync('compose.yaml', 'utf8');

/** Returns the first group of every match. */
function found(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, name = '']) => name);
}

test('compose.yaml publishes on this machine only, sets supported variables, and contains no password', () => {
  const ports = found(compose, /^ +- (\S+:3000)$/gm);
  assert.deepEqual(ports, ['127.0.0.1:${PORT:-3000}:3000']);
  const [, environment = ''] = /^ {2}environment:\n([\s\S]*?)^ {2}\w/m.exec(compose) ?? [];
  const names = found(environment, /^ {4}([A-Z_]+):/gm);
  assert.ok(names.includes('DATABASE_URL_FILE') && names.includes('KEYS_FILE'));
  const rows = Object.values<Readonly<Record<string, Setting<unknown>>>>(settings).flatMap((group) =>
    Object.values(group),
  );
  const known = new Set(rows.flatMap(({ variable }) => [variable, `${variable}_FILE`]));
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
    'the service does not read these',
  );
  assert.doesNotMatch(compose, /PASSWORD:|postgres:\/\//);
  assert.match(compose, /^ +image: postgres:\d+$/m);
});

test('both container images check the health of the service with its own command, equally often', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const [, options = '', command = ''] = /^HEALTHCHECK (.*?) CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  const [, serve = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  assert.deepEqual(JSON.parse(serve), ['node', 'bin/largesse.js', 'serve']);
  assert.deepEqual(JSON.parse(command), ['node', 'bin/largesse.js', 'health']);
  const build = readFileSync('packaging/container/build', 'utf8');
  assert.match(build, /--healthcheck 'CMD \/usr\/bin\/largesse health'/);
  const built = Array.from(
    build.matchAll(/--healthcheck-([a-z-]+) (\w+)/g),
    ([, name, value]) => `${name}=${value}`,
  );
  const listed = found(options, /--(\S+)/g);
  assert.deepEqual(listed.toSorted(), built.toSorted());
});
