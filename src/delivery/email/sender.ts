/**
 * How a store's mails look and speak.
 *
 * Terms: the *sender* is the store as its mails show it. What it gives is read here once, and refused
 * where a mail could not carry it.
 */

import { accepted, refused, type Parsed } from '../../domain/parsed.ts';
import type { Colour } from './colour.ts';

export type Sender = {
  /** The store's name, in the From header and in the mail. */
  readonly name: string;
  /** The address in the From header, and where questions go if there is no other. */
  readonly address: string;
  /** Where questions and replies go; null: to the sender's address. */
  readonly replyTo: string | null;
  /** An image, https only; null: the name instead. */
  readonly logoUrl: string | null;
  /** The colour of the card and the button; null: the default one. */
  readonly colour: Colour | null;
  /** A BCP 47 tag such as `de` or `pt-BR`: the language of the texts, and how amounts and dates are written. */
  readonly locale: string;
};

/** Characters of a link in a mail. */
const urlLengthMax = 2_000;

/** Reads the address of a logo: https only, because mail clients warn of others, and without a password in it. */
export function parseLogoUrl(value: unknown): Parsed<string> {
  const url = urlOf(value);
  return url?.protocol === 'https:' ? accepted(url.href) : refused('must be an https address');
}

/** Reads the page that mails lead to. */
export function parsePageUrl(value: unknown): Parsed<string> {
  return typeof value === 'string' && isLink(value)
    ? accepted(new URL(value).href)
    : refused('must be an https address');
}

/** Whether a link may stand in a mail: https, and in development http to this machine. */
export function isLink(value: string): boolean {
  const url = urlOf(value);
  if (url?.protocol === 'https:') return true;
  return url?.protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
}

function urlOf(value: unknown): URL | null {
  if (typeof value !== 'string' || value.length > urlLengthMax) return null;
  const url = URL.parse(value);
  return url?.username === '' && url.password === '' ? url : null;
}
