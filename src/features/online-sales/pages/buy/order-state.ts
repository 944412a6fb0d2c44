/** The words of an order: what is the case, what happened, and what comes next. */

import { isSuspended } from '../../../../core/cards/domain/card.ts';
import type { Money } from '../../../../core/money/domain/money.ts';
import { codeShownDays, isAwaitingPayment, type OnlineSale } from '../../domain/sale.ts';
import { addDays, dayOf } from '../../../../core/domain/day.ts';
import type { Secret } from '../../../../platform/secret.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { isUndelivered, type OrderFacts, type OrderedCard } from '../../service/order.ts';
import { amountText, dayText, signedText, timeElement, timeText } from '../../../../pages/kit/format.ts';
import { fill, fillPlain } from '../../../../pages/kit/texts.ts';
import { providerName } from '../../domain/provider-names.ts';
import type { BuyPlace, hero } from './place.ts';

type Words = Omit<Parameters<typeof hero>[0], 'text'> & {
  readonly text: Markup | string;
  /** Seconds after which the page can be another one; absent: it changes only by what people do. */
  readonly refreshSeconds?: number;
};

/** The parts of an order that decide its words. */
export type ShownOrder = OrderFacts & { readonly now: number };

/** An order that a link opened. */
export type OpenedOrder = {
  readonly place: BuyPlace;
  readonly order: ShownOrder;
  readonly code: Secret | null;
  /** The path of the page, with the base path. */
  readonly path: string;
};

const soonSeconds = 10;
const laterSeconds = 60;

function isolate(text: string): Markup {
  return markup`<bdi dir="ltr">${text}</bdi>`;
}

/** The last day on which the page shows the code of a card for its buyer. */
function shownUntil({ createdAt, paidAt, decidedAt }: OnlineSale, { store }: BuyPlace): string {
  return addDays(dayOf(decidedAt ?? paidAt ?? createdAt, store.timeZone), codeShownDays);
}

/** The state of an order, in one sentence. */
export function wordsOf(place: BuyPlace, order: ShownOrder): Words {
  const { sale } = order;
  if (isAwaitingPayment(sale.state)) return unpaidWords(place, order);
  const { texts } = place;
  if (sale.state === 'expired' || sale.state === 'failed')
    return { icon: 'ended', title: texts.endedTitle, text: texts.endedText };
  return disputeWords(place, order) ?? moneyBackWords(place, order) ?? paidWords(place, order);
}

function unpaidWords({ texts }: BuyPlace, { sale }: ShownOrder): Words {
  if (sale.state === 'waiting')
    return { icon: 'wait', title: texts.waitingTitle, text: texts.waitingText, refreshSeconds: laterSeconds };
  const provider = providerName(sale.provider);
  const text = fillPlain(texts.openText, { provider });
  return { icon: 'wait', title: texts.openTitle, text, refreshSeconds: soonSeconds };
}

function disputeWords({ texts, language }: BuyPlace, { sale }: ShownOrder): Words | undefined {
  const amount = markup`<bdi>${amountText(sale.amount, language.locale)}</bdi>`;
  if (sale.dispute === 'open' || sale.dispute === 'warning')
    return { icon: 'bad', title: texts.disputedTitle, text: fill(texts.disputedText, { amount }) };
  if (sale.dispute === 'lost')
    return { icon: 'ended', title: texts.lostTitle, text: fill(texts.lostText, { amount }) };
  return undefined;
}

function moneyBackWords({ texts, language }: BuyPlace, { sale, refunds }: ShownOrder): Words | undefined {
  const shown = (money: Money): Markup => markup`<bdi>${amountText(money, language.locale)}</bdi>`;
  if (sale.state === 'returned') {
    const text = fill(texts.returnedText, { amount: shown(sale.paid) });
    return { icon: 'back', title: texts.returnedTitle, text };
  }
  if (sale.refunded.minor === 0n) return undefined;
  const isDone = refunds.every(({ state }) => state === 'paid' || state === 'failed');
  return {
    icon: 'back',
    title: isDone ? texts.refundedTitle : texts.refundingTitle,
    text: fill(texts.refundedText, { amount: shown(sale.refunded) }),
    ...(!isDone && { refreshSeconds: laterSeconds }),
  };
}

function paidWords(place: BuyPlace, order: ShownOrder): Words {
  const { texts, store, language } = place;
  const { locale } = language;
  const { sale, ordered } = order;
  if (sale.state === 'review' || !ordered) {
    const time = timeText(sale.reviewUntil ?? order.now, store, locale);
    const text = fillPlain(texts.reviewText, { time });
    return { icon: 'wait', title: texts.reviewTitle, text, refreshSeconds: laterSeconds };
  }
  if (sale.delivery === 'self') {
    const day = dayText(shownUntil(sale, place), locale, 'long');
    return { icon: 'good', title: texts.selfTitle, text: fillPlain(texts.selfText, { day }) };
  }
  return emailWords(place, order, ordered);
}

function emailWords(place: BuyPlace, { sale, now }: ShownOrder, ordered: OrderedCard): Words {
  const { texts, store, language } = place;
  const { email } = ordered;
  const address = isolate(email?.address ?? sale.recipientAddress ?? '');
  if (isUndelivered(ordered))
    return {
      icon: 'bad',
      title: texts.undeliveredTitle,
      text: fill(texts.undeliveredText, { address }),
    };
  if (email?.state === 'scheduled' && email.sendAt > now) {
    const day = timeText(email.sendAt, store, language.locale, { dateStyle: 'long' });
    const text = fill(texts.scheduledText, { address });
    return { icon: 'good', title: fillPlain(texts.scheduledTitle, { day }), text };
  }
  if (email?.state === 'sent' || email?.state === 'kept')
    return { icon: 'good', title: texts.sentTitle, text: fill(texts.sentText, { address }) };
  return {
    icon: 'good',
    title: texts.sendingTitle,
    text: fill(texts.sendingText, { address }),
    refreshSeconds: soonSeconds,
  };
}

