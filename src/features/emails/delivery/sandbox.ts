/** Emails of a sandbox: they are kept, never sent, and say where they are from. */

import { sandboxHeader, sandboxNotice } from '../../../core/domain/sandbox.ts';
import { markup } from '../../../platform/markup.ts';
import type { Email } from './message.ts';
import type { EmailTransport } from './transport.ts';

/** Marks every email that a transport keeps. */
export function sandboxTransport(transport: EmailTransport): EmailTransport {
  return { ...transport, send: (email, ...sent) => transport.send(markedEmail(email), ...sent) };
}

/** The email with a banner and a header. */
function markedEmail(email: Email): Email {
  const { html, text, locale } = email.content;
  const start = html.indexOf('>', html.indexOf('<body')) + 1;
  const notice = sandboxNotice(locale);
  const banner = markup`<p style="margin:0;padding:12px;background:#5b2a86;color:#fff;text-align:center;font:bold 16px sans-serif">${notice}</p>`;
  return {
    ...email,
    headers: { ...email.headers, [sandboxHeader]: 'true' },
    content: {
      ...email.content,
      text: `${notice}\n\n${text}`,
      html: `${html.slice(0, start)}${String(banner)}${html.slice(start)}`,
    },
  };
}
