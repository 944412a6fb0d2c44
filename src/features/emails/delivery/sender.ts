/** The sender of a store's emails: name, addresses, language and appearance. */

import type { CardDesign } from '../../../core/cards/domain/design.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import { textsIn, type EmailText, type EmailTexts } from '../domain/wording.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import { parseLink } from '../../../core/stores/domain/identity.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { localeIn } from '../../../core/stores/domain/region.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { parseColour, type Colour } from './colour.ts';
import { languageOf, localePartsOf } from './language.ts';

export type Sender = {
  /** The name in the From header. */
  readonly name: string;
  /** The name of the shop, in the email. */
  readonly shop: string;
  /** The address in the From header. */
  readonly address: string;
  /** The address for questions and replies; null: the sender's address. */
  readonly replyTo: string | null;
  /** The ways to reach the shop, and its terms; null: not known. */
  readonly website: string | null;
  readonly phone: string | null;
  readonly hours: string | null;
  readonly terms: string | null;
  /** The location of the sale that the email is about; null: none. */
  readonly place: Pick<Location, 'name' | 'address'> | null;
  /** An https image; null: the name. */
  /** The colour of the card and the button; null: the default one. */
  readonly colour: Colour | null;
  /** The design of cards without one of their own. */
  readonly design: CardDesign;
  /** A BCP 47 tag such as `de-AT` or `pt-BR`, with the store's region if the settings have none, for the texts and the format of amounts and dates. */
  readonly locale: string;
  /** An image inside of the email; null: that of the URL. */
  readonly logo: Logo | null;
  /** The store's own texts in the language of the locale. */
  readonly texts: EmailTexts;
};

/** A store, the settings of its emails, its own texts in all languages, and its logo. */
export type SenderParts = {
  readonly store: Store;
  readonly settings: EmailSettings;
  readonly texts: readonly EmailText[];
  readonly logo: Logo | null;
  /** Absent: none. */
  readonly place?: Pick<Location, 'name' | 'address'> | undefined;
};

/** The sender of a store's emails. @param from the address of stores that have none. */
export function senderOf({ store, settings, texts, logo, place }: SenderParts, from: string): Sender {
  const colour = parseColour(settings.colour);
  return {
    name: settings.senderName ?? store.name,
    shop: store.name,
    address: settings.address ?? from,
    replyTo: settings.replyTo,
    website: settings.website,
    phone: settings.phone,
    hours: settings.hours,
    terms: settings.terms,
    place: place ?? null,
    colour: colour.ok ? colour.value : null,
    design: settings.design,
    locale: localeIn(languageOf(settings.locale).locale, store),
    logo,
    texts: textsIn(texts, localePartsOf(settings.locale).language),
  };
}

/** Parses the URL of the page that emails link to: https, and in development http to this machine. */
export function parsePageUrl(value: unknown): Parsed<string> {
  return parseLink(
    value,
    ({ protocol, hostname }) =>
      protocol === 'https:' ||
      (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)),
  );
}

/** Whether an email can contain a link. */
export function isLink(value: string): boolean {
  return parsePageUrl(value).ok;
}