type Entry = {
  readonly kind: 'money' | 'fail' | 'next';
  readonly name: string;
  readonly below?: Markup | string | undefined;
  readonly sum?: string | undefined;
};

/** The events of an order, and those that are expected. */
export function timelineOf(place: BuyPlace, order: ShownOrder): Markup {
  const entries = [
    ...paymentEntries(place, order),
    ...cardEntries(place, order),
    ...disputeEntries(place, order),
    ...stopEntries(place, order),
    ...refundEntries(place, order),
  ].toSorted((one, other) => Number(one.kind === 'next') - Number(other.kind === 'next'));
  const items = entries.map(
    ({ kind, name, below, sum }) =>
      markup`<li class="${kind}"><span><strong>${name}</strong><br><span class="soft">${below}</span></span><span class="sum"><bdi>${sum}</bdi></span></li>
`,
  );
  return markup`<section class="panel" aria-labelledby="happens"><h2 id="happens">${place.texts.happens}</h2><ol class="timeline">
${items}</ol></section>
`;
}

function timeIn({ store, language }: BuyPlace, at: number | null): Markup | undefined {
  return at === null ? undefined : timeElement(at, store, language.locale);
}

function paymentEntries(place: BuyPlace, { sale }: ShownOrder): readonly Entry[] {
  const { texts, store, language } = place;
  const sum = amountText(sale.paidAt === null ? sale.amount : sale.paid, language.locale);
  if (sale.paidAt === null) {
    const ordered: Entry = { kind: 'money', name: texts.ordered, below: timeIn(place, sale.createdAt), sum };
    if (sale.state === 'expired' || sale.state === 'failed')
      return [ordered, { kind: 'fail', name: texts.endedTitle, below: timeIn(place, sale.decidedAt) }];
    const sent: Entry = { kind: 'next', name: sale.delivery === 'self' ? texts.made : texts.sentNext };
    return [ordered, { kind: 'next', name: texts.confirmed }, sent];
  }
  const paid: Entry = { kind: 'money', name: texts.paid, below: timeIn(place, sale.paidAt), sum };
  if (sale.state !== 'review') return [paid];
  const by = timeText(sale.reviewUntil ?? sale.paidAt, store, language.locale);
  return [
    paid,
    { kind: 'next', name: texts.checked, below: fillPlain(texts.by, { time: by }) },
    { kind: 'next', name: sale.delivery === 'self' ? texts.made : texts.sentNext },
  ];
}

function cardEntries(place: BuyPlace, { sale, ordered, now }: ShownOrder): readonly Entry[] {
  const { texts } = place;
  if (!ordered) return [];
  const made: Entry = { kind: 'money', name: texts.made, below: timeIn(place, ordered.card.createdAt) };
  if (sale.delivery === 'self') return [made];
  const { email, openedAt } = ordered;
  const isSent = email?.state === 'sent' || email?.state === 'kept';
  const isStopped = isSuspended(ordered.card) || ordered.card.disabledAt !== null;
  if (!isSent) {
    if (isUndelivered(ordered))
      return [made, { kind: 'fail', name: texts.undelivered, below: timeIn(place, email?.endedAt ?? null) }];
    if (isStopped) return [made];
    return [
      made,
      { kind: 'next', name: texts.sentNext, below: timeIn(place, Math.max(email?.sendAt ?? now, now)) },
    ];
  }
  const sent: Entry = { kind: 'money', name: texts.sent, below: timeIn(place, email.endedAt) };
  const opened: Entry =
    openedAt === null
      ? { kind: 'next', name: texts.opened, below: texts.notYet }
      : { kind: 'money', name: texts.opened, below: timeIn(place, openedAt) };
  return openedAt === null && isStopped ? [made, sent] : [made, sent, opened];
}

function disputeEntries(place: BuyPlace, { sale }: ShownOrder): readonly Entry[] {
  const { texts } = place;
  const { dispute, disputedAt } = sale;
  if (dispute === null || dispute === 'won') return [];
  const questioned: Entry = { kind: 'fail', name: texts.questioned, below: timeIn(place, disputedAt) };
  return dispute === 'lost'
    ? [questioned, { kind: 'fail', name: texts.lostTitle }]
    : [questioned, { kind: 'next', name: texts.decision }];
}

function refundEntries(place: BuyPlace, { refunds }: ShownOrder): readonly Entry[] {
  const { texts, language } = place;
  return refunds
    .filter(({ state }) => state !== 'failed')
    .toReversed()
    .map(({ amount, state, createdAt, settledAt }) => ({
      kind: state === 'paid' ? 'money' : 'next',
      name: state === 'paid' ? texts.refunded : texts.refundRequested,
      below: timeIn(place, settledAt ?? createdAt),
      sum: signedText({ ...amount, minor: -amount.minor }, language.locale),
    }));
}

function stopEntries(place: BuyPlace, { ordered }: ShownOrder): readonly Entry[] {
  if (!ordered) return [];
  const stoppedAt = ordered.card.suspendedAt ?? ordered.card.disabledAt;
  if (stoppedAt === null) return [];
  return [{ kind: 'fail', name: place.texts.stopped, below: timeIn(place, stoppedAt) }];
}
