/** “I have a backup”: the upload, the key of the recovery sheet, and the name of the shop, before there is a shop. */

import { restoreTool, backupTool } from '../../backups/pages/tools.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { sliceBytes, type RestoreState, type RestoreTools } from '../../backups/domain/restore.ts';
import { s3SecretLengthMax } from '../../backups/domain/backup.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { Secret } from '../../../platform/secret.ts';
import { findSetupProgress, isOpenSetupLink } from '../service/setup.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { timeText } from '../../../pages/kit/format.ts';
import { gatePage } from '../../../pages/kit/page.ts';
import { openRoute, type VisitorPage } from '../../../pages/kit/page-context.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import {
  bucketFieldNames,
  bucketInputs,
  bucketValuesOf,
  readBucket,
  type BucketField,
} from '../../backups/pages/backup-place.ts';

/** The path of the pages for a link. */
export function restorePathOf(token: string): string {
  return `/setup/${token}/restore`;
}

/** Undefined: the link cannot be used, there is a shop, or the database is on a server. */
async function toolsFor(
  { tools, storage, ctx }: ConsoleServices,
  token: string,
): Promise<RestoreTools | undefined> {
  const restoring = tools.of(restoreTool);
  if (!restoring || !(await storage.read(() => isOpenSetupLink(ctx, token)))) return undefined;
  const { stores } = await storage.read(findSetupProgress);
  return stores.length === 0 ? restoring : undefined;
}

type Step = (page: VisitorPage, tools: RestoreTools) => ConsoleResponse | Promise<ConsoleResponse>;

/** A page of a restore. A script gets an error, and a person the first page. */
function withBackup(step: Step): (page: VisitorPage) => Promise<ConsoleResponse> {
  return async (page) => {
    const tools = await toolsFor(page.services, page.param('token'));
    return tools ? await step(page, tools) : seeOther('/');
  };
}

/** The page for a step of the restore. */
function restorePage(
  page: VisitorPage,
  state: RestoreState,
  { nameError, bucket }: { readonly nameError?: string; readonly bucket?: BucketForm } = {},
): ConsoleResponse {
  const text = page.text.restore;
  const { problem, trouble, step } = state;
  const said = problem === null ? undefined : alert(text.problems[problem]);
  const body = markup`${said}${troublePart(page, trouble)}${leftOutPart(page, state)}${panelOf(page, state, { nameError, bucket })}`;
  const isRejected = problem !== null || trouble !== null || nameError !== undefined || bucket !== undefined;
  return {
    status: isRejected ? 422 : 200,
    body: gatePage(page.services, page.request, {
      title: text.title,
      place: 'Largesse',
      body,
      scripts: ['restore.js'],
      ...((step === 'examining' || step === 'fetching') && { refreshSeconds: 2 }),
    }),
  };
}

/** The sentence for people above the own words of the storage. */
function troublePart(page: VisitorPage, trouble: RestoreState['trouble']): Markup | undefined {
  if (!trouble) return undefined;
  const { response } = page.text.backups;
  const { title, advice } = { ...page.text.backups.troubles, ...page.text.restore.troubles }[trouble.kind];
  return markup`<div class="notice bad" role="alert"><div class="stack"><h2>${fillPlain(title, { place: page.text.restore.storage })}</h2><p>${advice}</p><p>${response}</p></div></div><p class="payload" dir="ltr">${trouble.said}</p>`;
}

/** The objects of a list that are shown by name. */
const leftOutMax = 10;

/** The objects of the storage that are not offered, and why. */
function leftOutPart(page: VisitorPage, { leftOut }: RestoreState): Markup | undefined {
  const text = page.text.restore;
  if (leftOut.length === 0) return undefined;
  const lines = leftOut
    .slice(0, leftOutMax)
    .map(
      ({ name, reason }) =>
        markup`<li><span class="code" dir="ltr">${name}</span>: ${text.leftOutReasons[reason]}</li>`,
    );
  return markup`<section class="notice bad" aria-labelledby="left-out"><div class="stack"><h2 id="left-out">${plural(page.language, text.leftOut, leftOut.length)}</h2><p>${text.leftOutHint}</p><ul>${lines}</ul></div></section>`;
}

type BucketForm = {
  readonly values: Readonly<Record<BucketField, string>>;
  readonly errors: Readonly<Partial<Record<BucketField | 'key' | 'secret', string>>>;
};

