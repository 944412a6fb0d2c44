/** Emails to staff about the service itself: a few lines of text, with a code in large letters if there is one. */

import { markup } from '../../platform/markup.ts';
import { cleanLine } from './clean.ts';
import { messageIdOf, type Email } from './message.ts';

export type Notice = {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Between the first and the second paragraph; null: none. */
  readonly code: string | null;
  /** For `lang` attributes. */
  readonly locale: string;
};

export function noticeEmail(
  { subject, paragraphs, code, locale }: Notice,
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
  const html = markup`<!doctype html>
<html lang="${locale}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${subject}</title></head>
<body style="font-family:sans-serif;font-size:16px;line-height:1.5"><p>${first}</p>${shown}${rest.map((each) => markup`<p>${each}</p>`)}</body></html>`;
  return {
    messageId: messageIdOf(id, store.domain),
    date,
    from: { name: store.name, address: from },
    to,
    replyTo: null,
    content: {
      kind: 'notice',
      subject,
      text: `${[first, ...(code === null ? [] : [code]), ...rest].join('\n\n')}\n`,
      html: String(html),
      locale,
      images: [],
      unsubscribeUrl: null,
    },
  };
}
