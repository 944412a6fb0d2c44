/** Where recipients see their cards, below the base path of the service. */

import type { Secret } from './secret.ts';

/** The path of the page. @param domain the store's; null: the first store of the service. */
export function recipientPath(domain: string | null): string {
  return domain === null ? '/b' : `/b/${domain}`;
}

/**
 * The link in an email. A browser does not send what follows `#`, so no server logs the code. The domain is a part of every
 * link, so that it does not depend on the number of stores.
 * @param base the public URL of the service, without a slash at its end.
 * @param code null: the email does not contain it.
 */
export function recipientLink(
  base: string,
  { domain, code }: { readonly domain: string; readonly code: Secret | null },
): string {
  const page = `${base}${recipientPath(domain)}`;
  return code === null ? page : `${page}/card#${code.reveal().toUpperCase()}`;
}

/** The link of an email's preview, which leads nowhere: the store's own page, or that of the service. */
export function previewLink(
  own: string | null,
  { pagesUrl, domain }: { readonly pagesUrl: string | null; readonly domain: string },
): string | null {
  return own ?? (pagesUrl === null ? null : recipientLink(pagesUrl, { domain, code: null }));
}