function panelOf(
  page: VisitorPage,
  state: RestoreState,
  { nameError, bucket }: { readonly nameError: string | undefined; readonly bucket: BucketForm | undefined },
): Markup {
  const text = page.text.restore;
  const path = page.url(restorePathOf(page.param('token')));
  switch (state.step) {
    case 'uploading':
      return markup`${uploadPanel(page, state)}${bucketPanel(page, state, bucket)}${newShopLink(page)}`;
    case 'fetching':
      return markup`<section class="panel stack" role="status"><h2>${text.fetching}</h2><p>${fillPlain(text.fetchingText, { size: sizeText(page, state.upload?.received ?? 0) })}</p></section>${dropForm(page)}`;
    case 'uploaded':
      return markup`<section class="panel stack" aria-labelledby="key-title"><h2 id="key-title">${text.keyTitle}</h2>
<form class="stack" method="post" action="${path}/key">${inputField({ name: 'key', label: text.key, kind: 'code', hint: text.keyHint, hasFocus: true })}
<div><button class="button first">${text.open}</button></div></form></section>${dropForm(page)}`;
    case 'examining':
      return markup`<section class="panel stack" role="status"><h2>${text.examining}</h2><p>${text.examiningText}</p></section>`;
    case 'examined':
      return foundPanel(page, state, nameError);
    case 'installing':
      return markup`<section class="panel stack" role="status" data-restarting="${page.url('/sign-in')}"><h2>${text.installing}</h2><p>${text.installingText}</p></section>`;
  }
}

/** The browser sends the file in slices, and continues after an interruption. */
function uploadPanel(page: VisitorPage, { upload }: RestoreState): Markup {
  const text = page.text.restore;
  const path = page.url(restorePathOf(page.param('token')));
  const continued =
    upload && upload.received > 0 ? markup`<p class="notice">${text.continues}</p>` : undefined;
  const sent = upload
    ? markup` data-bytes="${upload.bytes}" data-next="${Math.floor(upload.received / sliceBytes)}"`
    : undefined;
  return markup`<section class="panel stack" aria-labelledby="file-title"><h2 id="file-title">${text.fileTitle}</h2><p>${text.lead}</p>${continued}
<form class="stack" data-upload="${path}" data-slice="${sliceBytes}"${sent} data-failed="${text.uploadFailed}"><div><label for="backup">${text.file}</label><input class="field" type="file" id="backup" accept=".age" required><p class="hint">${text.fileHint}</p></div>
<div><button class="button first">${text.upload}</button></div>
<progress class="progress" max="100" value="0" aria-label="${text.progress}" hidden></progress><p role="status"></p></form>
<noscript><p class="notice bad">${text.noScript}</p></noscript></section>`;
}

function newShopLink(page: VisitorPage): Markup {
  return markup`<p class="center"><a class="button quiet" href="${page.url(`/setup/${page.param('token')}`)}">${page.text.restore.newShop}</a></p>`;
}

function sizeText({ language }: VisitorPage, bytes: number): string {
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: 'megabyte',
    maximumFractionDigits: 1,
  }).format(bytes / 1_000_000);
}

/** The service fetches the newest backup of a bucket itself. */
function bucketPanel(
  page: VisitorPage,
  { trouble, problem, source }: RestoreState,
  bucket: BucketForm | undefined,
): Markup {
  const text = page.text.restore;
  const isOpen = trouble !== null || problem === 'none-found' || bucket !== undefined;
  const last = source ? bucketValuesOf(source) : { address: '', region: '', bucket: '', keyId: '' };
  const { values, errors } = bucket ?? { values: last, errors: {} };
  const path = page.url(restorePathOf(page.param('token')));
  const secret = inputField({
    name: 'secret',
    label: page.text.backups.secret,
    type: 'password',
    autocomplete: 'off',
    hint: text.secretHint,
    error: errors.secret,
  });
  const key = inputField({
    name: 'key',
    label: text.keyTitle,
    kind: 'code',
    hint: text.keyHint,
    error: errors.key,
  });
  return markup`<details class="panel stack"${isOpen ? markup` open` : undefined}><summary>${text.fromStorage}</summary>
<form class="stack" method="post" action="${path}/fetch"><p>${text.fromStorageHint}</p><div class="fields">${bucketInputs(page, { values, errors, isOptional: false })}
${secret}
${key}</div><div><button class="button first">${text.fetch}</button></div></form></details>`;
}

function dropForm(page: VisitorPage): Markup {
  const path = page.url(restorePathOf(page.param('token')));
  return markup`<form class="center" method="post" action="${path}/drop"><button class="button quiet">${page.text.restore.another}</button></form>`;
}

