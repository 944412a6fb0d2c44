/** Emails to all owners of a store: about a change that matters to them, and about the certificate. */

import { ownerNoticesTool, type SendOwnerNotices } from './tools.ts';
import type { CertificateFailure } from '../../https/domain/failure.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { enqueueOwnerNotices, type NoticeContent } from '../service/owner-notices.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { timeText } from '../../../pages/kit/format.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { catalogue, fillPlain, pageLanguageOf } from '../../../pages/kit/texts.ts';

type ChangeNotice = Omit<NoticeContent, 'locale'>;

/** Makes a change and enqueues an email to each owner about it, in one transaction. @param noticeOf null: nothing has changed. */
export async function changeAndNotify<Result>(
  page: Page,
  change: () => Script<Result>,
  noticeOf: (result: Result) => ChangeNotice | null,
): Promise<Result> {
  return await page.write(function* changed() {
    const result = yield* change();
    const notice = noticeOf(result);
    if (notice) {
      const content = { ...notice, locale: page.language };
      yield* enqueueOwnerNotices(page.ctx, page.store, { content });
    }
    return result;
  });
}

/** Sends the emails of a change. Returns whether a mail server has accepted all of them; the others are sent later. */
export async function notifyOwners(page: Page, send?: Parameters<SendOwnerNotices>[1]): Promise<boolean> {
  return await page.services.tools.of(ownerNoticesTool)(page.store, send);
}

/** The email about a certificate that was not renewed. @param locale that of the store's emails. @param until in ms. */
export function certificateNotice(
  store: Store,
  locale: string,
  { until, failure }: { readonly until: number; readonly failure: CertificateFailure | null },
): NoticeContent {
  const language = pageLanguageOf(locale, store);
  const text = catalogue[language].today.health;
  const { notice } = text.certificate;
  return {
    subject: fillPlain(notice.subject, { store: store.name }),
    paragraphs: [
      fillPlain(notice.text, { time: timeText(until, store, language) }),
      ...(failure ? [failure.why] : []),
      `${text.doctor} largesse doctor`,
    ],
    locale: language,
  };
}
