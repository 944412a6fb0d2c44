/** The page that shows the code of a new card, or a new code of a card, and the sheet that is printed. */

import { designOf } from '../../../core/cards/domain/design.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { lastCharactersOf } from '../../../core/cards/domain/code.ts';
import { Secret } from '../../../platform/secret.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { retrieve } from '../../../core/cards/service/card.ts';
import { findSalePlaces } from '../../../core/cards/service/sale-place.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { endingOf, pathOfCard } from '../../../pages/kit/card-texts.ts';
import { cardPageOf } from './recipient-page.ts';
import { cardSheet, sheetLookOf } from './sheet.ts';
import { barcodeSvg, groupedCode, qrSvg } from '../../../pages/kit/code-view.ts';
import { drawingOf, giftDrawing } from '../../../pages/kit/gift.ts';
import { keepsEmails } from '../../emails/pages/texts.ts';
import { dayText, figure } from '../../../pages/kit/format.ts';
import { findResult, type Json } from '../../../pages/kit/once.ts';
import { documentOf } from '../../../pages/kit/page.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

/** The result of a form that made a code. It is stored sealed, for 24 hours, for one person. */
export type ShownCode = {
  readonly done: 'issued' | 'rotated';
  readonly card: number;
  readonly code: string;
  /** The address of the email; null or absent: none. */
  readonly address?: string | null;
  /** When the email is sent (ms); null or absent: at once. */
  readonly sendAt?: number | null;
  /** The address of the receipt; null or absent: none. */
  readonly receipt?: string | null;
};

function isShownCode(result: Json): result is ShownCode {
  if (typeof result !== 'object' || result === null || !('code' in result) || !('card' in result))
    return false;
  // Other forms have results of other kinds.
  const isOwn = 'done' in result && (result['done'] === 'issued' || result['done'] === 'rotated');
  return isOwn && typeof result['card'] === 'number' && typeof result['code'] === 'string';
}

type Found = { readonly shown: ShownCode; readonly card: Card; readonly code: Secret };

/** Undefined: the person has no such result, it is older than 24 hours, or the card has got another code since. */
async function findShown(page: Page): Promise<Found | undefined> {
  const shown = await findResult(page.services, page.request, page.param('key'), isShownCode);
  if (!shown) return undefined;
  const card = await page.read(() => retrieve(page.store.id, shown.card));
  const code = new Secret(shown.code);
  return card.lastCharacters === lastCharactersOf(code) ? { shown, card, code } : undefined;
}

function mayRead(page: Page): boolean {
  return isPermitted(page.member, 'readCards');
}

/** The page instead of a code that is no longer shown. */
function overPage(page: Page): ConsoleResponse {
  const { over, newCard } = page.text.issue;
  const [path, name] = mayRead(page) ? ['/cards', over.cards] : ['/till', over.till];
  const body = markup`<section class="panel stack change" aria-label="${over.title}"><p role="status">${over.text}</p>
<div class="row"><a class="button first" href="${page.basePath}${path}">${name}</a><a class="button" href="${page.basePath}/cards/new">${newCard}</a></div></section>`;
  return page.show('/cards', { status: 404, title: over.title, body });
}

/** Returns the result, and the emails with their times. */
function summary(page: Page, { shown, card }: Found): Markup {
  const { done } = page.text.issue;
  const amount = page.amount(card.initialValue);
  const what = shown.done === 'issued' ? fillPlain(done.issued, { amount }) : done.rotated;
  const { address = null, sendAt = null } = shown;
  if (address === null) return markup`<p>${what} ${done.notEmailed}</p>`;
  const { keptNotice, keptTo } = page.text.emails;
  const isKept = keepsEmails(page.services);
  const email =
    sendAt === null
      ? fillPlain(isKept ? keptTo : done.emailed, { address })
      : fill(done.scheduled, { address, time: page.time(sendAt) });
  const isDelayed = isKept && sendAt !== null;
  return markup`<p>${what} ${email}${isDelayed ? ` ${keptNotice}` : undefined}</p>`;
}

