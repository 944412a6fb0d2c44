/** The emails to accountants as a table: on the page of the accountants, and in the list of all emails. */

import type { Accountant, AccountantEmail } from '../domain/accountant.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { reasonOfEmail, emailStateTag } from '../../emails/pages/texts.ts';
import { monthText, timeElement } from '../../../pages/kit/format.ts';
import { small, table } from '../../../pages/kit/parts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { fill } from '../../../pages/kit/texts.ts';

/** The subject of an email: a month, or a test. */
function aboutOf({ language, text }: Page, { kind, month }: AccountantEmail): string {
  return kind === 'test' ? text.accountant.testEmail : monthText(month, language);
}

/** When a page was opened or its file downloaded; undefined: neither, or there is no link. */
function readAt(page: Page, { openedAt, downloadedAt }: AccountantEmail): Markup | undefined {
  const text = page.text.accountant;
  if (downloadedAt !== null) return fill(text.downloadedAt, { time: page.time(downloadedAt) });
  return openedAt === null ? undefined : fill(text.openedAt, { time: page.time(openedAt) });
}

function whyOf(page: Page, email: AccountantEmail): Markup | undefined {
  const reason = reasonOfEmail(email, page.language);
  const retry =
    email.state === 'deferred' && email.nextAt !== null
      ? fill(page.text.emails.nextTry, { time: page.time(email.nextAt) })
      : undefined;
  const read = readAt(page, email);
  return markup`${reason} ${retry} ${read}`;
}

export function sentTable(
  page: Page,
  accountants: readonly Accountant[],
  emails: readonly AccountantEmail[],
): Markup {
  const { columns } = page.text.emails;
  const addresses = new Map(accountants.map(({ id, address }) => [id, address]));
  return table({
    caption: page.text.accountant.sent,
    columns: [columns.to, columns.what, columns.state, columns.reason, { class: 'sum', name: columns.when }],
    rows: emails.map((email) => [
      addresses.get(email.accountantId) ?? '',
      aboutOf(page, email),
      { class: 'aside', html: emailStateTag(email.state, page.language) },
      { class: 'whole-line', html: small(whyOf(page, email) ?? '') },
      {
        class: 'sum soft whole-line',
        html: timeElement(email.endedAt ?? email.createdAt, page.store, page.language),
      },
    ]),
  });
}
