/**
 * The development page: the emails of every store, which are kept instead of sent in development.
 *
 * The emails contain gift card codes, so only local requests can read them. The HTML of an email is shown in a
 * sandboxed frame that runs no scripts and loads nothing.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { formatInstant } from '../domain/day.ts';
import { Fault } from '../domain/fault.ts';
import type { EmailKind } from '../domain/email.ts';
import { markup, type Markup } from '../markup.ts';
import { requireLocalRequest } from './auth.ts';
import { style } from './development-emails-style.ts';

type StoredEmail = {
  readonly name: string;
  readonly kind: EmailKind;
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  /** Ms since 1970 UTC. */
  readonly date: number;
  readonly messageId: string;
};

/** The kept emails of a service in development. */
export type StoredEmails = {
  /** Newest first. */
  list(): Promise<readonly StoredEmail[]>;
  /** Undefined if the name is unknown or invalid. */
  read(name: string): Promise<(StoredEmail & { readonly html: string; readonly text: string }) | undefined>;
  readEml(name: string): Promise<Uint8Array | undefined>;
};

const pagePolicy =
  "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The HTML of an email has inline styles and `data:` images. */
const emailPolicy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

export function addDevelopmentEmails(
  app: FastifyInstance,
  { kept }: { readonly kept: StoredEmails },
  prefix: string,
): void {
  app.get(`${prefix}/dev/mails`, { onRequest }, async (_request, reply) =>
    page(reply, { title: 'Emails', body: list(await kept.list()), base: '' }),
  );
  app.get(`${prefix}/dev/mails.css`, { onRequest }, (_request, reply) =>
    setHeaders(reply, pagePolicy).type('text/css; charset=utf-8').send(style),
  );
  app.get(`${prefix}/dev/mails/:name`, { onRequest }, async (request, reply) => {
    const email = await requireFound(kept.read(nameOf(request)));
    return page(reply, { title: email.subject, body: view(email), base: '../' });
  });
  app.get(`${prefix}/dev/mails/:name/html`, { onRequest }, async (request, reply) => {
    const { html } = await requireFound(kept.read(nameOf(request)));
    return setHeaders(reply, emailPolicy).type('text/html; charset=utf-8').send(html);
  });
  app.get(`${prefix}/dev/mails/:name/eml`, { onRequest }, async (request, reply) => {
    const eml = await requireFound(kept.readEml(nameOf(request)));
    return setHeaders(reply, pagePolicy)
      .type('message/rfc822')
      .header('content-disposition', `attachment; filename="${nameOf(request)}.eml"`)
      .send(Buffer.from(eml));
  });
}

function onRequest(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  requireLocalRequest(request);
  done();
}

function page(reply: FastifyReply, shown: Page): FastifyReply {
  return setHeaders(reply, pagePolicy)
    .type('text/html; charset=utf-8')
    .send(String(frame(shown)));
}

function nameOf({ params }: FastifyRequest): string {
  return (params as { readonly name: string }).name;
}

/** @throws Fault `not-found`. */
async function requireFound<T>(reading: Promise<T | undefined>): Promise<T> {
  const read = await reading;
  if (read === undefined) throw new Fault('not-found');
  return read;
}

function setHeaders(reply: FastifyReply, policy: string): FastifyReply {
  return reply.headers({
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
}

type Page = {
  readonly title: string;
  readonly body: Markup;
  /** The relative URL from the page to the folder of the list. */
  readonly base: string;
};

function frame({ title, body, base }: Page): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Largesse</title>
<link rel="stylesheet" href="${base}mails.css">
</head>
<body>
${body}
</body>
</html>
`;
}

function list(emails: readonly StoredEmail[]): Markup {
  const rows = emails.map(
    ({ name, subject, to, kind, date }) => markup`<tr>
<td><a href="mails/${name}">${subject}</a></td>
<td>${to}</td>
<td><span class="kind">${kind.replaceAll('_', ' ')}</span></td>
<td><time datetime="${formatInstant(date)}">${shownInstant(date)}</time></td>
</tr>
`,
  );
  const table = markup`<table>
<thead><tr><th>Subject</th><th>To</th><th>Kind</th><th>Time (UTC)</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`;
  return markup`<header>
<h1>Emails</h1>
<p>Without <code>SMTP_URL</code>, the emails of every store are kept on this machine instead of being sent. They contain valid codes.</p>
</header>
<main>
${rows.length > 0 ? table : markup`<p class="none">No emails yet. Create a gift card with a <code>recipient_email</code>.</p>`}
</main>`;
}

function view(email: StoredEmail & { readonly text: string }): Markup {
  const { name, subject, to, from, kind, date, messageId, text } = email;
  return markup`<header>
<p><a href="../mails">← Emails</a></p>
<h1>${subject}</h1>
<dl>
<dt>From</dt><dd>${from}</dd>
<dt>To</dt><dd>${to}</dd>
<dt>Kind</dt><dd><span class="kind">${kind.replaceAll('_', ' ')}</span></dd>
<dt>Time</dt><dd><time datetime="${formatInstant(date)}">${shownInstant(date)} UTC</time></dd>
<dt>Message-ID</dt><dd>${messageId}</dd>
</dl>
<p><a href="${name}/eml">Complete message (.eml)</a> · <a href="${name}/html">HTML only</a></p>
</header>
<main>
<h2>HTML</h2>
<iframe sandbox src="${name}/html" title="The email as HTML"></iframe>
<h2>Text</h2>
<pre>${text}</pre>
</main>`;
}

function shownInstant(date: number): string {
  return formatInstant(date).replace('T', ' ').replace('Z', '');
}
