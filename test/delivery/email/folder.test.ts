import assert from 'node:assert/strict';
import { mkdtempDisposableSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import PostalMime from 'postal-mime';
import { emailFolder } from '../../../src/features/emails/delivery/folder.ts';
import { groupedCode, emailWith } from './samples.ts';

const noon = Date.UTC(2026, 0, 15, 12);

test('the folder lists, reads and opens stored emails, newest first', async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), 'largesse-emails-'));
  const folder = emailFolder(join(place.path, 'emails'));
  assert.deepEqual(await folder.list(), []);
  const first = await folder.keep(emailWith(), { id: 17, now: noon });
  const second = await folder.keep(emailWith({ to: 'ada@example.com' }), { id: 16, now: noon + 1 });
  assert.equal(first.name, '20260115T120000000Z-17');
  assert.deepEqual(await folder.list(), [second, first]);
  assert.deepEqual(first, {
    name: '20260115T120000000Z-17',
    kind: 'gift_card',
    to: 'grace@example.com',
    from: 'hello@flowers.example',
    subject: 'Ada sends you €50.00 to spend at Flowers',
    date: Date.UTC(2026, 0, 15, 9, 30),
    messageId: '<244212357349@flowers.example>',
  });
  const read = await folder.read(first.name);
  assert.ok(read);
  assert.ok(read.text.includes(groupedCode));
  assert.match(read.html, /<img src="data:image\/png;base64,/);
  assert.doesNotMatch(read.html, /cid:/);
  const eml = await folder.readEml(first.name);
  assert.ok(eml);
  assert.equal((await PostalMime.parse(eml)).subject, first.subject);
});

test('only the owner can read stored emails, and partial files are removed', async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), 'largesse-emails-'));
  const path = join(place.path, 'emails');
  await emailFolder(path).keep(emailWith(), { id: 17, now: noon });
  assert.equal(statSync(path).mode & 0o777, 0o700);
  const files = readdirSync(path);
  assert.deepEqual(files.toSorted(), ['20260115T120000000Z-17.eml', '20260115T120000000Z-17.json']);
  for (const file of files) assert.equal(statSync(join(path, file)).mode & 0o777, 0o600);
});

test('the folder removes the oldest emails over its limit, including the remains of a crash', async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), 'largesse-emails-'));
  const folder = emailFolder(place.path, { keptMax: 3 });
  writeFileSync(join(place.path, '20250101T000000000Z-1.eml'), 'a message without its index');
  writeFileSync(join(place.path, '20250101T000000000Z-2.eml.new'), 'half a mess');
  writeFileSync(join(place.path, 'notes.txt'), 'not ours');
  for (let id = 1; id <= 5; id += 1) await folder.keep(emailWith(), { id, now: noon + id });
  assert.deepEqual(
    (await folder.list()).map(({ name }) => name.split('-')[1]),
    ['5', '4', '3'],
  );
  assert.equal(readdirSync(place.path).length, 7);
  assert.ok(readdirSync(place.path).includes('notes.txt'));
});

test('the folder stores a repeated delivery once', async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), 'largesse-emails-'));
  const folder = emailFolder(place.path);
  await folder.keep(emailWith(), { id: 17, now: noon });
  await folder.keep(emailWith({ to: 'ada@example.com' }), { id: 17, now: noon });
  assert.deepEqual(
    (await folder.list()).map(({ to }) => to),
    ['ada@example.com'],
  );
});

test('the folder reads emails only, for any name', async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), 'largesse-emails-'));
  const folder = emailFolder(join(place.path, 'emails'));
  await folder.keep(emailWith(), { id: 17, now: noon });
  writeFileSync(join(place.path, 'secret.json'), '{"html":"secret"}');
  for (const name of [
    '../secret',
    '..%2fsecret',
    '20260115T120000000Z-17/../../secret',
    '',
    '20260115T120000000Z-18',
    '20260115T120000000Z-17\n',
  ]) {
    assert.equal(await folder.read(name), undefined, name);
    assert.equal(await folder.readEml(name), undefined, name);
  }
  await assert.rejects(folder.keep(emailWith(), { id: '../x', now: noon }), /the id of a kept email/);
  await assert.rejects(
    folder.keep(emailWith({ to: 'a@b.example\r\nBcc: x@y.example' }), { id: 18, now: noon }),
    RangeError,
  );
  assert.equal((await folder.list()).length, 1);
});
