/** ETags: the version of a record in conditional requests (RFC 9110, 13). */

import type { Card } from '../core/cards/domain/card.ts';
import { versionTagOf } from '../core/cards/service/version.ts';
import type { PublicIds } from '../platform/public-id.ts';
import type { HttpResponse } from '../core/requests/service/http-response.ts';

type Versioned = { readonly id: number; readonly version: number | string };

/** The strong ETag of a version: a number, or two with a hyphen. */
export function etagOf({ id, version }: Versioned): string {
  return `"${id}-${version}"`;
}

/** The strong ETag of a card's version, with the card's public id. */
export function cardEtagOf(ids: PublicIds, card: Card): string {
  return etagOf({ id: ids.of(card.id), version: versionTagOf(card) });
}

const listedTag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** The tags in a header; `'*'` means any. Weak tags match only in weak comparison. */
function listTags(header: string, { weak }: { readonly weak: boolean }): '*' | readonly string[] {
  if (header.trim() === '*') return '*';
  return [...header.matchAll(listedTag)]
    .filter(([, isWeak]) => weak || isWeak === undefined)
    .map(([, , tag]) => tag ?? '');
}

/** Whether `If-None-Match` lists the current ETag. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = listTags(ifNoneMatch, { weak: true });
  return tags === '*' || tags.includes(etag.slice(1, -1));
}

/** The response to a client that has the current version. */
export function notModifiedResponse(etag: string): HttpResponse {
  return { status: 304, headers: { etag, 'cache-control': 'no-store' }, body: '' };
}

/** The versions that `If-Match` lists for a record; null: any. Tags of other records are ignored. */
export function matchedVersions(ifMatch: string | undefined, ofId: number): readonly string[] | null {
  if (ifMatch === undefined) return null;
  const tags = listTags(ifMatch, { weak: false });
  if (tags === '*') return null;
  return tags.flatMap((tag) => {
    const [, id, version = ''] = /^([1-9]\d*)-((?:\d{1,10}-)?[1-9]\d*)$/.exec(tag) ?? [];
    return Number(id) === ofId ? [version] : [];
  });
}
