/**
 * Messages: a rendered mail with its addresses and headers, as nodemailer takes it.
 *
 * Addresses are validated here and handed on as values of their own, for the envelope and for the headers:
 * none is ever pasted into a header's text, where `a@b.c\r\nBcc: x@y` would become a header of its own.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer';
import { parseEmail, parseSenderAddress } from '../../domain/email.ts';
import { accepted, refused, type Parsed } from '../../domain/parsed.ts';
import { cleanLine } from './clean.ts';
import type { RenderedMail } from './render.ts';

export type Mail = {
  /** `<…@domain>`, the same on every attempt: receivers fold what they get twice. */
  readonly messageId: string;
  /** Whole ms since 1970 UTC, the same on every attempt. */
  readonly date: number;
  readonly from: { readonly name: string; readonly address: string };
  readonly to: string;
  readonly replyTo: string | null;
  readonly content: RenderedMail;
};

export type MailAddresses = {
  readonly from: string;
  readonly to: string;
  readonly replyTo: string | null;
};

/** Characters of a name in a header, and of a subject: what clients show of them is far shorter. */
const nameLengthMax = 120;
const subjectLengthMax = 250;

const messageIdForm = /^<[A-Za-z0-9._-]{1,128}@(?=.{1,253}>$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?>$/;

/** The Message-ID of a delivery, by the id that its row has, at the domain that sends it. */
export function messageIdOf(delivery: number | string, domain: string): string {
  const id = `<${delivery}@${domain.toLowerCase()}>`;
  assert.match(
    id,
    messageIdForm,
    'a Message-ID has an id of letters, digits, dots and hyphens, and a host name',
  );
  return id;
}

/** The addresses of a mail, as they may go to a server, or which of them may not. */
export function addressesOf(mail: Pick<Mail, 'from' | 'to' | 'replyTo'>): Parsed<MailAddresses> {
  const from = parseSenderAddress(mail.from.address);
  if (!from.ok) return refused(`the sender's address ${from.refusal}`);
  const replyTo = mail.replyTo === null ? null : parseSenderAddress(mail.replyTo);
  if (replyTo && !replyTo.ok) return refused(`the address for replies ${replyTo.refusal}`);
  const to = parseEmail(mail.to);
  if (!to.ok) return refused(`the recipient's address ${to.refusal}`);
  return accepted({ from: from.value, to: to.value.address, replyTo: replyTo?.value ?? null });
}

/**
 * What nodemailer makes the message of. Equal mails become equal bytes.
 * @throws AssertionError if the Message-ID has another form than `messageIdOf` gives it.
 */
export function compositionOf(mail: Mail, { from, to, replyTo }: MailAddresses): MailComposerOptions {
  assert.match(mail.messageId, messageIdForm, 'a Message-ID must have the form <id@domain>');
  const { subject, text, html, images, locale, unsubscribeUrl } = mail.content;
  return {
    messageId: mail.messageId,
    date: new Date(mail.date),
    from: { name: headerText(mail.from.name, nameLengthMax), address: from },
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
      // RFC 3834, and what Exchange heeds: nobody's absence is to be answered to a shop.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'Content-Language': locale,
      ...(unsubscribeUrl === null ? {} : { 'List-Unsubscribe': `<${headerUrl(unsubscribeUrl)}>` }),
    },
    baseBoundary: createHash('sha256').update(mail.messageId).digest('hex').slice(0, 32),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The whole message as bytes, as it would be sent. @throws RangeError if an address is none. */
export async function toEml(mail: Mail): Promise<Uint8Array> {
  const addresses = addressesOf(mail);
  if (!addresses.ok) throw new RangeError(addresses.refusal);
  const composition = { ...compositionOf(mail, addresses.value), newline: '\r\n' };
  return new MailComposer(composition).compile().build();
}

/** A text for a header: one line, cleaned, cut between characters if it is far too long. */
function headerText(text: string, lengthMax: number): string {
  const characters = Array.from(cleanLine(text));
  return characters.length <= lengthMax
    ? characters.join('')
    : `${characters.slice(0, lengthMax - 1).join('')}…`;
}

/** A link for a header: the URL parser leaves nothing but ASCII, and no bracket or space. */
function headerUrl(url: string): string {
  const { href } = new URL(url);
  assert.match(href, /^[!-;=?-~]+$/, 'a link in a header must be plain ASCII');
  return href;
}
