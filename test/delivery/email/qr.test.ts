import assert from 'node:assert/strict';
import test from 'node:test';
import { inflateSync } from 'node:zlib';
import jsQr from 'jsqr';
import { qrImage } from '../../../src/features/emails/delivery/qr.ts';
import { qrModules } from '../../../src/core/cards/domain/symbol.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { code } from './samples.ts';

/** The pixels of a PNG with one grey bit each, for the decoder. */
function pixelsOf(png: Uint8Array): { readonly data: Uint8ClampedArray; readonly size: number } {
  const file = Buffer.from(png);
  const size = file.readUInt32BE(16);
  const idat = file.indexOf('IDAT');
  const lines = inflateSync(file.subarray(idat + 4, idat + 4 + file.readUInt32BE(idat - 4)));
  const stride = 1 + Math.ceil(size / 8);
  const data = new Uint8ClampedArray(size * size * 4);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const grey = (lines.readUInt8(y * stride + 1 + (x >> 3)) & (0x80 >> (x & 7))) === 0 ? 0 : 255;
      data.set([grey, grey, grey, 255], (y * size + x) * 4);
    }
  }
  return { data, size };
}

test('a decoder reads the code from the QR code, and the link if the page is known', () => {
  const codes = [
    code,
    ...['abcd1234', '12345678', 'zzzzzzzzzzzzzzzzzzzz', '0000000000000000'].map((text) => new Secret(text)),
  ];
  for (const each of codes) {
    const { data, size } = pixelsOf(qrImage(each, null).png);
    assert.equal(jsQr.default(data, size, size)?.data, each.reveal().toUpperCase());
    const page = 'https://cards.example/b/flowers.example';
    const linked = pixelsOf(qrImage(each, page).png);
    assert.equal(
      jsQr.default(linked.data, linked.size, linked.size)?.data,
      `${page}/card#${each.reveal().toUpperCase()}`,
    );
    const modules = qrModules(each, null);
    assert.ok(
      modules.slice(0, 4).every((row) => row.every((dark) => !dark)),
      'it has a margin of four modules',
    );
  }
});
