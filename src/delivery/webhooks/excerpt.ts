/** What is kept of an answer for people to read: short, and harmless wherever it is stored or shown. */

import type { IncomingHttpHeaders } from 'node:http';

/** Bytes of an answer's body that are kept, before and after sanitising. */
export const excerptBytesMax = 4_096;
const headerLengthMax = 256;

const keptHeaders = ['content-type', 'location', 'retry-after', 'server'] as const;

export type AnswerHeaders = Readonly<Partial<Record<(typeof keptHeaders)[number], string>>>;

/** Control characters other than newline and tab, and those that turn the direction of the text around them. */
const unsafe = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function harmless(text: string): string {
  return text.replaceAll(unsafe, '\ufffd');
}

/** The first bytes as UTF-8 text of at most `excerptBytesMax` bytes; a character that the cut has split is left out. */
export function excerptOf(bytes: Uint8Array): string {
  const text = decodeCut(bytes).replaceAll('\r\n', '\n');
  // A replaced character is longer than the byte that it stands for.
  return decodeCut(Buffer.from(harmless(text)));
}

function decodeCut(bytes: Uint8Array): string {
  const isCut = bytes.length > excerptBytesMax;
  return new TextDecoder().decode(bytes.subarray(0, excerptBytesMax), { stream: isCut });
}

/** The headers that are of use later, each cut at 256 characters. */
export function keptHeadersOf(headers: IncomingHttpHeaders): AnswerHeaders {
  const kept: Partial<Record<(typeof keptHeaders)[number], string>> = {};
  for (const name of keptHeaders) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = harmless(value.slice(0, headerLengthMax));
  }
  return kept;
}
