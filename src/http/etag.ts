/** Entity tags: the version of a gift card or webhook as HTTP's conditional requests (RFC 9110, 13) name it. */

import type { Card } from '../domain/card.ts';
import type { PublicIds } from '../domain/public-id.ts';
import type { Answer } from '../service/idempotency.ts';

/** What has versions. */
type Versioned = { readonly id: number; readonly version: number };

/** The strong tag of a version. */
export function etagOf({ id, version }: Versioned): string {
  return `"${id}-${version}"`;
}

/** The strong tag of a card's version, which names the card by its public id. */
export function cardEtagOf(ids: PublicIds, { id, version }: Card): string {
  return etagOf({ id: ids.of(id), version });
}

const listedTag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** The tags that a header lists; `'*'` means any. Weak ones only match where `weak` comparison does. */
function listTags(header: string, { weak }: { readonly weak: boolean }): '*' | readonly string[] {
  if (header.trim() === '*') return '*';
  return [...header.matchAll(listedTag)]
    .filter(([, isWeak]) => weak || isWeak === undefined)
    .map(([, , tag]) => tag ?? '');
}

/** Whether `If-None-Match` lists the tag of what the client asks for. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = listTags(ifNoneMatch, { weak: true });
  return tags === '*' || tags.includes(etag.slice(1, -1));
}

/** The response to a client that has what it asks for. */
export function notModified(etag: string): Answer {
  return { status: 304, headers: { etag, 'cache-control': 'no-store' }, body: '' };
}

/** The versions that `If-Match` would change; null: any. A tag of another card is no version of this one. */
export function matchedVersions(ifMatch: string | undefined, ofId: number): readonly number[] | null {
  if (ifMatch === undefined) return null;
  const tags = listTags(ifMatch, { weak: false });
  if (tags === '*') return null;
  return tags.flatMap((tag) => {
    const [, id, version] = /^([1-9]\d*)-([1-9]\d*)$/.exec(tag) ?? [];
    return Number(id) === ofId ? [Number(version)] : [];
  });
}
