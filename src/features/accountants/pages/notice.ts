/** The email to an accountant about a month, and the figures that it shares with the page of its link. */

import type { Store } from '../../../core/stores/domain/store.ts';
import type { JournalReport } from '../../books/service/reports.ts';
import type { AddressedMonth } from '../service/accountants.ts';
import { amountText, monthText, timeText } from '../../../pages/kit/format.ts';
import { catalogue, fillPlain, pageLanguageOf, type PageLanguage } from '../../../pages/kit/texts.ts';

type Totals = JournalReport['totals'];

/** The figures of a month in their order: each name, and its amount. */
export function totalRows(
  { currency }: Pick<Store, 'currency'>,
  totals: Totals,
  language: PageLanguage,
): readonly (readonly [name: string, amount: string])[] {
  const { rows } = catalogue[language].accountant;
  const amount = (minor: bigint): string => amountText({ minor, currency }, language);
  return [
    [rows.opening, amount(totals.opening)],
    [rows.issued, amount(totals.issued)],
    [rows.topped_up, amount(totals.topped_up)],
    [rows.redeemed, amount(-totals.redeemed)],
    [rows.refunded, amount(totals.refunded)],
    [rows.adjusted, amount(totals.adjusted)],
    [rows.closing, amount(totals.closing)],
    [rows.expired, amount(totals.expired)],
  ];
}

type MonthNotice = {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly code: null;
  readonly locale: string;
  readonly facts?: ReturnType<typeof totalRows>;
  readonly link?: { readonly text: string; readonly url: string };
};

/** @param totals null: the email is a test, without figures and a link. */
export function monthNotice(
  store: Store,
  { accountant, email }: AddressedMonth,
  { totals, link }: { readonly totals: Totals | null; readonly link: string },
): MonthNotice {
  const language = pageLanguageOf(accountant.language, store);
  const text = catalogue[language].accountant;
  const month = monthText(email.month, language);
  const names = { store: store.name, month };
  const common = { code: null, locale: language };
  if (!totals)
    return {
      ...common,
      subject: fillPlain(text.email.testSubject, { store: store.name }),
      paragraphs: [fillPlain(text.email.test, { store: store.name })],
    };
  const until = timeText(email.linkUntil, store, language, { dateStyle: 'long' });
  return {
    ...common,
    subject: fillPlain(text.email.subject, names),
    paragraphs: [
      fillPlain(text.email.intro, names),
      fillPlain(text.email.until, { day: until }),
      text.email.noNames,
      fillPlain(text.email.why, { store: store.name }),
    ],
    facts: totalRows(store, totals, language),
    link: { text: fillPlain(text.email.link, { month }), url: link },
  };
}
