/** Forms with a file: those that browsers send, and broken ones. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readFileForm } from '../../src/pages/kit/file-form.ts';

async function sent(form: FormData): Promise<{ readonly type: string; readonly bytes: Uint8Array }> {
  const response = new Response(form);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { type: response.headers.get('content-type') ?? '', bytes };
}

test('a form has its fields and the bytes of its file, or no file', async () => {
  const bytes = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 31) % 256);
  const content = Buffer.concat([bytes, Buffer.from('\r\n--x\r\n\r\n--')]);
  const form = new FormData();
  form.set('key', 'Ä & "b"');
  form.set('logo', new Blob([content]), 'l"o\r\ngo.png');
  const { type, bytes: body } = await sent(form);
  const read = readFileForm(type, body);
  assert.deepEqual([...read.form], [['key', 'Ä & "b"']]);
  assert.ok(content.equals(read.file ?? new Uint8Array()));
  assert.equal(read.fileName, 'l"o%0D%0Ago.png');
  assert.deepEqual([...read.files.keys()], ['logo']);
  const head =
    'Content-Disposition: form-data; name="logo"; filename=""\r\nContent-Type: application/octet-stream';
  const empty = Buffer.from(`--y\r\n${head}\r\n\r\n\r\n--y--\r\n`);
  assert.deepEqual(readFileForm('multipart/form-data; boundary=y', empty), {
    form: new Map(),
    file: null,
    fileName: '',
    files: new Map(),
  });
  // A form that ends early, at every byte.
  const small = body.subarray(0, 400);
  for (let length = 0; length < small.length; length += 1)
    assert.throws(() => readFileForm(type, body.subarray(0, length)), { code: 'invalid-body' });
});

test('a form without a boundary, with long headers or too many parts is rejected', () => {
  const head = 'Content-Disposition: form-data; name="a"';
  const part = `--x\r\n${head}\r\n\r\n1\r\n`;
  const accepted = readFileForm('multipart/form-data; boundary=x', Buffer.from(`${part}--x--\r\n`));
  assert.equal(accepted.form.get('a'), '1');
  const cases: readonly (readonly [type: string, body: string])[] = [
    ['multipart/form-data;', part],
    ['multipart/form-data; boundary=y', `${part}--x--`],
    ['multipart/form-data; boundary=x', part],
    ['multipart/form-data; boundary=x', `${part.repeat(20_000)}--x--`],
    ['multipart/form-data; boundary=x', `--x\r\n${head}${' '.repeat(2_000)}\r\n\r\n1\r\n--x--`],
    ['multipart/form-data; boundary=x', '--x\r\n\r\n\r\n1\r\n--x--'],
    ['multipart/form-data; boundary=x', ''],
  ];
  for (const [type, body] of cases)
    assert.throws(() => readFileForm(type, Buffer.from(body)), { code: 'invalid-body' }, body.slice(0, 80));
});
