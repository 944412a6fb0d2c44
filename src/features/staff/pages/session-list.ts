/** The open sessions of a person, with a button to end each. */

import { markup, type Markup } from '../../../platform/markup.ts';
import { openSessionsMax, type SignedInPlaces } from '../service/people.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { browserText } from '../../../pages/kit/user-agent.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Sessions = SignedInPlaces & {
  readonly heading: string;
  readonly none: string;
  /** The path of the person; the forms are below `<path>/sessions`. */
  readonly path: string;
};

export function sessionList(page: Page, { heading, none, path, sessions, tills }: Sessions): Markup {
  const text = page.text.account;
  const forms = `${page.basePath}${path}/sessions`;
  const { session: current } = page.request.signedIn;
  const others = sessions.filter(({ id }) => id !== current.id);
  const isOwn = others.length < sessions.length;
  const endAll =
    others.length === 0
      ? undefined
      : markup`<form method="post" action="${forms}/end"><button class="button quiet bad">${isOwn ? text.endOthers : text.endAll}</button></form>`;
  const head = markup`<div class="head row apart"><h2>${heading}</h2>${endAll}</div>`;
  if (sessions.length === 0)
    return markup`<section class="panel flush">${head}<p class="empty soft">${none}</p></section>`;
  const rows = sessions.map(({ id, tillId, userAgent, createdAt, lastUsedAt }) => {
    const browser = browserText(userAgent, page.language);
    const till = tillId === null ? undefined : tills.get(tillId);
    const device = till === undefined ? browser : fillPlain(text.onTill, { till });
    const label = fillPlain(text.endOf, { name: device });
    const end =
      id === current.id
        ? markup`<span class="small soft">${text.thisOne}</span>`
        : markup`<form method="post" action="${forms}/${String(id)}/end"><button class="button quiet bad" aria-label="${label}">${text.end}</button></form>`;
    return markup`<tr role="row"><td role="cell"><strong>${device}</strong>${till === undefined ? undefined : markup`<br><span class="small soft">${browser}</span>`}</td><td role="cell" class="soft small wide">${page.time(createdAt)}</td><td role="cell" class="soft small whole-line">${page.time(lastUsedAt)}</td><td role="cell" class="aside end">${end}</td></tr>
`;
  });
  const limit =
    sessions.length < openSessionsMax ? undefined : markup`<p class="hint">${String(openSessionsMax)}+</p>`;
  return markup`<section class="panel flush">${head}<table class="table lines" role="table"><caption class="sr">${heading}</caption>
<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.device}</th><th scope="col" role="columnheader">${text.since}</th><th scope="col" role="columnheader">${text.lastSeen}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.end}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table><div class="head">${limit}<p class="hint">${text.sessionsEnd}</p></div></section>`;
}
