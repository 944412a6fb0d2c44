/** The steps before a shop opens. The list disappears when all of it is done. */

import { backupTool } from '../../backups/pages/tools.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { SetupStepName } from '../../../core/stores/storage/setup-step.ts';
import { catalogue, fillPlain } from '../../../pages/kit/texts.ts';
import { emailServerTool, emailServerPath } from '../../emails/pages/server-tool.ts';
import { backupsPath } from '../../backups/pages/recovery-sheet.ts';
import type { TodayTexts } from './texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type StepName = keyof TodayTexts['steps'];

/** The finished steps, as far as the service knows. */
export type Readiness = Readonly<Record<StepName, boolean>>;

/** The names of steps that a person ticks, in the addresses of their forms. */
export const tickedSteps: ReadonlyMap<string, SetupStepName> = new Map([
  ['key-file', 'key_file'],
  ['backup', 'backup'],
]);

/** Undefined: all is done, or the person does not decide about it. */
export function checklist(page: Page, readiness: Readiness): Markup | undefined {
  const text = page.text.today;
  const names = Object.keys(text.steps) as readonly StepName[];
  if (!isPermitted(page.member, 'changeSettings') || names.every((name) => readiness[name])) return undefined;
  const how = (explanation: MarkupPart, command?: string): Markup =>
    markup`<details class="small"><summary>${text.show}</summary><p class="soft">${explanation}</p>${command && markup`<p><code class="copy">${command}</code></p>`}</details>`;
  const tick = (path: string, name: StepName): Markup =>
    markup`<form method="post" action="${page.basePath}/today/done/${path}"><button class="button quiet" aria-label="${fillPlain(text.markDone, { step: text.steps[name] })}">${text.done}</button></form>`;
  const link = (path: string, label: string): Markup =>
    markup`<a href="${page.basePath}${path}">${label}</a>`;
  const actions: Readonly<Record<StepName, { readonly details?: Markup; readonly action?: Markup }>> = {
    shop: {},
    card: { action: link('/cards/new', text.issue) },
    email:
      page.services.tools.of(emailServerTool).rule === 'operator'
        ? { details: how(text.emailHow), action: link('/settings/emails', text.emailSettings) }
        : { action: link(emailServerPath, text.setServer) },
    staff: { action: link('/staff/new', text.invite) },
    keyFile: { details: how(text.keyFileHow), action: tick('key-file', 'keyFile') },
    backup:
      (page.services.tools.of(backupTool)?.rule ?? 'operator') !== 'operator'
        ? { action: link(backupsPath, catalogue[page.language].backups.concern.setUp) }
        : { details: how(text.backupHow, 'largesse backup <file>'), action: tick('backup', 'backup') },
  };
  const items = names.map((name) => {
    const { details, action } = actions[name];
    const isDone = readiness[name];
    const state = markup`<span class="sr">, ${isDone ? text.stepDone : text.stepOpen}</span>`;
    return isDone
      ? markup`<li class="done"><span>${text.steps[name]}${state}</span></li>
`
      : markup`<li><div><strong>${text.steps[name]}${state}</strong><div class="row small">${action}${details}</div></div></li>
`;
  });
  return markup`<section class="panel" aria-labelledby="ready"><h2 id="ready">${text.ready}</h2><ol class="steps">
${items}</ol></section>`;
}
