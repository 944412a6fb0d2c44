/** The notices of today, above the figures. */

import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import type { Counted } from '../storage/today.ts';
import type { VerificationRecord } from '../../proofs/storage/verification.ts';
import type { Accountant } from '../../accountants/domain/accountant.ts';
import type { Webhook } from '../../webhooks/domain/webhook.ts';
import type { BackupConcern } from '../../backups/service/backups.ts';
import type { VersionConcern } from '../../upgrade/service/versions.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { catalogue, fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { timeText } from '../../../pages/kit/format.ts';
import { accountantPath } from '../../accountants/pages/paths.ts';
import type { SaleCounts } from '../../online-sales/service/list.ts';
import { salesPath } from '../../online-sales/pages/parts.ts';
import { backupsPath } from '../../backups/pages/recovery-sheet.ts';
import { versionsPath } from '../../upgrade/pages/versions.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export type Concerns = {
  /** Usable cards whose email could not be delivered, the newest first; one more than are shown. */
  readonly failed: readonly DetailedCard[];
  readonly paused: readonly Pick<Webhook, 'url' | 'paused'>[];
  readonly expiring: Counted;
  /** The last day of the expiring cards, and today: `YYYY-MM-DD`. */
  readonly expiringFrom: string;
  readonly expiringTo: string;
  readonly verification: VerificationRecord | undefined;
  /** Whether many wrong codes were entered on the page of recipients in the last hour. */
  readonly hasManyWrongCodes: boolean;
  readonly backup: BackupConcern;
  readonly versions: VersionConcern | null;
  /** The accountants whose last email has not arrived. */
  readonly unreached: readonly Pick<Accountant, 'address'>[];
  /** The online sales that wait for a person who may decide; undefined: another person sees the page. */
  readonly sales: SaleCounts | undefined;
};

/** A person who is limited to locations does not see these parts, which are about the whole store. */
const unseen = {
  paused: [],
  expiring: { count: 0, isExact: true },
  verification: undefined,
} as const satisfies Partial<Concerns>;

const failedShown = 3;
const pausedShown = 5;

/** The list of emails with codes that could not be delivered. */
const failedPath = '/emails?state=failed&kind=gift_card';

/** The filter of the list of cards that expire soon. */
function expiringPath({ expiringFrom, expiringTo }: Concerns): string {
  return `/cards?state=active&expires_on_min=${expiringFrom}&expires_on_max=${expiringTo}&sort=expires_on`;
}

type Notice = { readonly content: MarkupPart; readonly isBad?: boolean };

export function notices(page: Page, concerns: Concerns): Markup | undefined {
  const text = page.text.today;
  const isOfStore = isPermitted(page.member, 'readStore');
  const { failed, paused, expiring, verification } = isOfStore ? concerns : { ...concerns, ...unseen };
  const mayChange = isPermitted(page.member, 'changeEmails');
  const items: Notice[] = [];
  if (verification && verification.mismatches > 0) {
    const time = timeText(verification.verifiedAt, page.store, page.language);
    items.push({
      content: plural(page.language, text.mismatches, verification.mismatches, { time }),
      isBad: true,
    });
  }
  if (concerns.backup !== null) {
    const { concern } = catalogue[page.language].backups;
    items.push({
      content: markup`${concern[concerns.backup]} <a href="${page.basePath}${backupsPath}">${concern.link}</a>`,
    });
  }
  if (concerns.sales) items.push(...saleNotices(page, concerns.sales));
  for (const { address } of concerns.unreached) {
    const { unreached, title } = page.text.accountant;
    items.push({
      content: markup`${fill(unreached, { email: markup`<bdi>${address}</bdi>` })} <a href="${page.basePath}${accountantPath}">${title}</a>`,
    });
  }
  if (concerns.versions !== null) items.push({ content: versionNotice(page, concerns.versions) });
  if (isOfStore && concerns.hasManyWrongCodes) items.push({ content: text.wrongCodes, isBad: true });
  for (const { card } of failed.slice(0, failedShown)) {
    const path = `${page.basePath}/cards/${String(page.publicId(card.id))}`;
    const link = markup`<a href="${path}"><span class="code">•••• ${card.lastCharacters}</span></a>`;
    const person = card.recipient?.email ?? card.customer?.email;
    const said =
      person === undefined || person === null
        ? fill(text.failedUnknown, { card: link })
        : fill(text.failed, { card: link, person });
    const action = markup`<a href="${page.basePath}${failedPath}">${text.failedAction}</a>`;
    items.push({ content: mayChange ? markup`${said} ${action}` : said });
  }
  if (isOfStore && failed.length > failedShown)
    items.push({
      content: markup`<a href="${page.basePath}${failedPath}">${text.moreFailed}</a>`,
    });
  for (const { url, paused: pause } of paused.slice(0, pausedShown)) {
    const said = { failures: text.paused, gone: text.pausedGone, requested: text.pausedRequested };
    items.push({
      content: markup`${fill(said[pause?.reason ?? 'requested'], { url: markup`<span class="url">${url}</span>` })} ${text.pausedAction}`,
    });
  }
  if (expiring.count > 0) {
    const form = expiring.isExact ? text.expiringNotice : text.expiringNoticeAtLeast;
    items.push({
      content: markup`${plural(page.language, form, expiring.count)} <a href="${page.basePath}${expiringPath(concerns)}">${text.expiringLink}</a>`,
    });
  }
  if (items.length === 0) return undefined;
  const shown = items.map(
    ({
      content,
      isBad = false,
    }) => markup`<li class="notice${isBad ? ' bad' : ''}"><span>${content}</span></li>
`,
  );
  return markup`<section aria-label="${text.attention}"><ul class="notices">
${shown}</ul></section>`;
}

function saleNotices(page: Page, { review, disputed, owed }: SaleCounts): readonly Notice[] {
  const { today: text, title } = page.text.onlineSales;
  const link = (state: string) => markup`<a href="${page.url(`${salesPath}?state=${state}`)}">${title}</a>`;
  const concerns = [
    { count: review, said: text.review, state: 'review' },
    { count: disputed, said: text.disputed, state: 'attention' },
    { count: owed, said: text.owed, state: 'attention' },
  ];
  return concerns
    .filter(({ count }) => count > 0)
    .map(({ count, said, state }) => ({
      content: markup`${plural(page.language, said, count)} ${link(state)}`,
      isBad: state !== 'review',
    }));
}

function versionNotice(page: Page, found: VersionConcern): Markup {
  const { concern } = page.text.versions;
  const said = found.kind === 'ask' ? concern.ask : fillPlain(concern.later, { version: found.version });
  const label = found.kind === 'ask' ? concern.decide : concern.show;
  return markup`${said} <a href="${page.basePath}${versionsPath}">${label}</a>`;
}
