/** Writes PNG images (https://www.w3.org/TR/png-3/) of a few colors. */

import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A square image. @param side in pixels. @param colorAt `#rrggbb` of each pixel. */
export function squarePng(side: number, colorAt: (x: number, y: number) => string): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  // 8 bits of red, green and blue.
  header.set([8, 2], 8);
  // Each row begins with its filter: 0, no filter.
  const rows = Buffer.alloc(side * (1 + 3 * side));
  for (let y = 0; y < side; y += 1)
    for (let x = 0; x < side; x += 1)
      rows.write(colorAt(x, y).slice(1), y * (1 + 3 * side) + 1 + 3 * x, 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
