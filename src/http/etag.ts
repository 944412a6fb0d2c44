/** Entity tags: the version of a gift card or webhook as HTTP's conditional requests (RFC 9110, 13) name it. */

/** What has versions. */
type Versioned = { readonly id: number; readonly version: number };

/** The strong tag of a version. */
export function etagOf({ id, version }: Versioned): string {
  return `"${id}-${version}"`;
}

const listedTag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** The tags that a header lists; `'*'` means any. Weak ones only match where `weak` comparison does. */
function listTags(header: string, { weak }: { readonly weak: boolean }): '*' | readonly string[] {
  if (header.trim() === '*') return '*';
  return [...header.matchAll(listedTag)]
    .filter(([, isWeak]) => weak || isWeak === undefined)
    .map(([, , tag]) => tag ?? '');
}

/** Whether `If-None-Match` says that the client has this as it is. */
export function isKnown(ifNoneMatch: string | undefined, versioned: Versioned): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = listTags(ifNoneMatch, { weak: true });
  return tags === '*' || tags.includes(etagOf(versioned).slice(1, -1));
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
