/** After a restore: the state of the shop, what waits, and the confirmation of an owner that the old machine is off. */

import { markup, type Markup } from '../../../platform/markup.ts';
import { confirmRestored, countHeld, type HeldCounts } from '../service/restored.ts';
import { alert } from '../../../pages/kit/form.ts';
import { timeText } from '../../../pages/kit/format.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';

const path = '/restored';

async function restoredPage(page: Page, error?: string): Promise<ConsoleResponse> {
  const madeAt = page.services.frame.restoredFrom(page.store.id);
  if (madeAt === undefined) return seeOther('/today');
  const text = page.text.restored;
  const held = await page.read(() => countHeld(page.store));
  const body = markup`<div class="stack narrow">${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-labelledby="state"><h2 id="state">${fillPlain(text.state, { time: timeText(madeAt, page.store, page.language) })}</h2><ul class="bullets"><li>${text.sold}</li><li>${text.redeemed}</li><li>${text.oldMachine}</li></ul></section>
<section class="panel stack" aria-labelledby="confirm"><h2 id="confirm">${text.confirmTitle}</h2>
${page.form(
  path,
  markup`${heldPart(page, held)}<label class="check"><input type="checkbox" name="off" value="yes" required><span>${text.off}</span></label>
<div><button class="button first">${text.confirm}</button></div>`,
)}</section></div>`;
  return page.show(null, { title: text.title, body, status: error === undefined ? 200 : 422 });
}

function heldPart(page: Page, { emails, deliveries }: HeldCounts): Markup {
  const text = page.text.restored;
  if (emails + deliveries === 0) return markup`<p>${text.nothingWaits}</p>`;
  const counts = [
    ...(emails > 0 ? [plural(page.language, text.emails, emails)] : []),
    ...(deliveries > 0 ? [plural(page.language, text.deliveries, deliveries)] : []),
  ];
  return markup`<fieldset><legend>${counts.join(' ')}</legend><p class="hint">${text.waitingHint}</p><div class="choices down">
<label class="choice rows"><input type="radio" name="held" value="send" required><span>${text.send}</span><span class="soft">${text.sendHint}</span></label>
<label class="choice rows"><input type="radio" name="held" value="drop" required><span>${text.drop}</span><span class="soft">${text.dropHint}</span></label></div></fieldset>`;
}

async function confirm(page: Page): Promise<ConsoleResponse> {
  const text = page.text.restored;
  const held = page.typed('held');
  const { emails, deliveries } = await page.read(() => countHeld(page.store));
  const isChosen = held === 'send' || held === 'drop' || emails + deliveries === 0;
  if (page.typed('off') !== 'yes' || !isChosen) return await restoredPage(page, text.choose);
  await page.write(() => confirmRestored(page.ctx, page.by, { isSent: held !== 'drop' }));
  page.services.restoredCopies.delete(page.store.id);
  return seeOther('/today');
}

const owners = { sensitive: 'changeSettings' } as const;

export const restoredRoutes: readonly StaffRoute[] = [
  get(path, owners, (page) => restoredPage(page)),
  post(path, owners, confirm),
];
