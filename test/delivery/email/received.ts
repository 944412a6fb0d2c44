/** The emails that a test's mail server received, parsed as by a mail program. */

import type { SmtpServer } from './smtp-server.ts';

export type ReceivedEmail = {
  readonly to: readonly string[];
  readonly messageId: string;
  /** Unfolded. */
  readonly headers: readonly string[];
  readonly text: string;
  /** The code, normalized; empty if the email has none. */
  readonly code: string;
};

export function receivedEmails({ received }: Pick<SmtpServer, 'received'>): readonly ReceivedEmail[] {
  return received.map(({ to, message }) => {
    const [head = '', ...rest] = message.toString('latin1').split('\r\n\r\n');
    const headers = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
    const text = decodedText(rest.join('\r\n\r\n'));
    const [grouped = ''] = /^[0-9A-Z]{4}(?: [0-9A-Z]{1,4}){1,4}\r?$/m.exec(text) ?? [];
    return {
      to,
      messageId: /^message-id: (.*)$/im.exec(headers.join('\n'))?.[1] ?? '',
      headers,
      text,
      code: grouped.replaceAll(/\s/g, '').toLowerCase(),
    };
  });
}

/** The plain-text part of a message. */
function decodedText(body: string): string {
  const [, head = '', rest = ''] =
    /(Content-Type: text\/plain[\s\S]*?)\r\n\r\n([\s\S]*?)\r\n--/.exec(body) ?? [];
  if (/base64/i.test(head)) return Buffer.from(rest, 'base64').toString();
  if (!/quoted-printable/i.test(head)) return Buffer.from(rest, 'latin1').toString();
  const bytes = rest
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
