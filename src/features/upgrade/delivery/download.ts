/** Reads the signed list of versions and its files, over https only, within limits of size and time. */

import { listBytesMax, readReleaseList, ReleaseListError, type ReleaseList } from '../platform/list.ts';

export type ReleaseSource = {
  /** The URL of the signed list. */
  readonly url: URL;
  readonly key: Uint8Array;
};

const listMaxMs = 30_000;
/** A file of a release is often on another server than its list. */
const redirectsMax = 5;

/** There is no complete response within the limits, or it is not what it should be. The message names the URL. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
}

/**
 * Reads the list. The request has no part that identifies this machine. @param now in ms.
 * @throws DownloadError.
 */
export async function readNewest({ url, key }: ReleaseSource, now: number): Promise<ReleaseList> {
  const parts: Uint8Array[] = [];
  await readBounded(url, { bytesMax: listBytesMax, maxMs: listMaxMs, take: (part) => void parts.push(part) });
  try {
    return readReleaseList(Buffer.concat(parts).toString(), key, now);
  } catch (error) {
    if (error instanceof ReleaseListError) throw new DownloadError(error.message, { cause: error });
    throw error;
  }
}

type Reading = {
  readonly bytesMax: number;
  readonly maxMs: number;
  readonly take: (part: Uint8Array) => void | Promise<void>;
};

/** @throws DownloadError if there is no complete response within the limits. */
export async function readBounded(url: URL, { bytesMax, maxMs, take }: Reading): Promise<void> {
  const failed = failureAt(url);
  const response = await request(url, AbortSignal.timeout(maxMs));
  if (!response.ok || !response.body) throw failed(`status ${response.status}`);
  let left = bytesMax;
  try {
    for await (const part of response.body as AsyncIterable<Uint8Array>) {
      left -= part.length;
      if (left < 0) throw failed(`the response has more than ${bytesMax} bytes`);
      await take(part);
    }
  } catch (error) {
    if (error instanceof DownloadError) throw error;
    throw failed('the connection was lost', error);
  }
}

function failureAt({ origin, pathname }: URL): (reason: string, cause?: unknown) => DownloadError {
  return (reason, cause) => new DownloadError(`${origin}${pathname}: ${reason}`, { cause });
}

/** Follows redirects of a server to https only. */
async function request(first: URL, signal: AbortSignal): Promise<Response> {
  let url = first;
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    let response: Response;
    try {
      response = await fetch(url, { signal, redirect: 'manual' });
    } catch (error) {
      const reason =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw failureAt(url)(reason, error);
    }
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, url);
    if (next?.protocol !== 'https:' && next?.protocol !== first.protocol)
      throw failureAt(url)('the redirect does not lead to an https URL');
    url = next;
  }
  throw failureAt(first)(`there are more than ${redirectsMax} redirects`);
}
