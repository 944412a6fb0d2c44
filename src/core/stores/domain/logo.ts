/** The logo of a store: a small PNG or JPEG image. Its header is read before anything else uses it. */

export type Logo = {
  readonly type: 'image/png' | 'image/jpeg';
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  readonly content: Uint8Array;
};

/** A logo without its content. */
export type LogoMark = Pick<Logo, 'width' | 'height'> & {
  /** When it was uploaded (ms): another logo has another one. */
  readonly version: number;
  /** The image itself as a `data:` URL, for a preview; absent: pages request it. */
  readonly source?: string;
};

export const logoBytesMax = 100_000;

/** The longest side in pixels. */
export const logoSideMax = 2_000;

/** `size`: too many bytes. `type`: neither a PNG nor a JPEG image. `pixels`: a side is too long. */
export type LogoProblem = 'size' | 'type' | 'pixels';

type ReadLogo =
  { readonly ok: true; readonly logo: Logo } | { readonly ok: false; readonly problem: LogoProblem };

export function readLogo(content: Uint8Array): ReadLogo {
  if (content.length > logoBytesMax) return { ok: false, problem: 'size' };
  const header = pngHeader(content) ?? jpegHeader(content);
  if (!header || header.width === 0 || header.height === 0) return { ok: false, problem: 'type' };
  if (header.width > logoSideMax || header.height > logoSideMax) return { ok: false, problem: 'pixels' };
  return { ok: true, logo: { ...header, content } };
}

type Header = Omit<Logo, 'content'>;

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
const pngEnd = [0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82];

function viewOf(content: Uint8Array): DataView {
  return new DataView(content.buffer, content.byteOffset, content.byteLength);
}

function hasBytes(content: Uint8Array, at: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, index) => content[at + index] === byte);
}

/** The header of a complete PNG image (https://www.w3.org/TR/png-3/#11IHDR). */
function pngHeader(content: Uint8Array): Header | undefined {
  if (content.length < pngStart.length + 8 + pngEnd.length || !hasBytes(content, 0, pngStart))
    return undefined;
  if (!hasBytes(content, content.length - pngEnd.length, pngEnd)) return undefined;
  const view = viewOf(content);
  return { type: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
}

/** Frames with a size; 0xC4, 0xC8 and 0xCC are other segments (ITU-T T.81, table B.1). */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

/** The header of a complete JPEG image: the segments up to the frame (ITU-T T.81, B.2.2). */
function jpegHeader(content: Uint8Array): Header | undefined {
  if (!hasBytes(content, 0, [0xff, 0xd8]) || !hasBytes(content, content.length - 2, [0xff, 0xd9]))
    return undefined;
  const view = viewOf(content);
  let at = 2;
  while (at + 9 <= content.length) {
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff) return undefined;
    if (isFrame(marker))
      return { type: 'image/jpeg', height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    // Each segment has a length of at least two, so the loop ends. Fill bytes come before a marker.
    const length = marker === 0xff ? -1 : view.getUint16(at + 2);
    if (length >= 0 && length < 2) return undefined;
    at += 2 + length;
  }
  return undefined;
}
