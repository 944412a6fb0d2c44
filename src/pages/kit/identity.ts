/** The identity of the shop on pages and paper: its logo, and the ways to reach it. */

import type { EmailSettings } from '../../core/emails/domain/email.ts';
import type { LogoMark } from '../../core/stores/domain/logo.ts';
import { recipientPath } from '../../core/emails/domain/recipient-page.ts';
import { phoneLink, shownLink, type Identity } from '../../core/stores/domain/identity.ts';
import type { Location } from '../../core/stores/domain/location.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { PageFrame } from './frame.ts';

export type ShownIdentity = Pick<Identity, 'website' | 'phone' | 'hours' | 'terms'> & {
  /** The address that customers write to; null: the store has none. */
  readonly contact: string | null;
};

export function identityOf({
  replyTo,
  address,
  website,
  phone,
  hours,
  terms,
}: Identity & Pick<EmailSettings, 'address'>): ShownIdentity {
  return { contact: replyTo ?? address, website, phone, hours, terms };
}

/** A URL that writes to an address. */
export function writeLink(address: string): string {
  return `mailto:${encodeURIComponent(address).replace('%40', '@')}`;
}

/** The name and the address of a location, as lines. */
export function placeLines({ name, address }: Pick<Location, 'name' | 'address'>): readonly string[] {
  return [name, ...(address ?? '').split('\n')].filter((line) => line.trim() !== '');
}

/** Texts of customers between middle dots, each with its own direction. */
export function dotted(parts: readonly (Markup | string)[]): readonly Markup[] {
  return parts.map((part, index) => markup`${index === 0 ? '' : ' · '}<bdi>${part}</bdi>`);
}

/** The phone number and the website, as links on a screen. */
export function reachLinks({ phone, website }: ShownIdentity): readonly Markup[] {
  return [
    ...(phone === null ? [] : [markup`<a href="${phoneLink(phone)}" dir="ltr">${phone}</a>`]),
    ...(website === null
      ? []
      : [markup`<a href="${website}" rel="noreferrer" dir="ltr">${shownLink(website)}</a>`]),
  ];
}

export function hoursLines({ hours }: Pick<ShownIdentity, 'hours'>): readonly Markup[] {
  return (hours?.split('\n') ?? []).map((line) => markup`<p dir="auto">${line}</p>`);
}

/** The height of a logo on pages in CSS pixels, and the widest one. */
const shownMax = { width: 160, height: 40 } as const;

/** The uploaded logo, before the name of the shop; undefined: it has none. */
export function shopLogo(
  { basePath }: Pick<PageFrame, 'basePath'>,
  { domain }: Pick<Store, 'domain'>,
  logo: LogoMark | null,
): Markup | undefined {
  if (!logo) return undefined;
  const scale = Math.min(1, shownMax.width / logo.width, shownMax.height / logo.height);
  const side = (pixels: number): number => Math.max(1, Math.round(pixels * scale));
  const source = logo.source ?? `${basePath}${recipientPath(domain)}/logo?v=${String(logo.version)}`;
  return markup`<img class="shop-logo" src="${source}" width="${side(logo.width)}" height="${side(logo.height)}" alt="">`;
}
