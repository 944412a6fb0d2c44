/** A card as its recipient sees it: on the screen, and as a sheet that folds to a card. */

import { designOf } from '../../../core/cards/domain/design.ts';
import { addDays, formatInstant, startOfDay } from '../../../core/domain/day.ts';
import { isSuspended, unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import { effectOf, increases, type Transfer } from '../../../core/money/domain/ledger.ts';
import type { ShownMovements } from '../service/recipient-lookup.ts';
import { addTexts, type WalletKind } from '../../wallets/domain/wallet.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { balanceRibbon } from '../../card-pages/pages/parts.ts';
import { cardSheet } from '../../card-pages/pages/sheet.ts';
import { barcodeSvg, groupedCode, qrSvg } from '../../../pages/kit/code-view.ts';
import { drawingOf, giftDrawing } from '../../../pages/kit/gift.ts';
import { amountText, dayText, figure, signedText, timeElement } from '../../../pages/kit/format.ts';
import { phoneLink } from '../../../core/stores/domain/identity.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { writeLink } from '../../../pages/kit/identity.ts';
import { publicPage, type RecipientPlace, type ShownBy } from './place.ts';
import type { RecipientLanguage } from './texts.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { PageResponse } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { hidden } from '../../../pages/kit/form.ts';

/** The name of a movement. It names no member of staff, till, order or reference. */
function movementName({ kind, credit }: Transfer, { texts }: RecipientLanguage): string {
  switch (kind) {
    case 'issue':
      return texts.issued;
    case 'debit':
    case 'capture':
      return texts.redeemed;
    case 'credit':
    case 'top_up':
      return texts.added;
    case 'adjustment':
      return texts.adjusted;
    case 'reversal':
      return increases(credit) ? texts.refunded : texts.takenBack;
  }
}

/** The movements, each with its time and its location: those of a location have the time there. */
function history(
  { store, language }: RecipientPlace,
  { transfers, locations }: Omit<ShownMovements, 'isViewed'>,
): Markup {
  const { locale, texts } = language;
  const rows = transfers.map((transfer) => {
    const { amount, createdAt, locationId } = transfer;
    const location = locationId === null ? undefined : locations.get(locationId);
    const change = signedText({ ...amount, minor: effectOf(transfer) }, locale);
    const at = { timeZone: location?.timeZone ?? store.timeZone };
    const time = timeElement(createdAt, at, locale, { dateStyle: 'long', timeStyle: 'short' });
    const place = location && markup`<bdi>${location.name}</bdi><br>`;
    return markup`<li class="row apart stub"><span><strong>${movementName(transfer, language)}</strong><br><span class="small soft">${place}${time}</span></span><span class="sum"><bdi>${change}</bdi></span></li>
`;
  });
  return markup`<section class="panel" aria-labelledby="history"><h2 id="history">${texts.history}</h2><ul>
${rows}</ul></section>
`;
}

const icons = {
  fill: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/></svg>`,
  copy: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><rect x="8" y="8" width="12" height="12" rx="2"/><path d="M16 8V4H4v12h4"/></svg>`,
  save: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d="M12 4v11M7.5 10.5 12 15l4.5-4.5M4 19.5h16"/></svg>`,
  print: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d="M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z"/></svg>`,
  wallet: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><rect x="3.5" y="6" width="17" height="13" rx="2"/><path d="M3.5 10h17M15 14.5h2"/></svg>`,
  spent: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d="m5 12.5 4.5 4.5L19 7.5"/></svg>`,
  suspended: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><circle cx="12" cy="12" r="8.5"/><path d="M9.5 8.5v7M14.5 8.5v7"/></svg>`,
  expired: markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/></svg>`,
} as const;

/** The location of the sale of a card, if its page shows the sale; undefined: none. */
function saleOf({ transfers, locations }: Omit<ShownMovements, 'isViewed'>): Location | undefined {
  const { locationId = null } = transfers.find(({ kind }) => kind === 'issue') ?? {};
  return locationId === null ? undefined : locations.get(locationId);
}

type ShownCard = ShownBy &
  Omit<ShownMovements, 'isViewed'> & {
    readonly card: Card;
    readonly isOver: boolean;
    /** Whether the service generated the code. All short codes can be tried on a copy. */
    readonly isGenerated: boolean;
    /** The wallets of phones that the store has set up. */
    readonly wallets: readonly WalletKind[];
    /** Whether a wallet has not accepted the card just now. */
    readonly hasWalletFailed?: boolean;
  };

/** An amount in a sentence, which keeps its own direction. */
function isolated(amount: string): Markup {
  return markup`<bdi>${amount}</bdi>`;
}

/**
 * The code for the counter. Scanners read it on white, so it is white on dark pages as well. A browser keeps a copy of the
 * card until the instant of `data-until`, or for ever if it is empty, and without the attribute none.
 */
function codePanel(
  { store, language: { texts, shared }, cardPage }: RecipientPlace,
  { card, code, isGenerated }: ShownCard,
): Markup {
  const until =
    card.expiresOn === null ? '' : formatInstant(startOfDay(addDays(card.expiresOn, 1), store.timeZone));
  const qr = qrSvg(code, { page: cardPage.url, label: shared.qrAlt });
  return markup`<section class="show-code"${isGenerated ? markup` data-until="${until}"` : undefined} aria-label="${shared.codeLabel}"><button class="qr-tap" type="button" popovertarget="full">${qr}<span class="tap">${icons.fill}${texts.fill}</span></button>
<p class="codeline" id="shown-code" dir="ltr">${groupedCode(code)}</p></section>
`;
}

/** The code on the whole screen, with the barcode for scanners that read no QR codes. */
function fullScreen(
  { frame: { isPreview = false } }: Pick<ConsoleServices, 'frame'>,
  { shop, language: { locale, texts, shared }, cardPage }: RecipientPlace,
  { card, code }: ShownCard,
): Markup {
  const qr = qrSvg(code, { page: cardPage.url, label: shared.qrAlt });
  const left = amountText(unheldOf(card), locale);
  return markup`<div class="full" id="full" popover role="dialog" aria-label="${shared.codeLabel}"><p class="shopname"><bdi>${shop}</bdi></p><div class="code-block">${qr}${barcodeSvg(code)}<p class="codeline" dir="ltr">${groupedCode(code)}</p><p><strong>${isolated(left)}</strong> ${texts.available}</p></div><button class="button" type="button" popovertarget="full" popovertargetaction="hide"${isPreview ? undefined : markup` autofocus`}>${texts.close}</button></div>
`;
}

/** The amount that can be spent now, as the large figure; the amount on hold is named below it. */
function spendable({ language: { locale, texts, shared } }: RecipientPlace, { card }: ShownCard): Markup {
  const available = unheldOf(card);
  const [left, initial] = [amountText(available, locale), amountText(card.initialValue, locale)];
  const held =
    card.held.minor > 0n
      ? markup`<span>${fill(texts.held, { amount: isolated(amountText(card.held, locale)) })}</span>`
      : undefined;
  const until =
    card.expiresOn === null
      ? undefined
      : markup`<span id="valid-until">${shared.expiryLabel} <span class="nowrap">${dayText(card.expiresOn, locale, 'long')}</span></span>`;
  return markup`<section class="spendable"><p class="notice" id="saved" role="status" data-text="${texts.saved}" hidden></p><p>${figure(available, locale)} <span class="soft">${texts.available}</span></p>
${balanceRibbon(card, fillPlain(texts.left, { left, initial }))}
<p class="row apart small soft">${held}${until}</p></section>
`;
}

/**
 * The card as it was given. With words of the person who gave it, it is a present: it opens in place of the code, and is
 * folded below it afterwards, and when the browser has shown it before (`recipient.js`).
 */
function gift(
  { frame }: ConsoleServices,
  { shop, brand, design, language }: RecipientPlace,
  card: Card,
): Markup {
  const { locale, texts, shared } = language;
  const drawing = giftDrawing({
    shop,
    name: card.recipientName,
    figure: figure(card.initialValue, locale),
    brand,
    drawing: drawingOf(frame, designOf(card.design, design)),
  });
  const { senderName, message } = card;
  if (senderName === null && message === null)
    return markup`<section class="panel" aria-label="${texts.gift}">${drawing}</section>
`;
  const heading =
    senderName === null
      ? shared.giftCardHeading
      : fill(shared.giftFromHeading, { sender: markup`<bdi>${senderName}</bdi>` });
  const words =
    message === null
      ? undefined
      : markup`<blockquote class="gift-note${message.length > 160 ? ' long' : ''}" dir="auto">${message}</blockquote>`;
  return markup`<details class="gift-fold" data-gift="${card.createdAt}" open><summary><span class="when-open">${texts.showCode}</span><span class="when-folded">${texts.gift}</span></summary><div class="gift-words"><h2>${heading}</h2>${words}${drawing}</div></details>
`;
}

/** Buttons that add the card to the wallets of phones. They send the code again, because a URL never has it. */
function walletButtons(
  { page, language: { shared, texts } }: RecipientPlace,
  { code, address, wallets, hasWalletFailed = false }: ShownCard,
): Markup | undefined {
  if (wallets.length === 0) return undefined;
  const email = address === null ? undefined : hidden('email', address);
  const buttons = wallets.map(
    (kind) =>
      markup`<button class="button" formaction="${page}/wallet/${kind}">${icons.wallet}<span>${shared[addTexts[kind]]}</span></button>`,
  );
  const problem = hasWalletFailed
    ? markup`<p class="notice" role="alert">${texts.walletFailed}</p>`
    : undefined;
  return markup`${problem}<form class="tools-line" method="post" action="${page}">${hidden('code', code.reveal())}${email}${buttons}</form>
`;
}

/** A link to the form for another card. The tab no longer keeps the code of this one. */
function another({ path, language: { texts } }: RecipientPlace): Markup {
  return markup`<p class="center"><a class="button quiet" href="${path}" data-forget>${texts.another}</a></p>`;
}

export function recipientCardPage(
  services: ConsoleServices,
  place: RecipientPlace,
  shown: ShownCard,
): PageResponse {
  const { card, isOver } = shown;
  if (isOver) return endedPage(services, place, shown, expiredText(place, card));
  if (isSuspended(card)) return endedPage(services, place, shown, suspendedText(place, card));
  if (card.balance.minor === 0n) return endedPage(services, place, shown, spentText(place, shown));
  const { shop, brand, language, cardPage } = place;
  const { texts, shared } = language;
  const content = markup`<h1 class="sr">${shared.cardTitle}</h1>${codePanel(place, shown)}${spendable(place, shown)}<section class="grid" aria-label="${shared.cardTitle}"><div class="tools-line"><button class="button" type="button" data-image hidden>${icons.save}<span>${texts.save}</span></button><button class="button" type="button" data-copy="shown-code" data-copied="${texts.copied}" hidden>${icons.copy}<span>${texts.copy}</span></button><button class="button" type="button" data-print hidden>${icons.print}<span>${texts.print}</span></button></div>
${walletButtons(place, shown)}<p class="small soft">${shared.codeHint} ${texts.private}</p></section>
${gift(services, place, card)}<div class="grid">${history(place, shown)}${another(place)}</div>
${fullScreen(services, place, shown)}`;
  const sheet = cardSheet({
    card,
    code: shown.code,
    amount: unheldOf(card),
    shop,
    brand,
    drawing: drawingOf(services.frame, designOf(card.design, place.design)),
    page: cardPage,
    identity: place.identity,
    at: saleOf(shown),
    language: { ...language, texts: shared },
    fold: texts.fold,
    isOnlyPrinted: true,
  });
  return {
    status: 200,
    body: publicPage(services, place, {
      title: shared.cardTitle,
      content,
      isCard: true,
      at: saleOf(shown),
      sheet,
      shownBy: shown,
    }),
  };
}

type Ended = {
  readonly icon: Markup;
  readonly title: string;
  readonly text: MarkupPart;
  /** A fact about the card; null: there is none. */
  readonly fact: { readonly name: string; readonly value: MarkupPart } | null;
};

function expiredText({ language: { locale, texts } }: RecipientPlace, card: Card): Ended {
  const day = card.expiresOn === null ? '' : dayText(card.expiresOn, locale, 'long');
  const left =
    card.balance.minor > 0n
      ? markup` ${fill(texts.expiredLeft, { amount: isolated(amountText(card.balance, locale)) })} ${texts.expiredAsk}`
      : undefined;
  return {
    icon: icons.expired,
    title: texts.expiredTitle,
    text: markup`${fill(texts.expiredText, { day })}${left}`,
    fact: { name: texts.expired, value: day },
  };
}

/** It does not say why. */
function suspendedText({ store, language: { locale, texts } }: RecipientPlace, card: Card): Ended {
  const { suspendedAt } = card;
  return {
    icon: icons.suspended,
    title: texts.suspendedTitle,
    text: texts.suspendedText,
    fact:
      suspendedAt === null
        ? null
        : { name: texts.suspended, value: timeElement(suspendedAt, store, locale, { dateStyle: 'long' }) },
  };
}

function spentText({ store, language: { locale, texts } }: RecipientPlace, { transfers }: ShownCard): Ended {
  const last = transfers.find((transfer) => effectOf(transfer) < 0n);
  const value = last && timeElement(last.createdAt, store, locale, { dateStyle: 'long' });
  return {
    icon: icons.spent,
    title: texts.emptyTitle,
    text: texts.emptyText,
    fact: value ? { name: texts.lastUsed, value } : null,
  };
}

/** The phone is the first button, because a person at the counter has no time for an email. */
function waysToAsk({
  identity: { phone, contact },
  language: { texts },
}: RecipientPlace): Markup | undefined {
  if (phone === null && contact === null) return undefined;
  const call =
    phone === null
      ? undefined
      : markup`<a class="button first" href="${phoneLink(phone)}">${texts.call} <bdi dir="ltr">${phone}</bdi></a>`;
  const write =
    contact === null
      ? undefined
      : markup`<a class="button${call ? '' : ' first'}" href="${writeLink(contact)}">${texts.write}</a>`;
  return markup`<div class="actions">${call}${write}</div>
`;
}

/** A card that cannot be used: it has neither the color of a card nor a code or a large amount. */
function endedPage(
  services: ConsoleServices,
  place: RecipientPlace,
  shown: ShownCard,
  { icon, title, text, fact }: Ended,
): PageResponse {
  const { card, code, address } = shown;
  const { shared } = place.language;
  const facts = fact && markup`<dt>${fact.name}</dt><dd>${fact.value}</dd>`;
  const content = markup`<section class="void"><span class="badge">${icon}</span><h1>${title}</h1><p class="soft">${text}</p><dl class="facts"><dt>${shared.cardTitle}</dt><dd dir="ltr">•••• ${card.lastCharacters}</dd>${facts ?? undefined}</dl></section>
<div class="grid">${waysToAsk(place)}${history(place, shown)}${another(place)}</div>
`;
  const shownBy = { code, address };
  return {
    status: 200,
    body: publicPage(services, place, { title, content, isCard: true, at: saleOf(shown), shownBy }),
  };
}
