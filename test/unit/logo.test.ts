/** Logos: which files are accepted, by their headers. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { blankImage, qrImage } from '../../src/features/emails/delivery/qr.ts';
import { logoBytesMax, readLogo } from '../../src/core/stores/domain/logo.ts';
import { Secret } from '../../src/platform/secret.ts';

const png = Buffer.from(qrImage(new Secret('qyw7j8tjrj3pvkhh'), null).png);

function pngWith(width: number, height: number): Uint8Array {
  const image = Buffer.from(png);
  image.writeUInt32BE(width, 16);
  image.writeUInt32BE(height, 20);
  return image;
}

/** The segments of a JPEG image up to its frame, and its end. @param before segments and fill bytes. */
function jpegWith(width: number, height: number, before: readonly number[] = []): Uint8Array {
  const sides = Buffer.alloc(4);
  sides.writeUInt16BE(height, 0);
  sides.writeUInt16BE(width, 2);
  const frame = [0xff, 0xc2, 0, 17, 8, ...sides, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
  return Uint8Array.from([0xff, 0xd8, ...before, ...frame, 0xff, 0xd9]);
}

const problemOf = (content: Uint8Array): string => {
  const read = readLogo(content);
  return read.ok ? 'none' : read.problem;
};

test('a PNG and a JPEG image are read with their type and size', () => {
  const read = readLogo(pngWith(320, 80));
  assert.ok(read.ok);
  assert.deepEqual([read.logo.type, read.logo.width, read.logo.height], ['image/png', 320, 80]);
  assert.equal(problemOf(blankImage()), 'none');
  // JFIF and a table of codes before the frame, and a fill byte.
  const segments = [0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9, 0xff];
  for (const before of [[], segments]) {
    const jpeg = readLogo(jpegWith(640, 200, before));
    assert.ok(jpeg.ok);
    assert.deepEqual([jpeg.logo.type, jpeg.logo.width, jpeg.logo.height], ['image/jpeg', 640, 200]);
  }
  // A view into other bytes.
  const padded = Buffer.concat([Buffer.alloc(7, 1), pngWith(3, 2), Buffer.alloc(5, 1)]);
  assert.equal(problemOf(padded.subarray(7, -5)), 'none');
});

test('other files, truncated images and images that are too large are rejected', () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>');
  const gif = Buffer.from('GIF89a\u0001\u0000\u0001\u0000', 'latin1');
  for (const other of [new Uint8Array(), svg, gif, png.subarray(0, 40), png.subarray(0, -1), png.subarray(1)])
    assert.equal(problemOf(other), 'type');
  const jpeg = jpegWith(9, 9);
  for (let length = 0; length < jpeg.length; length += 1)
    assert.equal(problemOf(jpeg.subarray(0, length)), 'type');
  for (const before of [
    [0xff, 0xe0, 0, 0],
    [0xff, 0xe0, 0, 1],
    [0xff, 0xe0, 0xff, 0xff],
    [0, 0],
  ])
    assert.equal(problemOf(jpegWith(9, 9, before)), 'type', before.join());
  assert.equal(problemOf(jpegWith(0, 9)), 'type');
  assert.equal(problemOf(pngWith(9, 0)), 'type');
  for (const large of [pngWith(2_001, 9), pngWith(9, 4_000_000_000), jpegWith(9, 2_001)])
    assert.equal(problemOf(large), 'pixels');
  assert.equal(problemOf(Buffer.concat([png, Buffer.alloc(logoBytesMax)])), 'size');
  // Fill bytes only: one pass.
  assert.equal(
    problemOf(Buffer.concat([Buffer.of(0xff, 0xd8), Buffer.alloc(99_000, 0xff), Buffer.of(0xff, 0xd9)])),
    'type',
  );
});
