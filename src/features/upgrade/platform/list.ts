/**
 * The signed list of the newest version. Its signature (Ed25519) covers the text of the list, with the hash of each file
 * and the time at which the list ends, so that a server that is taken over cannot offer another file, an older version, or
 * forever the same list.
 */

import { verifySignature } from '../../../platform/keys.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** An executable of a platform, such as `linux-x64`. */
export type ReleaseFile = {
  readonly url: string;
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
};

export type ReleaseList = {
  readonly version: string;
  /** Instants in ms. */
  readonly publishedAt: number;
  readonly expiresAt: number;
  readonly files: ReadonlyMap<string, ReleaseFile>;
};

/** A list has a few files of 300 bytes. */
export const listBytesMax = 65_536;
const fileBytesMax = 2 ** 30;

/** Signed before the text, so that a signature for another purpose is not one of a list. */
export const signedPrefix = 'largesse releases v1\n';

/** Parses a public key: 32 bytes in base64. */
export function parseReleaseKey(text: string): Parsed<Uint8Array> {
  const bytes = text.length === 44 ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  const isKey = bytes.length === 32 && bytes.toString('base64') === text;
  return isKey ? accepted(bytes) : rejected('must be 32 bytes in base64');
}

/** The list is not signed with the key, has ended, or does not have the form of one. */
export class ReleaseListError extends Error {
  override readonly name = 'ReleaseListError';
}

/** A clock that is behind by more than this would accept a list that has ended. */
const clockOffsetMaxMs = 24 * 60 * 60 * 1_000;

/** @param document `{"list": "<JSON>", "signature": "<base64>"}`. @param now in ms. @throws ReleaseListError. */
export function readReleaseList(document: string, key: Uint8Array, now: number): ReleaseList {
  const { list, signature } = fieldsOf(parsed(document));
  if (typeof list !== 'string' || typeof signature !== 'string') throw malformed();
  if (!verifySignature(key, `${signedPrefix}${list}`, Buffer.from(signature, 'base64')))
    throw new ReleaseListError('the list of versions is not signed with RELEASES_KEY');
  const found = listOf(fieldsOf(parsed(list)));
  if (now > found.expiresAt)
    throw new ReleaseListError(
      `the list of versions ended on ${new Date(found.expiresAt).toISOString()}: the server has an old one, or the clock of this machine is wrong`,
    );
  if (found.publishedAt > now + clockOffsetMaxMs)
    throw new ReleaseListError('the list of versions is from the future: the clock of this machine is wrong');
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed();
  }
}

function malformed(): ReleaseListError {
  return new ReleaseListError('the response is not a list of versions');
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw malformed();
  return value as Readonly<Record<string, unknown>>;
}

function listOf({ version, published, expires, files }: Readonly<Record<string, unknown>>): ReleaseList {
  if (typeof version !== 'string' || !isVersion(version)) throw malformed();
  const entries = Object.entries(fieldsOf(files)).map(
    ([platform, file]) => [platform, fileOf(fieldsOf(file))] as const,
  );
  return {
    version,
    publishedAt: instantOf(published),
    expiresAt: instantOf(expires),
    files: new Map(entries),
  };
}

function fileOf({ url, bytes, sha256 }: Readonly<Record<string, unknown>>): ReleaseFile {
  if (typeof url !== 'string' || !URL.canParse(url)) throw malformed();
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes <= 0 || bytes > fileBytesMax)
    throw malformed();
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw malformed();
  return { url, bytes, sha256 };
}

function instantOf(value: unknown): number {
  const instant = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(instant)) throw malformed();
  return instant;
}

/** `major.minor.patch`, without the versions before a release. */
export function isVersion(text: string): boolean {
  return /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(text);
}

/** Whether a version is later than the present one. A version before a release is earlier than its release. */
export function isLater(version: string, present: string): boolean {
  const [left, right] = [numbersOf(version), numbersOf(present)];
  for (const [place, number] of left.entries()) {
    const other = right[place] ?? 0;
    if (number !== other) return number > other;
  }
  return present.includes('-');
}

function numbersOf(version: string): readonly number[] {
  return (version.split(/[-+]/, 1)[0] ?? '').split('.').map(Number);
}
