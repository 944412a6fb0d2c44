/** The backups of the machine, which owners set up: the state, the recovery sheet, the place, the list, and a trial. */

import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { BackupError, placeKey, type Backup } from '../domain/backup.ts';
import { currencyOf } from '../../../core/money/domain/currency.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { readBackupState, saveDownload, type BackupState, type BackupTrial } from '../service/backups.ts';
import { listBackupUse } from '../service/staff-backups.ts';
import { alert, hidden, textArea } from '../../../pages/kit/form.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import {
  seeOther,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { waitShortly } from '../../../pages/kit/wait.ts';
import { placePanel, backupPlaceText, removePlace, savePlace, type ShownPlace } from './backup-place.ts';
import { backupsPath, confirmTyped, makeSheet, seeTyped, sheetPanel, sheetPath } from './recovery-sheet.ts';
import { backupTool, type BackupTools } from './tools.ts';

type Shown = {
  readonly place?: ShownPlace;
  readonly sheetError?: string;
  readonly keyError?: string;
  readonly problem?: string;
};

function sizeText(page: Page, bytes: number): string {
  const megabytes = bytes / 1_000_000;
  return new Intl.NumberFormat(page.language, {
    style: 'unit',
    unit: 'megabyte',
    maximumFractionDigits: megabytes < 10 ? 1 : 0,
  }).format(Math.max(megabytes, 0.1));
}

function statePanel(page: Page, tools: BackupTools, state: BackupState): Markup {
  const text = page.text.backups;
  const { settings, place, backups } = state;
  const [newest] = backups;
  const isReady = settings.recipient !== null && place !== null;
  const kind = stateKind(tools, state);
  const tags = { running: 'wait', off: 'wait', failed: 'bad', verified: 'good', waiting: 'wait' } as const;
  const said = newest
    ? fill(text.lastAt, { time: page.time(newest.at), size: sizeText(page, newest.bytes) })
    : markup`${text.never}`;
  const missing = [
    ...(settings.recipient === null ? [text.needsSheet] : []),
    ...(place === null ? [text.needsPlace] : []),
  ].map((each) => markup`<p>${each}</p>`);
  const where = place
    ? markup`<p class="soft">${backupPlaceText(page, place)} · ${text.rhythms[settings.rhythm]}</p>`
    : undefined;
  const button =
    isReady && kind !== 'running'
      ? page.form(`${backupsPath}/now`, markup`<div><button class="button">${text.backUpNow}</button></div>`)
      : undefined;
  return markup`<section class="panel stack" aria-labelledby="now"><h2 id="now">${text.now}</h2><p><span class="tag ${tags[kind]}">${text.states[kind]}</span> ${said}</p>${where}${missing}${kind === 'running' ? markup`<p role="status">${text.running}</p>` : undefined}${failurePart(page, state)}${button}</section>`;
}

function stateKind(tools: BackupTools, { settings, place, backups }: BackupState) {
  if (tools.isRunning()) return 'running';
  if (settings.recipient === null || place === null) return 'off';
  if (settings.trouble !== null) return 'failed';
  return backups.length > 0 ? 'verified' : 'waiting';
}

/** The sentence for people above the own words of the system or the server. */
function failurePart(page: Page, { settings, place }: BackupState): Markup | undefined {
  const { trouble, response, failedAt, nextAt } = settings;
  if (trouble === null || failedAt === null || nextAt === null) return undefined;
  const text = page.text.backups;
  const where = place ? backupPlaceText(page, place) : '';
  const when = fill(text.failedAt, { time: page.time(failedAt), next: page.time(nextAt) });
  return markup`<div class="notice bad" role="alert"><div class="stack"><h3>${fillPlain(text.troubles[trouble].title, { place: where })}</h3><p>${text.troubles[trouble].advice}</p><p>${when}</p><p>${text.response}</p></div></div><p class="payload" dir="ltr">${response ?? ''}</p>`;
}

/** More than retention keeps would only be read after a clock was wrong. */
const backupsShown = 60;

