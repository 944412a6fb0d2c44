/** Previews of stored emails, without the code: a code is shown only once, to the person who creates it. */

import { buyerOf } from '../../../core/emails/domain/email.ts';
import type { PreviewedEmail, StoredPreview } from '../domain/preview.ts';
import { previewLink } from '../../../core/emails/domain/recipient-page.ts';
import { Secret } from '../../../platform/secret.ts';
import { contentOf } from './content.ts';
import { browserHtml } from './preview.ts';
import { blankImage } from './qr.ts';
import { qrCid, renderEmail } from './render.ts';
import { senderOf } from './sender.ts';

/** In the place of the code. */
const dots = new Secret('•'.repeat(16));

/** In the place of the service's address, if it sends no emails (RFC 2606). */
const noAddress = 'gift-cards@largesse.example';

/**
 * An email as it would be sent now. The code is dots, and its QR code is left out.
 * @param from the address of stores that have none; null: the service sends no emails.
 * @param pagesUrl the base of links to the service's own pages; null: emails do not link to them.
 * @returns undefined if the card lacks what the email is about, such as the buyer.
 */
export function previewStored(
  { email, card, store, settings, texts, logo, cardSentAt, toppedUp, wallets, place }: PreviewedEmail,
  { from, pagesUrl }: { readonly from: string | null; readonly pagesUrl: string | null },
): StoredPreview | undefined {
  const { kind } = email;
  if (kind === 'expiry_reminder' && card.expiresOn === null) return undefined;
  if (kind === 'delivery_failed' && !buyerOf(card)) return undefined;
  if (kind === 'top_up' && !toppedUp) return undefined;
  const url = previewLink(null, { pagesUrl, domain: store.domain });
  const content = contentOf(email, card, {
    timeZone: store.timeZone,
    place,
    pageUrl: settings.pageUrl ?? url,
    cardPage: null,
    wallets: url === null ? null : { url, kinds: wallets },
    code: kind === 'gift_card' ? dots : null,
    cardSentAt,
    toppedUp,
  });
  const sender = senderOf({ store, settings, texts, logo, place }, from ?? noAddress);
  const { subject, html, images } = renderEmail(content, sender);
  const withoutCode = images.map((image) =>
    image.cid === qrCid ? { ...image, content: blankImage() } : image,
  );
  return { subject, html: browserHtml({ html, images: withoutCode }) };
}
