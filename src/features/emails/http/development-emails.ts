/**
 * The development page: the emails that are kept instead of sent in development.
 *
 * The emails contain gift card codes, so only local requests can read them: those of the demonstration until there is a
 * real store, and then those of a store, if one of its owners is signed in. The HTML of an email is shown in a
 * sandboxed frame that runs no scripts and loads nothing.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { formatInstant } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { sandboxNotice } from '../../../core/domain/sandbox.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { prefersHtml } from '../../../http/accept.ts';
import { requireLocalRequest } from '../../../http/auth.ts';
import { style } from './development-emails-style.ts';

type StoredEmail = {
  readonly name: string;
  readonly kind: EmailKind | 'notice';
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  /** Ms since 1970 UTC. */
  readonly date: number;
  readonly messageId: string;
};

/** The kept emails of a service in development. */
type StoredEmails = {
  /** Newest first. */
  list(): Promise<readonly StoredEmail[]>;
  /** Undefined if the name is unknown or invalid. */
  read(name: string): Promise<(StoredEmail & { readonly html: string; readonly text: string }) | undefined>;
  readEml(name: string): Promise<Uint8Array | undefined>;
};

/** The kept emails that a request can read. */
export type ReadableEmails =
  | { readonly kind: 'every' }
  | { readonly kind: 'store'; readonly domain: string }
  /** `signIn` is the path of the page on which an owner signs in; null: signing in changes nothing. */
  | { readonly kind: 'none'; readonly signIn: string | null };

type Options = {
  readonly isSandbox: boolean;
  readonly kept: StoredEmails;
  readonly readableEmails: (request: FastifyRequest) => Promise<ReadableEmails>;
};

const pagePolicy =
  "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The HTML of an email has inline styles and `data:` images. */
const emailPolicy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

export function addDevelopmentEmails(
  app: FastifyInstance,
  { kept, readableEmails, isSandbox }: Options,
  prefix: string,
): void {
  /** Sends a page to a request that can read emails; leads a person to the sign-in page. @throws Fault `not-found`. */
  const get = (
    path: string,
    handle: (request: FastifyRequest, reply: FastifyReply, isReadable: IsReadable) => Promise<FastifyReply>,
  ): void =>
    void app.get(`${prefix}/dev/mails${path}`, { onRequest }, async (request, reply) => {
      const readable = await readableEmails(request);
      if (readable.kind !== 'none') return await handle(request, reply, filterOf(readable));
      if (readable.signIn === null || !prefersHtml(request.headers.accept)) throw new Fault('not-found');
      const next = encodeURIComponent(request.url.slice(prefix.length));
      return setHeaders(reply, pagePolicy).redirect(`${readable.signIn}?next=${next}`, 303);
    });
  get('', async (_request, reply, isReadable) => {
    const emails = (await kept.list()).filter(isReadable);
    return page(reply, { title: 'Emails', body: list(emails), base: '', isSandbox });
  });
  app.get(`${prefix}/dev/mails.css`, { onRequest }, (_request, reply) =>
    setHeaders(reply, pagePolicy).type('text/css; charset=utf-8').send(style),
  );
  get('/:name', async (request, reply, isReadable) => {
    const email = await readEmail(kept, request, isReadable);
    return page(reply, { title: email.subject, body: view(email), base: '../', isSandbox });
  });
  get('/:name/html', async (request, reply, isReadable) => {
    const { html } = await readEmail(kept, request, isReadable);
    return setHeaders(reply, emailPolicy).type('text/html; charset=utf-8').send(html);
  });
  get('/:name/eml', async (request, reply, isReadable) => {
    const { name } = await readEmail(kept, request, isReadable);
    const eml = await kept.readEml(name);
    if (!eml) throw new Fault('not-found');
    return setHeaders(reply, pagePolicy)
      .type('message/rfc822')
      .header('content-disposition', `attachment; filename="${name}.eml"`)
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

type IsReadable = (email: Pick<StoredEmail, 'messageId'>) => boolean;

/** The Message-ID of an email ends with the domain of its store. */
function filterOf(readable: Exclude<ReadableEmails, { readonly kind: 'none' }>): IsReadable {
  if (readable.kind === 'every') return () => true;
  return ({ messageId }) => messageId.endsWith(`@${readable.domain}>`);
}

/** @throws Fault `not-found`. */
async function readEmail(
  kept: StoredEmails,
  { params }: FastifyRequest,
  isReadable: IsReadable,
): Promise<NonNullable<Awaited<ReturnType<StoredEmails['read']>>>> {
  const email = await kept.read((params as { readonly name: string }).name);
  if (!email || !isReadable(email)) throw new Fault('not-found');
  return email;
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
  readonly isSandbox: boolean;
};

function frame({ title, body, base, isSandbox }: Page): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Largesse</title>
<link rel="stylesheet" href="${base}mails.css">
</head>
<body>
${
  isSandbox
    ? markup`<p role="note"><strong>${sandboxNotice('en')}</strong></p>
`
    : undefined
}${body}
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
<p>Without <code>SMTP_URL</code>, emails are kept on this machine instead of being sent. They contain valid codes.</p>
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
