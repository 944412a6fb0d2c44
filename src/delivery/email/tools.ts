/** What pages need to set up a store's emails: parsers of settings, emails with sample data, and a test email. */

import type { Context } from '../../context.ts';
import type { EmailKind, EmailSettings } from '../../domain/email.ts';
import { previewLink } from '../../domain/recipient-page.ts';
import type { Store } from '../../domain/store.ts';
import { legibilityOn, parseColour, type Legibility } from './colour.ts';
import { localeOfParts, localePartsOf } from './language.ts';
import { messageIdOf, type Email } from './message.ts';
import type { EmailOutcome } from './outcome.ts';
import { browserHtml, sampleEmail } from './preview.ts';
import { parseLogoUrl, parsePageUrl, senderOf } from './sender.ts';
import { developmentSender, type EmailTransport } from './transport.ts';

type Place = { readonly store: Store; readonly settings: EmailSettings };

type Tools = {
  readonly parseLogo: typeof parseLogoUrl;
  readonly parseColor: typeof parseColour;
  readonly parsePage: typeof parsePageUrl;
  readonly localePartsOf: typeof localePartsOf;
  readonly localeOfParts: typeof localeOfParts;
  /** @param color null: the default. */
  readonly legibilityOf: (color: string | null) => Legibility;
  /** An email with sample data as the settings make it, for a browser. */
  readonly preview: (
    kind: EmailKind,
    place: Place,
  ) => Pick<Email, 'from' | 'replyTo'> & { readonly subject: string; readonly html: string };
  /** Sends an email with sample data. Null: the service cannot send emails. */
  readonly sendTest: ((to: string, place: Place) => Promise<EmailOutcome>) | null;
};

/** The longest wait for the response of the mail server to a test email, in which a person waits for the page. */
const testMaxMs = 20_000;

type Setup = {
  /** Null: the service cannot send emails. */
  readonly transport: EmailTransport | null;
  /** The base of links to the service's own pages; null: emails do not link to them. */
  readonly pagesUrl: string | null;
};

function sampleOf({ transport, pagesUrl }: Setup, kind: EmailKind, { store, settings }: Place): Email {
  const { currency, domain } = store;
  const sender = senderOf(store, settings, transport?.from ?? developmentSender);
  return sampleEmail(kind, sender, {
    currency,
    domain,
    pageUrl: previewLink(settings.pageUrl, { pagesUrl, domain }),
  });
}

export function emailToolsOf(ctx: Context, setup: Setup): Tools {
  const { transport } = setup;
  return {
    parseLogo: parseLogoUrl,
    parseColor: parseColour,
    parsePage: parsePageUrl,
    localePartsOf,
    localeOfParts,
    legibilityOf(color) {
      const parsed = parseColour(color);
      return legibilityOn(parsed.ok ? parsed.value : null);
    },
    preview(kind, place) {
      const { from, replyTo, content } = sampleOf(setup, kind, place);
      return { from, replyTo, subject: content.subject, html: browserHtml(content) };
    },
    sendTest:
      transport &&
      (async (to, place) => {
        const id = ctx.random.id();
        const sendAt = ctx.clock.now();
        const messageId = messageIdOf(`test.${id}`, place.store.domain);
        const email = { ...sampleOf(setup, 'gift_card', place), messageId, date: sendAt, to };
        return await transport.send(email, { name: `test-${id}`, sendAt }, AbortSignal.timeout(testMaxMs));
      }),
  };
}
