/** New versions: what runs, what there is, and whether the service may look for it. */

import { versionTool } from './tools.ts';
import { upgradeCommand } from '../platform/installation.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { decideVersionCheck } from '../service/staff-versions.ts';
import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { findVersionCheck, laterVersion, looksForVersions } from '../service/versions.ts';
import type { VersionCheck } from '../domain/versions.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import {
  seeOther,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { waitShortly } from '../../../pages/kit/wait.ts';
import { changeAndNotify, notifyOwners } from '../../owner-notices/pages/owner-notice.ts';

export const versionsPath = '/settings/machine/versions';

const doneNames = ['allowed', 'declined', 'unnoticed'] as const;

function statePanel(page: Page, check: VersionCheck): Markup {
  const text = page.text.versions;
  const { rule, installation } = page.services.tools.of(versionTool);
  const later = laterVersion(rule, check);
  const present = markup`<p>${fillPlain(text.present, { version: rule.present })}</p>`;
  if (later !== null) {
    const command = upgradeCommand(installation, { version: later });
    return markup`<section class="panel stack" aria-labelledby="now"><h2 id="now">${fillPlain(text.later, { version: later })}</h2>${present}<p>${text.how[installation]}</p><p><code class="copy">${command}</code></p><p class="soft">${text.backup}</p></section>`;
  }
  const { checkedAt, newest } = check;
  const known =
    checkedAt === null || newest === null || !looksForVersions(rule, check)
      ? undefined
      : markup`<p>${fill(text.newest, { time: page.time(checkedAt) })}</p>`;
  return markup`<section class="panel stack" aria-labelledby="now"><h2 id="now">${text.now}</h2>${present}${known}</section>`;
}

function failurePart(page: Page, check: VersionCheck): Markup | undefined {
  const { failedAt, problem } = check;
  if (
    failedAt === null ||
    problem === null ||
    !looksForVersions(page.services.tools.of(versionTool).rule, check)
  )
    return undefined;
  const text = page.text.versions;
  return markup`<div class="notice bad" role="status"><div class="stack"><p>${fill(text.failed, { time: page.time(failedAt) })} ${text.failedAdvice}</p></div></div><p class="payload" dir="ltr" lang="en">${problem}</p>`;
}

function questionPanel(page: Page, { isWanted }: VersionCheck): Markup {
  const text = page.text.versions;
  const { rule } = page.services.tools.of(versionTool);
  if (rule.host === null)
    return markup`<section class="panel"><h2>${text.question}</h2><p>${text.noList}</p></section>`;
  if (rule.byOperator !== null)
    return markup`<section class="panel"><h2>${text.question}</h2><p>${text.byOperator[rule.byOperator ? 'on' : 'off']}</p></section>`;
  const choice = (value: 'yes' | 'no'): Markup => {
    const checked = isWanted === (value === 'yes') ? markup` checked` : undefined;
    return markup`<label class="choice"><input type="radio" name="choice" value="${value}" required${checked}><span>${text[value]}</span></label>
`;
  };
  const hint = fillPlain(text.questionHint, { host: rule.host });
  const body = markup`<fieldset><legend>${text.question}</legend><p class="hint">${hint}</p><div class="choices down">${choice('yes')}${choice('no')}</div></fieldset>
<div><button class="button first">${text.save}</button></div>`;
  return markup`<section class="panel stack">${page.form(versionsPath, body)}</section>`;
}

async function versionsPage(page: Page): Promise<PageResponse> {
  const text = page.text.versions;
  const { machineRule } = page.services.tools.of(versionTool);
  const back = markup`<div class="row">${page.link('/settings', page.text.backups.back, 'quiet')}</div>`;
  const show = (body: Markup): PageResponse =>
    page.show('/settings', {
      title: text.title,
      body: markup`<div class="stack settings">${body}${back}</div>`,
    });
  if (!(await page.read(() => mayOwnersSetMachine(page.store, machineRule))))
    return show(markup`<section class="panel"><p>${text.notAllowed}</p></section>`);
  const check = await page.read(findVersionCheck);
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  const notice = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  return show(markup`<p class="lead">${text.lead}</p>${notice}
${statePanel(page, check)}${failurePart(page, check)}
${questionPanel(page, check)}
`);
}

async function saveDecision(page: Page): Promise<ConsoleResponse> {
  const text = page.text.versions;
  const { machineRule, rule, runIfDue } = page.services.tools.of(versionTool);
  const choice = page.typed('choice');
  const mayDecide = rule.host !== null && rule.byOperator === null && ['yes', 'no'].includes(choice);
  if (!mayDecide || !(await page.read(() => mayOwnersSetMachine(page.store, machineRule))))
    return await versionsPage(page);
  const isWanted = choice === 'yes';
  const { store, member } = page;
  const { subject, allowed, declined } = text.notice;
  const said = fillPlain(isWanted ? allowed : declined, { name: member.name, email: member.email });
  const isChanged = await changeAndNotify(
    page,
    () => decideVersionCheck(page.ctx, page.by, { rule: machineRule, isWanted }),
    (changed) =>
      changed
        ? { subject: fillPlain(subject, { store: store.name }), paragraphs: [said, text.notice.advice] }
        : null,
  );
  const areNotified = !isChanged || (await notifyOwners(page));
  await waitShortly(runIfDue());
  const done = isWanted ? 'allowed' : 'declined';
  return seeOther(`${versionsPath}?done=${areNotified ? done : 'unnoticed'}`);
}

const owners = { sensitive: 'changeSettings' } as const;

export const versionRoutes: readonly StaffRoute[] = [
  get(versionsPath, owners, versionsPage),
  post(versionsPath, owners, saveDecision),
];