function listPanel(page: Page, { backups, place }: BackupState): Markup | undefined {
  if (backups.length === 0) return undefined;
  const text = page.text.backups;
  const row = ({ name, at, bytes, verifiedAt, downloadedAt }: Backup): Markup => {
    const downloaded =
      downloadedAt === null
        ? undefined
        : markup`<br><span class="small soft">${fill(text.downloadedAt, { time: page.time(downloadedAt) })}</span>`;
    const button = markup`<button class="button quiet" aria-label="${fillPlain(text.downloadLabel, { name })}">${text.download}</button>`;
    return markup`<tr role="row"><td role="cell">${page.time(at)}<br><span class="small soft" dir="ltr">${name}</span></td><td role="cell"><span class="tag good">${text.states.verified}</span> <span class="small soft">${page.time(verifiedAt)}</span>${downloaded}</td><td role="cell" class="sum nowrap">${sizeText(page, bytes)}</td><td role="cell">${page.form(`${backupsPath}/download`, markup`${hidden('name', name)}${button}`)}</td></tr>
`;
  };
  const { columns } = text;
  const hint = place?.kind === 'download' ? markup`<p class="hint">${text.downloadHint}</p>` : undefined;
  return markup`<section class="panel flush" aria-labelledby="list"><div class="head"><h2 id="list">${text.list}</h2>${hint}</div><table class="table lines" role="table" aria-labelledby="list"><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${columns.made}</th><th scope="col" role="columnheader">${columns.state}</th><th scope="col" role="columnheader" class="sum">${columns.size}</th><th scope="col" role="columnheader"><span class="sr">${text.download}</span></th></tr></thead><tbody role="rowgroup">
${backups.slice(0, backupsShown).map(row)}</tbody></table></section>`;
}

function trialPanel(page: Page, { settings, backups }: BackupState, keyError?: string): Markup | undefined {
  if (backups.length === 0) return undefined;
  const text = page.text.backups;
  const { trial } = settings;
  const key = textArea({ name: 'key', label: text.key, hint: text.keyHint, error: keyError });
  return markup`<section class="panel stack" aria-labelledby="try"><h2 id="try">${text.tryTitle}</h2><p>${text.tryText}</p>${trial ? trialPart(page, trial) : undefined}${page.form(`${backupsPath}/try`, markup`${key}<div><button class="button">${text.tryButton}</button></div>`)}</section>`;
}

function trialPart(page: Page, { triedAt, name, problem, stores }: BackupTrial): Markup {
  const text = page.text.backups;
  const values = { time: page.time(triedAt), name: markup`<span dir="ltr">${name}</span>` };
  if (problem !== null)
    return markup`<p class="notice bad"><span>${fill(text.tried.failed, values)} ${text.tried.problems[problem]}</span></p>`;
  const lines = stores.map(({ store, currency, cards, outstanding }) => {
    const amount = page.amount({ minor: BigInt(outstanding), currency: currencyOf(currency) });
    return markup`<li>${plural(page.language, text.tried.store, cards, { store, amount })}</li>
`;
  });
  return markup`<div class="notice good"><div class="stack"><p>${fill(text.tried.good, values)}</p><ul>${lines}</ul></div></div>`;
}

const doneNames = ['saved', 'savedUnnoticed', 'removed', 'sheet', 'sheetUnnoticed', 'seen', 'tried'] as const;

async function backupsPage(page: Page, shown: Shown = {}): Promise<PageResponse> {
  const text = page.text.backups;
  const tools = page.services.tools.of(backupTool);
  const back = markup`<div class="row">${page.link('/settings', text.back, 'quiet')}</div>`;
  const only = (said: string): PageResponse =>
    page.show('/settings', {
      title: text.title,
      body: markup`<div class="stack settings"><section class="panel"><p>${said}</p></section>${back}</div>`,
    });
  if (!tools) return only(text.server);
  if (!(await page.read(() => mayOwnersSetMachine(page.store, tools.rule)))) return only(text.notAllowed);
  const state = await page.read(() => readBackupState(tools.operatorPlace));
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  const notice = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  const problem = shown.problem === undefined ? undefined : alert(shown.problem);
  const place =
    tools.operatorPlace === null
      ? placePanel(page, tools, state, shown.place)
      : markup`<section class="panel"><h2>${text.place}</h2><p>${fillPlain(text.byOperator, { place: backupPlaceText(page, tools.operatorPlace) })}</p></section>`;
  return page.show('/settings', {
    status: Object.keys(shown).length > 0 ? 422 : 200,
    title: text.title,
    ...(tools.isRunning() && { refreshSeconds }),
    body: markup`<div class="stack settings"><p class="lead">${text.lead}</p>${notice}${problem}
${statePanel(page, tools, state)}
${sheetPanel(page, tools, state.settings, shown.sheetError)}
${place}
${listPanel(page, state)}
${trialPanel(page, state, shown.keyError)}
${back}</div>`,
  });
}

