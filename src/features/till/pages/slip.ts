/** The prints on a roll of paper: receipts, and the slip with a new code. A script makes their page as long as they are. */

import { shownLink } from '../../../core/stores/domain/identity.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { hoursLines, placeLines, shopLogo, type ShownIdentity } from '../../../pages/kit/identity.ts';
import type { Barcode } from '../../../core/cards/domain/symbol.ts';
import { usualPaperMm, type PaperMm } from '../../../core/staff/domain/till-paper.ts';
import { printedBarcode } from '../../../pages/kit/code-view.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { ownTill } from './own-till.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';

/** The margins of the paper, which receipt printers do not reach (mm). */
const marginMm = 5;

/** The width of the paper of the browser's till; of another browser, that of most receipt printers. */
export async function paperOf(page: Page): Promise<PaperMm> {
  return (await ownTill(page))?.paperMm ?? usualPaperMm;
}

/** A print on paper of a width. */
export function slipArticle(
  {
    paperMm,
    label,
  }: { readonly paperMm: PaperMm; /** Absent: it is only printed. */ readonly label?: string },
  parts: MarkupPart,
): Markup {
  const kind = `receipt${paperMm === 58 ? ' narrow' : ''}${label === undefined ? ' only-print' : ''}`;
  const name = label === undefined ? undefined : markup` aria-label="${label}"`;
  return markup`<article class="${kind}"${name}>${parts}</article>`;
}

/** A QR code with the barcode of the same text, for scanners without a camera. */
export function slipSymbols(qr: Markup, barcode: Barcode, paperMm: PaperMm): Markup {
  return markup`<div class="symbols"><div class="qr">${qr}</div>${printedBarcode(barcode, paperMm - 2 * marginMm)}</div>`;
}

/** A code or a number in groups of four, for reading and typing. */
export function groupsOfFour(text: string): string {
  return text.toUpperCase().replace(/(.{4})(?=.)/g, '$1 ');
}

/** Names and values in two columns. */
export function slipLines(lines: readonly (readonly [MarkupPart, MarkupPart] | undefined)[]): Markup {
  const shown = lines.map((line) => line && markup`<dt>${line[0]}</dt><dd>${line[1]}</dd>`);
  return markup`<dl class="lines">${shown}</dl>`;
}

/** The shop, with the location, one line after another. */
export function slipHead(
  { store, services, request }: Pick<Page, 'store' | 'services' | 'request'>,
  {
    identity: { phone, website },
    location,
    heading,
  }: {
    readonly identity: ShownIdentity;
    readonly location: Pick<Location, 'name' | 'address'> | undefined;
    readonly heading: 'h1' | 'h2';
  },
): Markup {
  const web = website === null ? store.domain : shownLink(website);
  const lines = [web, ...(phone === null ? [] : [phone]), ...(location ? placeLines(location) : [])];
  return markup`<header>${shopLogo(services.frame, store, request.signedIn.logo)}<${heading} dir="auto">${store.name}</${heading}>${lines.map((line) => markup`<p dir="auto">${line}</p>`)}</header>`;
}

/** The opening hours, and where the terms are. */
export function slipFoot(page: Pick<Page, 'text'>, identity: ShownIdentity): Markup | undefined {
  const { terms, hours } = identity;
  if (terms === null && hours === null) return undefined;
  const link =
    terms === null ? undefined : markup`<p>${page.text.settings.terms}: <bdi>${shownLink(terms)}</bdi></p>`;
  return markup`<div class="center">${hoursLines(identity)}${link}</div>
`;
}
