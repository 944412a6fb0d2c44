/**
 * The previews of the shop: an email, the page of a card, a printed sheet and a receipt, with sample data and what is typed.
 * The code that makes the real ones makes them.
 */

import { designOf } from '../../../core/cards/domain/design.ts';
import { sample, sampleCardOf } from '../../../core/cards/domain/sample-card.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import { readLogo, type Logo, type LogoMark } from '../../../core/stores/domain/logo.ts';
import { recipientPath } from '../../../core/emails/domain/recipient-page.ts';
import type { EmailText } from '../../emails/domain/wording.ts';
import { localeIn } from '../../../core/stores/domain/region.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { Secret } from '../../../platform/secret.ts';
import { findLogo } from '../service/settings-of-store.ts';
import { cardSheet, sheetLookOf } from '../../card-pages/pages/sheet.ts';
import { drawingOf } from '../../../pages/kit/gift.ts';
import { documentOf } from '../../../pages/kit/page.ts';
import { Page } from '../../../pages/kit/page-context.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { recipientCardPage } from '../../recipient/pages/card.ts';
import { placeWith } from '../../recipient/pages/place.ts';
import { receiptArticle } from '../../till/pages/receipts.ts';
import { walletKindsOf } from '../../wallets/pages/kinds.ts';
import { previewOf, previewPanel } from '../../emails/pages/settings/email-preview.ts';

const views = ['email', 'page', 'sheet', 'receipt'] as const;

type View = (typeof views)[number];

function viewOf(name: string): View {
  return views.find((view) => view === name) ?? 'email';
}

/** A form with a logo that is chosen and not saved: its base64 digits and the other fields. */
export const previewBytesMax = 250_000;

const logoField = 'logo_preview';

/** The frame, the choice of what it shows, and the field for a logo that is chosen, which `logo.js` fills in. */
export function shopPreviewPanel(
  page: Page,
  { form, path }: { readonly form: string; readonly path: string },
): Markup {
  const text = page.text.settings;
  const shown = viewOf(page.typed('view'));
  const choices = views.map((view) => {
    const checked = view === shown ? markup` checked` : undefined;
    return markup`<label class="choice"><input type="radio" name="view" value="${view}" form="${form}"${checked}>${text.views[view]}</label>
`;
  });
  const choice = markup`<fieldset><legend class="sr">${text.view}</legend><div class="choices">
${choices}</div></fieldset><input type="hidden" id="${logoField}" name="${logoField}" form="${form}" disabled>`;
  return previewPanel(page.services, page.language, {
    form,
    path,
    query: `?view=${shown}`,
    title: text.shopPreview,
    choice,
  });
}

type Previewed = {
  readonly name: string;
  readonly settings: EmailSettings;
  readonly texts: readonly EmailText[];
};

/** The logo of the form, which is not saved; undefined: the form has none, or one that would be rejected. */
function chosenLogo(page: Page): Logo | undefined {
  const read = readLogo(Buffer.from(page.typed(logoField), 'base64'));
  return read.ok ? read.logo : undefined;
}

export async function shopPreview(
  page: Page,
  { name, settings, texts }: Previewed,
): Promise<ConsoleResponse> {
  const isForm = page.request.method === 'POST';
  const view = viewOf(isForm ? page.typed('view') : (page.request.query.get('view') ?? ''));
  const logo = chosenLogo(page) ?? (await page.read(() => findLogo(page.store.id)));
  const shown = pageWith(page, name, logo && markOf(logo));
  if (view === 'email') return await previewOf(shown, { kind: 'gift_card', settings, texts, logo });
  return { status: 200, framedPage: await documentsOf[view](shown, settings) };
}

function markOf({ width, height, type, content }: Logo): LogoMark {
  return {
    width,
    height,
    version: 0,
    source: `data:${type};base64,${Buffer.from(content).toString('base64')}`,
  };
}

/** The page of a shop with another name and logo, without scripts. */
function pageWith({ services, request }: Page, name: string, logo: LogoMark | null): Page {
  const store = { ...request.signedIn.store, name };
  return new Page(
    { ...services, frame: { ...services.frame, isPreview: true } },
    { ...request, signedIn: { ...request.signedIn, store, logo } },
  );
}

function sampleOf(page: Page, { locale }: EmailSettings) {
  const { texts } = page.services.customerLanguage(localeIn(locale, page.store));
  const { workplace } = page.request.signedIn;
  return {
    ...sampleCardOf(page.store, {
      message: texts.sampleMessage,
      actor: `staff:${page.member.id}`,
      locationId: workplace?.id ?? null,
    }),
    code: new Secret(sample.code),
    location: workplace ?? undefined,
  };
}

const documentsOf: Readonly<
  Record<Exclude<View, 'email'>, (page: Page, settings: EmailSettings) => Markup | Promise<Markup>>
> = {
  async page(page, settings) {
    const { store, services } = page;
    const { card, transfers, code, location } = sampleOf(page, settings);
    const place = placeWith(
      services,
      { store, settings, logo: page.request.signedIn.logo, asksAddress: false },
      { page: page.url(recipientPath(store.domain)), acceptLanguage: '', chosen: undefined },
    );
    const locations = new Map(location ? [[location.id, location]] : []);
    const wallets = await walletKindsOf(services, store.id);
    const found = {
      card,
      code,
      address: null,
      transfers,
      locations,
      isGenerated: true,
      isOver: false,
      wallets,
    };
    return recipientCardPage(services, place, found).body;
  },
  sheet(page, settings) {
    const { services } = page;
    const text = page.text.issue;
    const { card, code, location } = sampleOf(page, settings);
    const look = sheetLookOf(services, page.store, settings);
    const drawing = drawingOf(services.frame, designOf(card.design, settings.design));
    const sheet = {
      ...look,
      card,
      code,
      amount: card.initialValue,
      drawing,
      at: location,
      fold: text.fold,
    };
    const body = markup`<main class="branded" id="content"><h1 class="sr">${text.print}</h1>
${cardSheet(sheet)}</main>`;
    return documentOf(services, page.request, { title: text.print, body, brand: look.brand });
  },
  receipt(page, settings) {
    const { card, transfers, location } = sampleOf(page, settings);
    const actors = { members: [page.member], tokens: [] };
    const receipt = { transfer: transfers[0], card, tillName: null, actors, location, settings };
    const body = markup`<main id="content">${receiptArticle(page, receipt, 80)}</main>`;
    return documentOf(page.services, page.request, { title: page.text.settings.views.receipt, body });
  },
};
