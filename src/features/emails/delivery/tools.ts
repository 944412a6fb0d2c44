/** The tools with which pages set up a store's emails: parsers of settings, emails with sample data, and a test email. */

import type { Context } from '../../../core/storage/context.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import { previewLink } from '../../../core/emails/domain/recipient-page.ts';
import type { WalletKind } from '../../wallets/domain/wallet.ts';
import { legibilityOn, parseColour, type Legibility } from './colour.ts';
import { localeOfParts, localePartsOf } from './language.ts';
import { messageIdOf, type Email } from './message.ts';
import type { EmailOutcome } from './outcome.ts';
import { browserHtml, sampleEmail } from './preview.ts';
import { parsePageUrl, senderOf, type SenderParts } from './sender.ts';
import { developmentSender, type EmailTransport } from './transport.ts';
import { standardTexts } from './wording.ts';

/** The sender of a sample, and the wallets that the store has set up. */
type SampleParts = SenderParts & { readonly wallets: readonly WalletKind[] };

type Tools = {
  readonly parseColor: typeof parseColour;
  readonly parsePage: typeof parsePageUrl;
  readonly localePartsOf: typeof localePartsOf;
  readonly localeOfParts: typeof localeOfParts;
  readonly standardTexts: typeof standardTexts;
  /** @param color null: the default. */
  readonly legibilityOf: (color: string | null) => Legibility;
  /** An email with sample data as the settings make it, for a browser. */
  readonly preview: (
    kind: EmailKind,
    parts: SampleParts,
  ) => Pick<Email, 'from' | 'replyTo'> & { readonly subject: string; readonly html: string };
  /** Sends an email with sample data. Null: the service cannot send emails. */
  readonly sendTest: ((to: string, parts: SampleParts) => Promise<EmailOutcome>) | null;
};

/** The longest wait for the response of the mail server to a test email, in which a person waits for the page. */
const testMaxMs = 20_000;

type Setup = {
  /** Null: the service cannot send emails. */
  readonly transport: EmailTransport | null;
  /** The base of links to the service's own pages; null: emails do not link to them. */
  readonly pagesUrl: string | null;
};

function sampleOf(
  { transport, pagesUrl }: Setup,
  kind: EmailKind,
  { wallets, ...parts }: SampleParts,
): Email {
  const { store, settings } = parts;
  const { currency, domain } = store;
  const sender = senderOf(parts, transport?.from ?? developmentSender);
  const url = previewLink(null, { pagesUrl, domain });
  return sampleEmail(kind, sender, {
    currency,
    domain,
    pageUrl: settings.pageUrl ?? url,
    ...(url !== null && { wallets: { url, kinds: wallets } }),
  });
}

export function emailToolsOf(ctx: Context, setup: Setup): Tools {
  const { transport } = setup;
  return {
    parseColor: parseColour,
    parsePage: parsePageUrl,
    localePartsOf,
    localeOfParts,
    standardTexts,
    legibilityOf(color) {
      const parsed = parseColour(color);
      return legibilityOn(parsed.ok ? parsed.value : null);
    },
    preview(kind, parts) {
      const { from, replyTo, content } = sampleOf(setup, kind, parts);
      return { from, replyTo, subject: content.subject, html: browserHtml(content) };
    },
    sendTest:
      transport &&
      (async (to, parts) => {
        const id = ctx.random.id();
        const sendAt = ctx.clock.now();
        const messageId = messageIdOf(`test.${id}`, parts.store.domain);
        const email = { ...sampleOf(setup, 'gift_card', parts), messageId, date: sendAt, to };
        return await transport.send(email, { name: `test-${id}`, sendAt }, AbortSignal.timeout(testMaxMs));
      }),
  };
}
