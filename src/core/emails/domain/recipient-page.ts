/** The paths of the pages on which recipients see their cards, below the base path of the service. */

import type { Secret } from '../../../platform/secret.ts';

/** The path of the page. @param domain the store's; null: the first store of the service. */
export function recipientPath(domain: string | null): string {
  return domain === null ? '/b' : `/b/${domain}`;
}

/**
 * The URL of the page of a store. The domain is a part of every URL, so that it does not depend on the number of stores.
 * @param base the public URL of the service, without a slash at its end.
 */
export function recipientPageUrl(base: string, domain: string): string {
  return `${base}${recipientPath(domain)}`;
}

/**
 * The link to a card, in its email and its QR code. A browser does not send what follows `#`, so no server logs the code.
 * @param page the URL of the page of the card's store.
 */
export function cardLink(page: string, code: Secret): string {
  return `${page}/card#${code.reveal().toUpperCase()}`;
}

/** The link of an email's preview, which leads nowhere: the store's own page, or that of the service. */
export function previewLink(
  own: string | null,
  { pagesUrl, domain }: { readonly pagesUrl: string | null; readonly domain: string },
): string | null {
  return own ?? (pagesUrl === null ? null : recipientPageUrl(pagesUrl, domain));
}
