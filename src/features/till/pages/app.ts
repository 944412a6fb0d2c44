/**
 * The till as an app of a phone or tablet. A browser installs it by its manifest. Its worker shows one page of its own while
 * there is no connection; a card cannot be redeemed then, because it may be spent elsewhere.
 */

import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { FastifyInstance } from 'fastify';
import { readProgramFile } from '../../../platform/program-files.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { sendDocument, type ServedDocument } from '../../../http/documents.ts';
import type { Assets } from '../../../pages/kit/assets.ts';
import type { PageFrame } from '../../../pages/kit/frame.ts';
import { documentOf, mark } from '../../../pages/kit/page.ts';
import { openRoute, type VisitorPage } from '../../../pages/kit/page-context.ts';
import type { ConsoleResponse, ConsoleRoute } from '../../../pages/kit/route.ts';
import { pendingSection } from './pending.ts';

const colour = '#1f4d3f';
const offlinePath = '/till/offline';

/** The files of the page that the worker shows. */
const offlineScripts = ['till.js', 'till-offline.js'] as const;
const offlineFiles = [
  'largesse.css', 'mark.svg', 'fraunces.woff2', 'instrument-sans.woff2', 'console.js', 'amount.js', 'pending.js',
  'scanner.js', 'till-link.js',
  ...offlineScripts,
] as const; // prettier-ignore

/** The part of the head of a page with which a browser can install the till. */
export function appLinks({ basePath, assetUrl }: PageFrame): Markup {
  // The manifest names the store, so the browser sends the cookies.
  return markup`<link rel="manifest" href="${basePath}/till/app.webmanifest" crossorigin="use-credentials">
<link rel="apple-touch-icon" href="${assetUrl('till-180.png')}">
<meta name="theme-color" content="${colour}">
`;
}

/** The worker, whose text changes with every file of the pages. */
function workerOf({ basePath, assetUrl }: PageFrame, { version }: Pick<Assets, 'version'>): ServedDocument {
  const till = {
    version,
    scope: `${basePath}/till`,
    page: `${basePath}${offlinePath}`,
    files: offlineFiles.map(assetUrl),
  };
  const script = readProgramFile('pages/assets/till-worker.js').toString();
  return {
    type: 'text/javascript; charset=utf-8',
    content: `globalThis.till = ${JSON.stringify(till)};\n${script}`,
  };
}

function manifest({
  services,
  request: { signedIn },
  basePath,
  language,
  text,
}: VisitorPage): ConsoleResponse {
  const { name, shortName } = text.tillApp;
  const icon = (size: number, purpose: 'any' | 'maskable'): object => ({
    src: services.frame.assetUrl(`till-${String(size)}.png`),
    sizes: `${String(size)}x${String(size)}`,
    type: 'image/png',
    purpose,
  });
  const json = {
    id: `${basePath}/till`,
    start_url: `${basePath}/till`,
    scope: `${basePath}/till`,
    name: signedIn ? `${name} · ${signedIn.store.name}` : name,
    short_name: shortName,
    lang: language,
    display: 'standalone',
    background_color: colour,
    theme_color: colour,
    icons: [icon(192, 'any'), icon(512, 'any'), icon(512, 'maskable')],
  };
  return { status: 200, json };
}

/** The page for both cases; the worker says which one it is, because its script has only the page. */
function offlinePage({ services, request, basePath, text: { tillApp: text } }: VisitorPage): ConsoleResponse {
  const body = markup`<main class="till" id="content" data-page="${basePath}${offlinePath}" data-till="${basePath}/till" data-day="${basePath}/till/day"><h1 class="sr">${text.title}</h1>
<div class="tillbar"><a class="mark" href="${basePath}/till">${mark}<span>${text.shortName}</span></a></div>
<section class="paid wait" role="alert" data-when="page"><h2>${text.title}</h2><p>${text.lead}</p></section>
<section class="paid wait" role="alert" data-when="form" hidden><h2>${text.sentTitle}</h2><p>${text.sentLead}</p></section>
${pendingSection(request, null)}
<section class="panel stack" aria-labelledby="until" data-when="page"><h2 id="until">${text.until}</h2><ol class="todo"><li><span>${text.otherMeans}</span></li><li><span>${text.noPaper}</span></li></ol></section>
<p class="small soft center" id="state" role="status" data-trying="${text.trying}" data-back="${text.back}"></p>
<button class="button first big" type="button" id="again"><span data-when="page">${text.tryNow}</span><span data-when="form" hidden>${text.openDay}</span></button>
</main>`;
  return {
    status: 200,
    body: documentOf(services, request, { title: text.title, body, scripts: offlineScripts }),
  };
}

export const tillAppRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', '/till/app.webmanifest', manifest),
  openRoute('GET', offlinePath, offlinePage),
];

/** Serves the worker, whose own folder does not contain `/till`. */
export function addTillWorker(app: FastifyInstance, { frame }: ConsoleServices, assets: Assets): void {
  const { basePath } = frame;
  const worker = workerOf(frame, assets);
  app.get(`${basePath}/till/worker.js`, { config: { isFile: true } }, async (request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'service-worker-allowed': `${basePath}/till` });
    return sendDocument(request, reply, worker);
  });
}
