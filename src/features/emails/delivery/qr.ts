/**
 * The QR code of a gift card's code, as a PNG image.
 *
 * It is an inline image that the HTML refers to by its Content-ID: Gmail, Outlook and Apple Mail show those without
 * asking, while they drop `data:` images and SVG. A table of coloured cells needs no image, but Outlook puts gaps
 * between cells, Gmail truncates emails at 102 KB, and dark modes invert the colours of cells, which scanners cannot
 * read. They do not invert images, so the white margin is part of the image.
 */

import { crc32, deflateSync } from 'node:zlib';
import { qrModules } from '../../../core/cards/domain/symbol.ts';
import type { Secret } from '../../../platform/secret.ts';

/** Pixels per module: sharp on screens with three pixels per point. */
const modulePixels = 12;

export type QrImage = {
  /** PNG, one bit per pixel. */
  readonly png: Uint8Array;
  /** Modules per side, with the margin. */
  readonly modules: number;
};

/** @param page the URL of the store's page of recipients; null: it is not known. */
export function qrImage(code: Secret, page: string | null): QrImage {
  const modules = qrModules(code, page);
  const size = modules.length * modulePixels;
  const rows = modules.flatMap((row) => {
    const scanline = Buffer.alloc(1 + Math.ceil(size / 8));
    for (let x = 0; x < size; x += 1) {
      const isLight = row[Math.floor(x / modulePixels)] !== true;
      if (isLight) scanline.writeUInt8(scanline.readUInt8(1 + (x >> 3)) | (0x80 >> (x & 7)), 1 + (x >> 3));
    }
    return Array.from({ length: modulePixels }, () => scanline);
  });
  return { png: pngOf(Buffer.concat(rows), size), modules: modules.length };
}

/** A white image, in the place of a QR code that is not shown. */
export function blankImage(): Uint8Array {
  return pngOf(Buffer.of(0, 0x80), 1);
}

/** A PNG file of scanlines with one grey bit per pixel (https://www.w3.org/TR/png-3/). */
function pngOf(scanlines: Uint8Array, size: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.writeUInt8(1, 8);
  const signature = Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const chunks = [
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(scanlines)),
    pngChunk('IEND', Buffer.of()),
  ];
  return Buffer.concat([signature, ...chunks]);
}

/** A part of a PNG file, with its length and checksum. */
export function pngChunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  frame.set(body, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}