function foundPanel(page: VisitorPage, { found }: RestoreState, nameError: string | undefined): Markup {
  const text = page.text.restore;
  const path = page.url(restorePathOf(page.param('token')));
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const made = found ? timeText(found.madeAt, { timeZone }, page.language) : '';
  const shops = (found?.shops ?? []).map(
    ({ name, cards }) => markup`<dt>${name}</dt><dd>${plural(page.language, text.cards, cards)}</dd>`,
  );
  return markup`<section class="panel stack" aria-labelledby="found"><h2 id="found">${text.found}</h2>
<dl class="facts"><dt>${text.made}</dt><dd>${made}</dd>${shops}</dl><p class="notice">${text.missing}</p>
<form class="stack" method="post" action="${path}/install">${inputField({ name: 'shop', label: text.shop, hint: text.shopHint, error: nameError })}
<div><button class="button first">${text.restore}</button></div></form></section>${dropForm(page)}`;
}

/** Reads a number of a path or a form. @throws Fault `not-found`. */
function numberIn(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Fault('not-found');
  return Number(text);
}

const begin: Step = async (page, tools) => {
  const bytes = numberIn(page.typed('bytes'));
  if (bytes === 0) return { status: 200, json: { problem: page.text.restore.problems['not-a-backup'] } };
  const problem = await tools.begin(bytes);
  return {
    status: 200,
    json: problem === null ? { next: 0 } : { problem: page.text.restore.problems[problem] },
  };
};

const append: Step = async (page, tools) => {
  const { file } = page.request;
  if (!file) throw new Fault('unsupported-media-type');
  const result = await tools.append(numberIn(page.param('number')), file);
  return {
    status: 200,
    json: typeof result === 'number' ? { next: result } : { problem: page.text.restore.problems[result] },
  };
};

const fetchNewest: Step = async (page, tools) => {
  const backups = page.services.tools.of(backupTool);
  if (!backups) throw new Fault('not-found');
  const values = Object.fromEntries(bucketFieldNames.map((name) => [name, page.typed(name)])) as Record<BucketField, string>;
  const key = await backups.parseKey(page.request.form.get('key') ?? '');
  const typed = page.request.form.get('secret') ?? '';
  const read = readBucket(page, backups, values);
  const { errors: texts } = page.text.backups;
  const errors = {
    ...(read.ok ? {} : read.errors),
    ...(typed === '' && { secret: texts.secretAgain }),
    ...(typed.length > s3SecretLengthMax && { secret: texts.secret }),
    ...(!key.ok && { key: page.text.restore.problems['no-key'] }),
  };
  if (!read.ok || !key.ok || Object.keys(errors).length > 0) return restorePage(page, tools.state(), { bucket: { values, errors } });
  await tools.fetch(read.bucket, { secret: new Secret(typed), key: key.value.identity });
  return here(page);
}; // prettier-ignore

const here = (page: VisitorPage): ConsoleResponse => seeOther(restorePathOf(page.param('token')));

const examine: Step = async (page, tools) => {
  await tools.examine(page.request.form.get('key') ?? '');
  return here(page);
};

const install: Step = async (page, tools) => {
  const isInstalled = await tools.install(page.typed('shop'));
  const state = tools.state();
  if (!isInstalled && state.step === 'examined')
    return restorePage(page, state, { nameError: page.text.restore.wrongName });
  // The link ends with the restart.
  return state.step === 'installing' ? restorePage(page, state) : here(page);
};

const drop: Step = async (page, tools) => {
  await tools.drop();
  return here(page);
};

const path = '/setup/:token/restore';

export const restoreRoutes: readonly ConsoleRoute[] = [
  openRoute(
    'GET',
    path,
    withBackup((page, tools) => restorePage(page, tools.state())),
  ),
  openRoute('POST', `${path}/begin`, withBackup(begin)),
  openRoute('POST', `${path}/slices/:number`, withBackup(append), {
    acceptsFile: true,
    formBytesMax: sliceBytes,
    mayUpload: async (services, { token = '' }) => (await toolsFor(services, token)) !== undefined,
  }),
  openRoute('POST', `${path}/fetch`, withBackup(fetchNewest)),
  openRoute('POST', `${path}/key`, withBackup(examine)),
  openRoute('POST', `${path}/install`, withBackup(install)),
  openRoute('POST', `${path}/drop`, withBackup(drop)),
];
