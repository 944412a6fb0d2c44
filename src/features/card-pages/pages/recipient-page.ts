/** The page of recipients, as codes on screens and paper name it. */

import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import { previewLink, recipientPageUrl } from '../../../core/emails/domain/recipient-page.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';

export type CardPageLinks = {
  /** The URL in QR codes; null: it is not known, so they contain the plain code. */
  readonly url: string | null;
  /** The address that people type to see their card: the store's own page, or that of the service; null: neither is known. */
  readonly address: string | null;
};

/** The URL in QR codes; null: the service does not know its own address. */
export function qrPageOf(
  { pagesUrl }: Pick<ConsoleServices, 'pagesUrl'>,
  { domain }: Pick<Store, 'domain'>,
): string | null {
  return pagesUrl === null ? null : recipientPageUrl(pagesUrl, domain);
}

export function cardPageOf(
  services: Pick<ConsoleServices, 'pagesUrl'>,
  store: Pick<Store, 'domain'>,
  { pageUrl }: Pick<EmailSettings, 'pageUrl'>,
): CardPageLinks {
  const shown = previewLink(pageUrl, { pagesUrl: services.pagesUrl, domain: store.domain });
  return {
    url: qrPageOf(services, store),
    address: shown === null ? null : shown.replace(/^https?:\/\//, ''),
  };
}
