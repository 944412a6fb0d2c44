/**
 * The drawing of a design as an inline PNG image, because mail clients show no SVG: the part of the drawing next to the calm
 * side. Its left edge is the ground of the design, and continues the cell with the text.
 *
 * The files have a palette, eight bits per pixel and no filters, so that one can be mirrored for right-to-left languages by
 * reversing each of its lines.
 */

import assert from 'node:assert/strict';
import { deflateSync, inflateSync } from 'node:zlib';
import type { PicturedDesign } from '../../../core/cards/domain/design.ts';
import { readProgramFile } from '../../../platform/program-files.ts';
import { pngChunk } from './qr.ts';

const made = new Map<string, Uint8Array>();

/** @param isMirrored whether lines begin on the right. */
export function drawingImage(design: PicturedDesign, isMirrored: boolean): Uint8Array {
  const key = `${design} ${String(isMirrored)}`;
  const known = made.get(key);
  if (known) return known;
  const file = readProgramFile(`features/emails/delivery/designs/${design.replace('_', '-')}.png`);
  const image = isMirrored ? mirrored(file) : file;
  made.set(key, image);
  return image;
}

/** The file with the pixels of each line in reverse. @throws AssertionError if it is not of the form above. */
function mirrored(file: Buffer): Uint8Array {
  const [width, depth, kind] = [file.readUInt32BE(16), file.readUInt8(24), file.readUInt8(25)];
  assert.deepEqual([depth, kind, file.readUInt8(28)], [8, 3, 0], 'a drawing has a palette of eight bits');
  const parts: Uint8Array[] = [file.subarray(0, 8)];
  const data: Uint8Array[] = [];
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const end = at + 12 + length;
    if (type === 'IDAT') data.push(file.subarray(at + 8, at + 8 + length));
    else parts.push(file.subarray(at, end));
    at = end;
  }
  const pixels = inflateSync(Buffer.concat(data));
  for (let at = 0; at < pixels.length; at += width + 1) {
    assert.equal(pixels.readUInt8(at), 0, 'a drawing has no filters');
    pixels.subarray(at + 1, at + 1 + width).reverse();
  }
  parts.splice(-1, 0, pngChunk('IDAT', deflateSync(pixels)));
  return Buffer.concat(parts);
}