function facts(page: Page, { shown, card }: Found): Markup {
  const { facts: text, never } = page.text.issue;
  const ending = markup`<span class="code">${endingOf(card)}</span>`;
  const path = `${page.basePath}${pathOfCard(page.services, card)}`;
  const rows: readonly (readonly [string, Markup | string | null])[] = [
    [text.card, mayRead(page) ? markup`<a href="${path}">${ending}</a>` : ending],
    [text.recipient, card.recipientName ?? card.recipient?.email ?? null],
    [text.sender, card.senderName],
    [text.receipt, shown.receipt ?? null],
    [text.expires, card.expiresOn === null ? never : dayText(card.expiresOn, page.language)],
  ];
  const shownRows = rows.map(([name, value]) =>
    value === null ? undefined : markup`<dt>${name}</dt><dd>${value}</dd>`,
  );
  return markup`<dl class="facts">${shownRows}</dl>`;
}

async function issuedPage(page: Page): Promise<ConsoleResponse> {
  const found = await findShown(page);
  if (!found) return overPage(page);
  const text = page.text.issue;
  const { card, code, shown } = found;
  const settings = await page.read(() => readEmailSettings(page.store.id));
  const brand = page.services.brandOf(settings.colour);
  const drawing = drawingOf(page.services.frame, designOf(card.design, settings.design));
  const { url: made } = cardPageOf(page.services, page.store, settings);
  const title = shown.done === 'issued' ? text.done.title : text.done.rotatedTitle;
  const key = page.param('key');
  const end = mayRead(page) ? pathOfCard(page.services, card) : '/till';
  const balance = shown.done === 'issued' ? card.initialValue : card.balance;
  const body = markup`<div class="stack branded"><div class="notice good" role="status">${summary(page, found)}</div>
<div class="grid two"><section class="panel stack" aria-labelledby="code-heading"><div class="row apart"><h2 id="code-heading">${text.code}</h2><span class="tag wait">${text.onlyHere}</span></div>
<div class="qr shown">${qrSvg(code, { page: made, label: text.qr })}</div>
<p class="codeline shown" id="code">${groupedCode(code)}</p>
${barcodeSvg(code)}
<div class="actions"><a class="button first" href="${page.basePath}/cards/issued/${key}/print">${text.print}</a><button class="button" type="button" data-copy="code" data-copied="${text.copied}" hidden>${text.copy}</button><a class="button" href="${page.basePath}${end}">${text.finished}</a></div>
<p class="hint">${text.notStored}</p></section>
<aside class="stack" aria-label="${text.card}">${giftDrawing({ shop: page.store.name, name: card.recipientName, figure: figure(balance, page.language), brand, drawing })}
<section class="panel">${facts(page, found)}</section></aside></div></div>`;
  const actions = markup`<a class="button" href="${page.basePath}/cards/new">${text.newCard}</a>`;
  return page.show('/cards', { title, actions, body, brand });
}

/** An A4 sheet that folds to a card, in the language of the store's emails. */
async function printPage(page: Page): Promise<ConsoleResponse> {
  const found = await findShown(page);
  if (!found) return overPage(page);
  const text = page.text.issue;
  const { card, code, shown } = found;
  const [settings, places] = await Promise.all([
    page.read(() => readEmailSettings(page.store.id)),
    page.read(() => findSalePlaces(page.store.id, [card.id])),
  ]);
  const look = sheetLookOf(page.services, page.store, settings);
  const { brand } = look;
  const sheet = cardSheet({
    ...look,
    card,
    code,
    amount: shown.done === 'issued' ? card.initialValue : card.balance,
    drawing: drawingOf(page.services.frame, designOf(card.design, settings.design)),
    at: places.get(card.id),
    fold: text.fold,
  });
  const key = page.param('key');
  const body = markup`<main class="branded" id="content"><h1 class="sr">${text.print}</h1>
<div class="tools noprint"><button class="button first" type="button" data-print hidden>${text.print}</button><a class="button" href="${page.basePath}/cards/issued/${key}">${text.back}</a></div>
${sheet}</main>`;
  return {
    status: 200,
    body: documentOf(page.services, page.request, {
      title: `${text.print} · ${page.store.name}`,
      body,
      brand,
    }),
  };
}

export const issuedRoutes: readonly StaffRoute[] = [
  get('/cards/issued/:key', 'useTill', issuedPage),
  get('/cards/issued/:key/print', 'useTill', printPage),
];
