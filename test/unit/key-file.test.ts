import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom, type Random } from '../../src/platform/random.ts';
import { isExposed, KeyFileError, makeKeyFile, readKeyFile } from '../../src/platform/key-file.ts';
import { keysOf } from '../../src/platform/keys.ts';

const random = systemRandom(systemClock);

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-keys-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a new key file contains one random key, only its owner can read it, and it can be read back', (t) => {
  const path = join(folderOf(t), 'keys.json');
  const generated: Uint8Array[] = [];
  const observed: Random = {
    ...random,
    bytes(length) {
      const bytes = random.bytes(length);
      generated.push(bytes);
      return bytes;
    },
  };
  makeKeyFile(path, observed);
  const [key, ...others] = readKeyFile(path) ?? [];
  assert.ok(key);
  assert.equal(others.length, 0);
  assert.deepEqual(
    generated.map(({ length }) => length),
    [4, 32],
  );
  assert.equal(key.id, Buffer.from(generated[0] ?? []).toString('hex'));
  assert.deepEqual(Buffer.from(key.secret), generated[1]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(isExposed(path), false);
  keysOf([key]);
  assert.match(readFileSync(path, 'utf8'), /\n$/);
});

test('the folder of a new key file is created, for its owner only', (t) => {
  const folder = join(folderOf(t), 'a', 'b');
  makeKeyFile(join(folder, 'keys.json'), random);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(folder), ['keys.json']);
});

test('an existing key file is not changed, and no temporary file remains', (t) => {
  const folder = folderOf(t);
  const path = join(folder, 'keys.json');
  makeKeyFile(path, random);
  const before = readFileSync(path, 'utf8');
  makeKeyFile(path, random);
  assert.equal(readFileSync(path, 'utf8'), before);
  assert.deepEqual(readdirSync(folder), ['keys.json']);
});

test('a key file that cannot be created is an error, and no temporary file remains', (t) => {
  const folder = folderOf(t);
  writeFileSync(join(folder, 'file'), '');
  assert.throws(() => makeKeyFile(join(folder, 'file', 'keys.json'), random));
  assert.deepEqual(readdirSync(folder), ['file']);
});

test('without a file there are no keys', (t) => {
  assert.equal(readKeyFile(join(folderOf(t), 'keys.json')), undefined);
});

test('an unreadable file is an error, not an absent file', (t) => {
  const path = join(folderOf(t), 'keys.json');
  mkdirSync(path);
  assert.throws(() => readKeyFile(path), KeyFileError);
});

const secret = (fill: number): string => Buffer.alloc(32, fill).toString('base64');

test('several keys are read in order, with the current one first', (t) => {
  const path = join(folderOf(t), 'keys.json');
  writeFileSync(path, JSON.stringify({ keys: [{ id: 'new', secret: secret(2) }, { id: 'old', secret: secret(1), since: 2025 }] })); // prettier-ignore
  const keys = readKeyFile(path) ?? [];
  assert.deepEqual(
    keys.map(({ id, secret: bytes }) => [id, Buffer.from(bytes)]),
    [
      ['new', Buffer.alloc(32, 2)],
      ['old', Buffer.alloc(32, 1)],
    ],
  );
});

test('a file without keys, or with an invalid one among valid ones, is rejected', async (t) => {
  const path = join(folderOf(t), 'keys.json');
  const good = { id: 'a', secret: secret(1) };
  const contents: Readonly<Record<string, string>> = {
    nothing: '',
    'not JSON': '{"keys": [',
    null: 'null',
    'a number': '5',
    'a list': JSON.stringify([good]),
    'not a list of keys': '{}',
    'an object of keys': JSON.stringify({ keys: { 0: good, length: 1 } }),
    'an empty list': JSON.stringify({ keys: [] }),
    'a null': JSON.stringify({ keys: [good, null] }),
    'a string': JSON.stringify({ keys: [secret(1)] }),
    'a key without id': JSON.stringify({ keys: [good, { secret: secret(2) }] }),
    'a key without secret': JSON.stringify({ keys: [{ id: 'b' }, good] }),
    'an id that is a number': JSON.stringify({ keys: [{ id: 5, secret: secret(2) }] }),
    'a secret that is a list': JSON.stringify({ keys: [{ id: 'a', secret: [1, 2] }] }),
    'a secret of 31 bytes': JSON.stringify({
      keys: [{ id: 'a', secret: Buffer.alloc(31).toString('base64') }],
    }),
    'a secret of 33 bytes': JSON.stringify({
      keys: [{ id: 'a', secret: Buffer.alloc(33).toString('base64') }],
    }),
    'an empty secret': JSON.stringify({ keys: [{ id: 'a', secret: '' }] }),
  };
  for (const [name, content] of Object.entries(contents)) {
    await t.test(name, () => {
      writeFileSync(path, content);
      assert.throws(() => readKeyFile(path), KeyFileError);
    });
  }
});

test('the error of a key file contains its path and never a secret', (t) => {
  const path = join(folderOf(t), 'keys.json');
  writeFileSync(path, JSON.stringify({ keys: [{ id: 'a', secret: secret(7) }, {}] }));
  assert.throws(
    () => readKeyFile(path),
    (error) => {
      assert.ok(error instanceof KeyFileError);
      assert.ok(error.message.includes(path));
      assert.ok(!error.message.includes(secret(7)));
      return true;
    },
  );
});

test('a key file is exposed if any user except its owner has any permission on it', (t) => {
  const path = join(folderOf(t), 'keys.json');
  writeFileSync(path, '');
  for (const mode of [0o600, 0o400, 0o700]) {
    chmodSync(path, mode);
    assert.equal(isExposed(path), false, mode.toString(8));
  }
  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644]) {
    chmodSync(path, mode);
    assert.equal(isExposed(path), true, mode.toString(8));
  }
});
