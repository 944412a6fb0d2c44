/** The pages for developers: what an app needs, access tokens and webhooks. */

import { pagePaths } from '../../../http/page-paths.ts';
import { Secret } from '../../../platform/secret.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findWebhookWith, listStoreWebhooks } from '../../webhooks/service/webhook.ts';
import { parallel } from '../../../core/service/scripts.ts';
import { findToken, listNewestTokens } from '../../../core/stores/service/token.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';
import { panel } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { developerDeliveryRoutes } from '../../webhooks/pages/deliveries.ts';
import {
  developerAccess,
  developersPath,
  findShownSecret,
  pathOfSecret,
  type ShownSecret,
} from '../../webhooks/pages/developer-parts.ts';
import { developerRequestRoutes, requestsPath } from './requests.ts';
import { developerTokenRoutes, expiresSoon, tokenTable } from './tokens.ts';
import { pathOfWebhook, webhooksPath, webhookTable } from '../../webhooks/pages/webhook-parts.ts';
import { developerWebhookRoutes } from '../../webhooks/pages/webhooks.ts';

/** Tokens on this page. The page of all tokens has the others. */
const tokensMax = 50;

async function startPage(page: Page): Promise<ConsoleResponse> {
  const { id: storeId } = page.store;
  const text = page.text.developers;
  const [tokens, webhooks] = await page.read(() =>
    parallel(
      listNewestTokens(storeId, { before: Number.MAX_SAFE_INTEGER, limit: tokensMax }),
      listStoreWebhooks(storeId),
    ),
  );
  const tokenList =
    tokens.length === 0 ? markup`<p class="empty">${text.tokens.none}</p>` : tokenTable(page, tokens);
  const webhookList =
    webhooks.length === 0 ? markup`<p class="empty">${text.webhooks.none}</p>` : webhookTable(page, webhooks);
  const expiring = tokens.filter((token) => expiresSoon(page, token));
  const notice =
    expiring.length > 0
      ? markup`<p class="notice">${plural(page.language, text.tokens.expiring, expiring.length)}</p>\n`
      : undefined;
  const body = markup`<div class="stack">${notice}${needsPanel(page)}
<section class="panel flush" aria-labelledby="tokens"><div class="head row apart"><h2 id="tokens">${text.tokens.title}</h2>${page.link(`${developersPath}/tokens/new`, text.tokens.create, 'first')}</div>${tokenList}<p class="head"><a href="${page.url(developersPath)}/tokens">${text.tokens.all}</a></p></section>
<section class="panel flush" aria-labelledby="webhooks"><div class="head row apart"><h2 id="webhooks">${text.webhooks.title}</h2>${page.link(`${webhooksPath}/new`, text.webhooks.add)}</div>${webhookList}</section>
<section class="panel stack" aria-labelledby="requests"><h2 id="requests">${text.requests.title}</h2><p class="soft">${text.requests.intro}</p><p>${page.link(requestsPath, text.requests.open)}</p></section></div>`;
  return page.show(developersPath, { title: text.title, body });
}

function needsPanel(page: Page): Markup {
  const text = page.text.developers;
  const { origin } = page.services;
  const address = `${page.request.pageOrigin.origin}${page.url('')}`;
  const hint = origin.url ? undefined : markup`<p class="hint">${text.addressHint}</p>`;
  return markup`<section class="panel stack"><h2>${text.needs}</h2>
<dl class="facts"><dt>${text.address}</dt><dd class="row"><code id="address">${address}</code><button class="button quiet" type="button" data-copy="address" data-copied="${text.copied}" hidden>${text.copy}</button></dd><dt>${text.documents}</dt><dd><a href="${page.url(pagePaths.reference)}">${text.reference}</a> · <a href="${page.url(pagePaths.openapi)}">${text.openApi}</a></dd></dl>${hint}</section>`;
}

/** The content of the page of a secret. */
type Shown = {
  readonly title: string;
  readonly intro: string;
  readonly hint: Markup | string;
  /** The path of "Done". */
  readonly next: string;
};

/** Undefined: the token was revoked, or the webhook was deleted or has another secret. */
async function describe(page: Page, { done, subject, secret }: ShownSecret): Promise<Shown | undefined> {
  const { tokens, webhooks } = page.text.developers;
  const { id: storeId } = page.store;
  if (done === 'token-created') {
    const token = await page.read(() => findToken(storeId, subject));
    if (!token || token.revokedAt !== null) return undefined;
    return {
      title: fillPlain(tokens.shownTitle, { name: token.name }),
      intro: tokens.shownText,
      hint: markup`${tokens.header} <code class="chip">Authorization: Bearer lgs_…</code>`,
      next: developersPath,
    };
  }
  const webhook = await page.read(() =>
    findWebhookWith(page.ctx, { storeId, id: subject, secret: new Secret(secret) }),
  );
  if (!webhook) return undefined;
  return {
    title: webhooks.shownTitle,
    intro: webhooks.shownText,
    hint: webhooks.shownHint,
    next: pathOfWebhook(webhook),
  };
}

async function secretPage(page: Page): Promise<ConsoleResponse> {
  const { over, copy, copied, done, back } = page.text.developers;
  const found = await findShownSecret(page);
  const shown = found && (await describe(page, found));
  if (!found || !shown) {
    const gone = markup`<p role="status">${over.text}</p>
<p>${page.link(developersPath, back, 'first')}</p>`;
    return page.show(developersPath, { title: over.title, body: panel(over.title, gone), status: 404 });
  }
  const body = markup`<p>${shown.intro}</p>
<p class="copy"><code id="secret">${found.secret}</code></p>
<p class="small soft">${shown.hint}</p>
<p class="row"><button class="button first" type="button" data-copy="secret" data-copied="${copied}" hidden>${copy}</button>${page.link(shown.next, done)}</p>`;
  return page.show(developersPath, { title: shown.title, body: panel(shown.title, body) });
}

export const developerRoutes: readonly StaffRoute[] = [
  get(developersPath, developerAccess, startPage),
  get(pathOfSecret(':key'), { sensitive: developerAccess }, secretPage),
  ...developerTokenRoutes,
  ...developerWebhookRoutes,
  ...developerDeliveryRoutes,
  ...developerRequestRoutes,
];
