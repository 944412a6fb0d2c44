/**
 * The MIME message of an email: a rendered email with its addresses and headers, for nodemailer.
 *
 * Addresses are validated here and passed on as single values, for the envelope and the headers. No address becomes
 * part of a header's text, where `a@b.c\r\nBcc: x@y` would add a header.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { MailComposerOptions } from 'nodemailer/lib/mail-composer';
import { parseEmail, parseSenderAddress } from '../../../core/domain/email-address.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { cleanLine } from './clean.ts';
import type { RenderedEmail } from './render.ts';

export type Email = {
  /** `<…@domain>`, the same in every attempt, so that receivers recognize duplicates. */
  readonly messageId: string;
  /** Whole ms since 1970 UTC, the same in every attempt. */
  readonly date: number;
  readonly from: { readonly name: string; readonly address: string };
  readonly to: string;
  readonly replyTo: string | null;
  /** More of its headers; absent: none. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly content: Omit<RenderedEmail, 'kind'> & { readonly kind: EmailKind | 'notice' };
};

export type EmailAddresses = { readonly from: string; readonly to: string; readonly replyTo: string | null };

/** Characters of a name in a header and of a subject; clients show far fewer. */
const nameLengthMax = 120;
const subjectLengthMax = 250;

const messageIdForm = /^<[A-Za-z0-9._-]{1,128}@(?=.{1,253}>$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?>$/;

/** The Message-ID of a delivery. @param delivery the id of its row. @param domain the store's. */
export function messageIdOf(delivery: number | string, domain: string): string {
  const id = `<${delivery}@${domain.toLowerCase()}>`;
  assert.match(
    id,
    messageIdForm,
    'a Message-ID has an id of letters, digits, dots and hyphens, and a host name',
  );
  return id;
}

/** The validated addresses of an email, or the error of the first invalid one. */
export function addressesOf(email: Pick<Email, 'from' | 'to' | 'replyTo'>): Parsed<EmailAddresses> {
  const from = parseSenderAddress(email.from.address);
  if (!from.ok) return rejected(`the sender's address ${from.error}`);
  const replyTo = email.replyTo === null ? null : parseSenderAddress(email.replyTo);
  if (replyTo && !replyTo.ok) return rejected(`the address for replies ${replyTo.error}`);
  const to = parseEmail(email.to);
  if (!to.ok) return rejected(`the recipient's address ${to.error}`);
  return accepted({ from: from.value, to: to.value.address, replyTo: replyTo?.value ?? null });
}

/**
 * The message for nodemailer. Equal emails become equal bytes.
 * @throws AssertionError if the Message-ID does not have the form of `messageIdOf`.
 */
export function compositionOf(email: Email, { from, to, replyTo }: EmailAddresses): MailComposerOptions {
  assert.match(email.messageId, messageIdForm, 'a Message-ID must have the form <id@domain>');
  const { subject, text, html, images, locale, unsubscribeUrl } = email.content;
  return {
    messageId: email.messageId,
    date: new Date(email.date),
    from: { name: headerText(email.from.name, nameLengthMax), address: from },
    to: { name: '', address: to },
    ...(replyTo === null ? {} : { replyTo: { name: '', address: replyTo } }),
    subject: headerText(subject, subjectLengthMax),
    text,
    html,
    attachments: images.map(({ cid, filename, contentType, content }) => ({
      cid,
      filename,
      contentType,
      content: Buffer.from(content),
      contentDisposition: 'inline',
    })),
    headers: {
      // RFC 3834, and for Exchange: no automatic replies to the store.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'Content-Language': locale,
      ...email.headers,
      ...(unsubscribeUrl === null ? {} : { 'List-Unsubscribe': `<${headerUrl(unsubscribeUrl)}>` }),
    },
    baseBoundary: createHash('sha256').update(email.messageId).digest('hex').slice(0, 32),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The bytes of the message. @throws RangeError if an address is invalid. */
export async function toEml(email: Email): Promise<Uint8Array> {
  const addresses = addressesOf(email);
  if (!addresses.ok) throw new RangeError(addresses.error);
  const composition = { ...compositionOf(email, addresses.value), newline: '\r\n' };
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  return new MailComposer(composition).compile().build();
}

/** A text for a header: one clean line, truncated between characters. */
function headerText(text: string, lengthMax: number): string {
  const characters = Array.from(cleanLine(text));
  return characters.length <= lengthMax
    ? characters.join('')
    : `${characters.slice(0, lengthMax - 1).join('')}…`;
}

/** A link for a header: normalized by the URL parser to ASCII without brackets and spaces. */
function headerUrl(url: string): string {
  const { href } = new URL(url);
  assert.match(href, /^[!-;=?-~]+$/, 'a link in a header must be plain ASCII');
  return href;
}
