/** The emails about an order whose card was not made, or whose money goes back. They have the words of its page. */

import type { Store } from '../../../../core/stores/domain/store.ts';
import type { OrderFacts } from '../../service/order.ts';
import { amountText, timeText } from '../../../../pages/kit/format.ts';
import type { CustomerLanguage } from '../../../../pages/kit/services.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import { buyTextsOf, type BuyTexts } from '../../../recipient/pages/texts.ts';

/** An email as `noticeEmail` makes it. */
type OrderNotice = {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly code: null;
  readonly locale: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly link?: { readonly text: string; readonly url: string };
};

type Place = {
  readonly store: Store;
  /** The language of the buyer, with the formats of the store. */
  readonly language: Pick<CustomerLanguage, 'locale'> & { readonly tag: string };
  /** The number that people read. */
  readonly number: string;
  /** The page of the order. */
  readonly link: string;
  /** The terms that the buyer has accepted; null: none are known. */
  readonly termsUrl: string | null;
};

type Words = { readonly title: string; readonly paragraphs: readonly string[] };

/** The state of an order in words; undefined: the sale has no email of this kind. */
function wordsOf(
  texts: BuyTexts,
  { store, language }: Place,
  { sale, refunds }: OrderFacts,
): Words | undefined {
  const { locale } = language;
  const amount = amountText(sale.amount, locale);
  switch (sale.state) {
    case 'waiting':
      return { title: texts.waitingTitle, paragraphs: [texts.waitingText, texts.withdrawHint] };
    case 'failed':
    case 'expired':
      return { title: texts.endedTitle, paragraphs: [texts.endedText] };
    case 'review': {
      const time = timeText(sale.reviewUntil ?? sale.createdAt, store, locale);
      const text = fillPlain(texts.reviewText, { time });
      return { title: texts.reviewTitle, paragraphs: [text, texts.withdrawHint] };
    }
    case 'returned':
      return { title: texts.returnedTitle, paragraphs: [fillPlain(texts.returnedText, { amount })] };
    case 'issued': {
      if (sale.refunded.minor === 0n) return undefined;
      const text = fillPlain(texts.refundedText, { amount: amountText(sale.refunded, locale) });
      const withdrawal = refunds.find(({ by }) => by === 'buyer');
      const received =
        withdrawal && fillPlain(texts.withdrawn, { time: timeText(withdrawal.createdAt, store, locale) });
      return { title: texts.refundingTitle, paragraphs: [...(received ? [received] : []), text] };
    }
    case 'new':
    case 'open':
      return undefined;
  }
}

/** The emails that are due for an order: to its buyer, and to the recipient of a card that was sent and stopped. */
export function orderNotices(place: Place, order: OrderFacts): readonly OrderNotice[] {
  const { store, language, number, link, termsUrl } = place;
  const texts = buyTextsOf(language.tag);
  const { sale, ordered } = order;
  const words = wordsOf(texts, place, order);
  const common = { code: null, locale: language.tag } as const;
  const toBuyer: readonly OrderNotice[] =
    words === undefined || sale.buyerAddress === null
      ? []
      : [
          {
            ...common,
            to: sale.buyerAddress,
            subject: `${words.title} · ${store.name}`,
            paragraphs: [...words.paragraphs, ...(termsUrl === null ? [] : [termsUrl])],
            facts: [
              [texts.receipt, fillPlain(texts.number, { number })],
              [texts.card, amountText(sale.amount, language.locale)],
              ...(sale.method === null ? [] : ([[texts.method, sale.method]] as const)),
            ],
            link: { text: texts.orderTitle, url: link },
          },
        ];
  const { email, card } = ordered ?? { email: null, card: null };
  const hasCard = sale.delivery === 'email' && (email?.state === 'sent' || email?.state === 'kept');
  if (!hasCard || email === null || card?.disabledAt === null || sale.refunded.minor === 0n) return toBuyer;
  const stopped: OrderNotice = {
    ...common,
    to: email.address,
    subject: `${texts.stoppedTitle} · ${store.name}`,
    paragraphs: [fillPlain(texts.stoppedText, { store: store.name })],
  };
  return [...toBuyer, stopped];
}
