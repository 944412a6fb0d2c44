/**
 * Emails to staff about the service itself, and to accountants: a few lines of text, with a code in large letters, a table
 * or a link if there is one.
 */

import { markup } from '../../../platform/markup.ts';
import { cleanLine } from './clean.ts';
import { messageIdOf, type Email } from './message.ts';

export type Notice = {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Between the first and the second paragraph; null: none. */
  readonly code: string | null;
  /** A table after the first paragraph: names and values. Absent: none. */
  readonly facts?: readonly (readonly [name: string, value: string])[];
  /** After the table; absent: none. */
  readonly link?: { readonly text: string; readonly url: string };
  /** The address for replies. Absent or null: the sender's. */
  readonly replyTo?: string | null;
  /** For `lang` attributes. */
  readonly locale: string;
};

export function noticeEmail(
  { subject, paragraphs, code, facts = [], link, replyTo = null, locale }: Notice,
  {
    id,
    date,
    store,
    from,
    to,
  }: {
    /** Different for every email of the store. */
    readonly id: string;
    /** Instant in ms. */
    readonly date: number;
    readonly store: { readonly name: string; readonly domain: string };
    readonly from: string;
    readonly to: string;
  },
): Email {
  const [first = '', ...rest] = paragraphs.map(cleanLine);
  const shown = code === null ? undefined : markup`<p style="font-size:32px;letter-spacing:6px">${code}</p>`;
  const rows = facts.map(([name, value]) => [cleanLine(name), cleanLine(value)] as const);
  const table =
    rows.length === 0
      ? undefined
      : markup`<table style="border-collapse:collapse">${rows.map(([name, value]) => markup`<tr><th scope="row" style="text-align:start;font-weight:normal;padding:4px 24px 4px 0">${name}</th><td style="text-align:end;padding:4px 0">${value}</td></tr>`)}</table>`;
  const linked = link && markup`<p><a href="${link.url}">${link.text}</a></p>`;
  const html = markup`<!doctype html>
<html lang="${locale}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${subject}</title></head>
<body style="font-family:sans-serif;font-size:16px;line-height:1.5"><p>${first}</p>${shown}${table}${linked}${rest.map((each) => markup`<p>${each}</p>`)}</body></html>`;
  const plainTable = rows.length === 0 ? [] : [rows.map((row) => row.join(': ')).join('\n')];
  const plainLink = link ? [`${link.text}:\n${link.url}`] : [];
  return {
    messageId: messageIdOf(id, store.domain),
    date,
    from: { name: store.name, address: from },
    to,
    replyTo,
    content: {
      kind: 'notice',
      subject,
      text: `${[first, ...(code === null ? [] : [code]), ...plainTable, ...plainLink, ...rest].join('\n\n')}\n`,
      html: String(html),
      locale,
      images: [],
      unsubscribeUrl: null,
    },
  };
}