const refreshSeconds = 3;

/** Runs a form if owners may set backups up, and otherwise shows the page, which says why not. */
function withTools(handle: (page: Page, tools: BackupTools) => Promise<ConsoleResponse>) {
  return async (page: Page): Promise<ConsoleResponse> => {
    const tools = page.services.tools.of(backupTool);
    if (!tools || !(await page.read(() => mayOwnersSetMachine(page.store, tools.rule))))
      return await backupsPage(page);
    return await handle(page, tools);
  };
}

async function backUpNow(_page: Page, tools: BackupTools): Promise<ConsoleResponse> {
  await waitShortly(tools.run());
  return seeOther(backupsPath);
}

const keyLengthMax = 1_000;

async function tryRestore(page: Page, tools: BackupTools): Promise<ConsoleResponse> {
  const text = page.text.backups;
  const typed = page.typed('key');
  const key = await tools.parseKey(typed.length > keyLengthMax ? '' : typed);
  if (!key.ok) return await backupsPage(page, { keyError: text.errors.key });
  const state = await page.read(() => readBackupState(tools.operatorPlace));
  const name = state.backups[0]?.name ?? '';
  await page.write(() => listBackupUse(page.ctx, page.by, { rule: tools.rule, name, use: 'test' }));
  const trying = tools.tryNewest(key.value.identity);
  await waitShortly(trying);
  // The result is stored, and the page shows it when it is there.
  if (tools.isRunning()) return seeOther(backupsPath);
  const tried = await trying;
  if (tried === null) return await backupsPage(page, { problem: text.busy });
  if (tried instanceof BackupError)
    return await backupsPage(page, { problem: problemText(page, state, tried) });
  return seeOther(`${backupsPath}${tried.problem === null ? '?done=tried' : ''}`);
}

function problemText(page: Page, { place }: BackupState, { trouble }: BackupError): string {
  const { title, advice } = page.text.backups.troubles[trouble];
  return `${fillPlain(title, { place: place ? backupPlaceText(page, place) : '' })} ${advice}`;
}

/** Sends a backup to the browser, and records when all of it was sent. */
async function download(page: Page, tools: BackupTools): Promise<ConsoleResponse> {
  const name = page.typed('name');
  const state = await page.read(() => readBackupState(tools.operatorPlace));
  const { place } = state;
  try {
    const found = await tools.read(name);
    if (!found || !place) throw new Fault('not-found');
    await page.write(() => listBackupUse(page.ctx, page.by, { rule: tools.rule, name, use: 'downloaded' }));
    const recorded = async function* (): AsyncGenerator<Uint8Array> {
      yield* found.content;
      await page.write(() => saveDownload(placeKey(place), name, page.ctx.wallClock.now()));
    };
    return { status: 200, file: { name, type: 'application/octet-stream', parts: recorded() } };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return await backupsPage(page, { problem: problemText(page, state, error) });
  }
}

const owners = { sensitive: 'changeSettings' } as const;

export const backupSettingsRoutes: readonly StaffRoute[] = [
  get(backupsPath, owners, (page) => backupsPage(page)),
  post(
    backupsPath,
    owners,
    withTools((page, tools) => savePlace(page, tools, (place) => backupsPage(page, { place }))),
  ),
  post(`${backupsPath}/remove`, owners, withTools(removePlace)),
  post(`${backupsPath}/now`, owners, withTools(backUpNow)),
  post(`${backupsPath}/try`, owners, withTools(tryRestore)),
  post(`${backupsPath}/download`, owners, withTools(download), { sendsFile: 'export' }),
  post(sheetPath, owners, withTools(makeSheet)),
  post(
    `${sheetPath}/confirm`,
    owners,
    withTools((page, tools) => confirmTyped(page, tools, (sheetError) => backupsPage(page, { sheetError }))),
  ),
  post(
    `${sheetPath}/seen`,
    owners,
    withTools((page, tools) => seeTyped(page, tools, (sheetError) => backupsPage(page, { sheetError }))),
  ),
];
