/** The stored part of a response: short, and safe in any output. */

import type { IncomingHttpHeaders } from 'node:http';

/** The maximum of stored bytes of a body, before and after sanitizing. */
export const excerptBytesMax = 4_096;
const headerLengthMax = 256;

const keptHeaders = ['content-type', 'location', 'retry-after', 'server'] as const;

export type ResponseHeaders = Readonly<Partial<Record<(typeof keptHeaders)[number], string>>>;

/** Control characters except newline and tab, and characters that change the direction of text. */
const unsafe = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function removeControls(text: string): string {
  return text.replaceAll(unsafe, '\ufffd');
}

/** The first bytes as UTF-8 text of at most `excerptBytesMax` bytes, without a truncated last character. */
export function excerptOf(bytes: Uint8Array): string {
  const text = decodeCut(bytes).replaceAll('\r\n', '\n');
  // The replacement character is longer than a replaced byte.
  return decodeCut(Buffer.from(removeControls(text)));
}

function decodeCut(bytes: Uint8Array): string {
  const isCut = bytes.length > excerptBytesMax;
  return new TextDecoder().decode(bytes.subarray(0, excerptBytesMax), { stream: isCut });
}

/** The useful headers, each truncated to 256 characters. */
export function keptHeadersOf(headers: IncomingHttpHeaders): ResponseHeaders {
  const kept: Partial<Record<(typeof keptHeaders)[number], string>> = {};
  for (const name of keptHeaders) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = removeControls(value.slice(0, headerLengthMax));
  }
  return kept;
}
