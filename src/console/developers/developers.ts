/** The pages for developers: what an app needs, access tokens and webhooks. */

import { pagePaths } from '../../http/page-paths.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { listStoreWebhooks } from '../../service/events/webhook.ts';
import { parallel } from '../../storage/sql/sql.ts';
import { findToken, listNewestTokens } from '../../storage/stores/token.ts';
import { findWebhook, openWebhookSecret } from '../../storage/events/webhook.ts';
import { developerDeliveryRoutes } from './deliveries.ts';
import {
  developerAccess,
  developerPage,
  developersPath,
  developerTexts,
  findShownSecret,
  pathOfSecret,
  type ShownSecret,
} from './parts.ts';
import { developerRequestRoutes, requestsPath } from './requests.ts';
import { developerTokenRoutes, expiresSoon, tokenTable } from './tokens.ts';
import { developerWebhookRoutes, pathOfWebhook, webhooksPath, webhookTable } from './webhooks.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fillPlain, plural } from '../kit/texts.ts';

/** Tokens on this page. The page of all tokens has the others. */
const tokensMax = 50;

async function startPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = developerTexts[language];
  const [tokens, webhooks] = await storage.read(() =>
    parallel(
      listNewestTokens(store.id, { before: Number.MAX_SAFE_INTEGER, limit: tokensMax }),
      listStoreWebhooks(store.id),
    ),
  );
  const path = `${frame.basePath}${developersPath}`;
  const tokenList =
    tokens.length === 0
      ? markup`<p class="empty">${text.tokens.none}</p>`
      : tokenTable(services, request, tokens);
  const webhookList =
    webhooks.length === 0
      ? markup`<p class="empty">${text.webhooks.none}</p>`
      : webhookTable(services, request, webhooks);
  const expiring = tokens.filter((token) => expiresSoon(services, token));
  const notice =
    expiring.length > 0
      ? markup`<p class="notice">${plural(language, text.tokens.expiring, expiring.length)}</p>\n`
      : undefined;
  const body = markup`<div class="stack">${notice}${needsPanel(services, request)}
<section class="panel flush" aria-labelledby="tokens"><div class="head row apart"><h2 id="tokens">${text.tokens.title}</h2><a class="button first" href="${path}/tokens/new">${text.tokens.create}</a></div>${tokenList}<p class="head"><a href="${path}/tokens">${text.tokens.all}</a></p></section>
<section class="panel flush" aria-labelledby="webhooks"><div class="head row apart"><h2 id="webhooks">${text.webhooks.title}</h2><a class="button" href="${frame.basePath}${webhooksPath}/new">${text.webhooks.add}</a></div>${webhookList}</section>
<section class="panel stack" aria-labelledby="requests"><h2 id="requests">${text.requests.title}</h2><p class="soft">${text.requests.intro}</p><p><a class="button" href="${frame.basePath}${requestsPath}">${text.requests.open}</a></p></section></div>`;
  return developerPage(services, request, { title: text.title, body });
}

function needsPanel({ frame, origin }: ConsoleServices, { language, pageOrigin }: StaffRequest): Markup {
  const text = developerTexts[language];
  const address = `${pageOrigin.origin}${frame.basePath}`;
  const hint = origin.url ? undefined : markup`<p class="hint">${text.addressHint}</p>`;
  return markup`<section class="panel stack"><h2>${text.needs}</h2>
<dl class="facts"><dt>${text.address}</dt><dd><code id="address">${address}</code></dd><dt>${text.documents}</dt><dd><a href="${frame.basePath}${pagePaths.reference}">${text.reference}</a> · <a href="${frame.basePath}${pagePaths.openapi}">${text.openApi}</a></dd></dl>${hint}
<p><button class="button" type="button" data-copy="address" data-copied="${text.copied}" hidden>${text.copy}</button></p></section>`;
}

/** What the page of a secret shows. */
type Shown = {
  readonly title: string;
  readonly intro: string;
  readonly hint: Markup | string;
  /** The path of "Done". */
  readonly next: string;
};

/** Undefined: the token was revoked, or the webhook was deleted or has another secret. */
async function describe(
  { ctx, storage }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { done, subject, secret }: ShownSecret,
): Promise<Shown | undefined> {
  const { tokens, webhooks } = developerTexts[language];
  if (done === 'token-created') {
    const token = await storage.read(() => findToken(store.id, subject));
    if (!token || token.revokedAt !== null) return undefined;
    return {
      title: fillPlain(tokens.shownTitle, { name: token.name }),
      intro: tokens.shownText,
      hint: markup`${tokens.header} <code class="chip">Authorization: Bearer lgs_…</code>`,
      next: developersPath,
    };
  }
  const kept = await storage.read(() => findWebhook(store.id, subject));
  if (!kept || openWebhookSecret(ctx, kept.webhook, kept.sealedSecret).reveal() !== secret) return undefined;
  return {
    title: webhooks.shownTitle,
    intro: webhooks.shownText,
    hint: webhooks.shownHint,
    next: pathOfWebhook(kept.webhook),
  };
}

async function secretPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { basePath } = services.frame;
  const { over, copy, copied, done, back } = developerTexts[request.language];
  const found = await findShownSecret(services, request);
  const shown = found && (await describe(services, request, found));
  if (!found || !shown) {
    const body = markup`<section class="panel stack change" aria-label="${over.title}"><p role="status">${over.text}</p>
<p><a class="button first" href="${basePath}${developersPath}">${back}</a></p></section>`;
    return developerPage(services, request, { title: over.title, body, status: 404 });
  }
  const body = markup`<section class="panel stack change" aria-label="${shown.title}"><p>${shown.intro}</p>
<p class="copy"><code id="secret">${found.secret}</code></p>
<p class="small soft">${shown.hint}</p>
<p class="row"><button class="button first" type="button" data-copy="secret" data-copied="${copied}" hidden>${copy}</button><a class="button" href="${basePath}${shown.next}">${done}</a></p></section>`;
  return developerPage(services, request, { title: shown.title, body });
}

export const developerRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: developersPath, access: developerAccess, handle: startPage },
  {
    method: 'GET',
    path: pathOfSecret(':key'),
    access: developerAccess,
    isSensitive: true,
    handle: secretPage,
  },
  ...developerTokenRoutes,
  ...developerWebhookRoutes,
  ...developerDeliveryRoutes,
  ...developerRequestRoutes,
];
