/**
 * The root of the service, for browsers: it leads to the pages for staff, or is a page of its own without them. Other clients
 * receive a 404.
 */

import { unreadinessTexts, type Unreadiness } from './readiness.ts';
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Fault } from '../core/domain/fault.ts';
import { sandboxNotice } from '../core/domain/sandbox.ts';
import { markup, type Markup } from '../platform/markup.ts';
import { version } from '../platform/version.ts';
import { prefersHtml } from './accept.ts';
import { isLocalRequest } from './auth.ts';
import { pagePaths } from './page-paths.ts';
import type { Services } from './services.ts';

/** It has no characters that `markup` escapes, so its hash is that of the style in the page. */
const style = `
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 36rem; padding: 3rem 1rem; font: 1rem/1.6 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.75rem; }
dt { font-weight: 600; }
dd { margin: 0 0 0.75rem; }
`;

const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function addHome(app: FastifyInstance, services: Services, prefix: string): void {
  for (const path of prefix === '' ? ['/'] : [prefix, `${prefix}/`]) {
    // A base path such as /docs is already a page.
    if (app.hasRoute({ method: 'GET', url: path })) continue;
    app.get(path, async (request, reply) => {
      reply.header('vary', 'accept');
      if (!prefersHtml(request.headers.accept)) throw new Fault('not-found');
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      const { unreadiness, first } = await stateOf(services, request);
      if (first !== undefined) return reply.code(303).header('location', first).send();
      const shown = { unreadiness, prefix, isLocal: isLocalRequest(request) };
      return reply
        .header('content-security-policy', policy)
        .type('text/html; charset=utf-8')
        .send(String(page(shown, services)));
    });
  }
}

type State = {
  readonly unreadiness: Unreadiness | null;
  /** The path at which the pages for staff begin for this request; undefined: it has no such pages. */
  readonly first?: string;
};

/** If the database cannot be read, the page of the root shows that the service is not ready. */
async function stateOf({ homePath, unreadiness }: Services, request: FastifyRequest): Promise<State> {
  try {
    const first = await homePath?.(request);
    return first === undefined ? { unreadiness: await unreadiness() } : { unreadiness: null, first };
  } catch (error) {
    const found = await unreadiness();
    if (found === null) throw error;
    return { unreadiness: found };
  }
}

type Shown = { readonly unreadiness: Unreadiness | null; readonly prefix: string; readonly isLocal: boolean };

function page(
  { unreadiness, prefix, isLocal: mayRead }: Shown,
  { config, ctx, addKeptEmails, developmentMode }: Services,
): Markup {
  const { hasConsole, publicUrl, basePath } = config;
  const staff = publicUrl
    ? markup`<a href="${publicUrl.origin}${basePath}/">${publicUrl.host}</a>`
    : markup`At <code>localhost</code> on this machine. For other machines, set <code>PUBLIC_URL</code>.`;
  const pages = hasConsole
    ? markup`<dt>Pages for staff</dt>
<dd>${staff}</dd>
`
    : undefined;
  const emails = markup`<dt>Emails</dt>
<dd><a href="${prefix}/dev/mails">The emails that are kept on this machine</a>: no email is sent without <code>SMTP_URL</code>.</dd>
`;
  const sandbox = ctx.testClock
    ? markup`<p role="note"><strong>${sandboxNotice('en')}</strong></p>
`
    : undefined;
  const development = markup`<dt>Development mode</dt>
<dd>Until the database contains a real store, requests from this machine do not need an access token and use the demonstration store.</dd>
`;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Largesse</title>
<style>${style}</style>
</head>
<body>
${sandbox}<h1>Largesse</h1>
<p>A gift card service.</p>
<dl>
<dt>State</dt>
<dd>${unreadiness === null ? 'Ready' : `Not ready. ${unreadinessTexts[unreadiness]}`}</dd>
<dt>Version</dt>
<dd>${version}</dd>
<dt>API</dt>
<dd><a href="${prefix}${pagePaths.reference}">Reference</a>, and <a href="${prefix}${pagePaths.openapi}">OpenAPI 3.1</a></dd>
${pages}${developmentMode && mayRead ? development : undefined}${addKeptEmails && mayRead && (developmentMode || ctx.testClock) ? emails : undefined}</dl>
</body>
</html>
`;
}
