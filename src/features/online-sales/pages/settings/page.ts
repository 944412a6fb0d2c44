/** The settings of online sales: the provider, the buy page, and whether it is open. */

import { Readable } from 'node:stream';
import { Fault } from '../../../../core/domain/fault.ts';
import { buyPath } from '../../domain/links.ts';
import { isTooShort } from '../../domain/validity.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import {
  findSaleSettings,
  isPlayground,
  type OpeningObstacle,
  type SaleSettings,
} from '../../service/settings.ts';
import { saveSaleSettings } from '../../service/staff-online-sales.ts';
import { frameParameter } from '../buy/place.ts';
import { qrPicture } from '../../../../pages/kit/code-view.ts';
import { termsTextLengthMax, workDemands } from '../../domain/rules.ts';
import { alert, hidden, inputField, select, textArea } from '../../../../pages/kit/form.ts';
import { keyInput } from '../../../../pages/kit/once.ts';
import { get, post, type Page } from '../../../../pages/kit/page-context.ts';
import { tag } from '../../../../pages/kit/parts.ts';
import type { ConsoleResponse, PageResponse, StaffRoute } from '../../../../pages/kit/route.ts';
import { changedSales, saleDoneNames, saleSettingsPath } from './change.ts';
import {
  readSaleForm,
  saleValuesOf,
  type SaleChanges,
  type SaleFieldErrors,
  type SaleField,
  type SaleValues,
} from './fields.ts';
import { providerPanel, removeKey, saveKey, type ProviderForm } from './provider.ts';

type Shown = {
  readonly provider?: ProviderForm;
  readonly form?: { readonly values: SaleValues; readonly errors: SaleFieldErrors };
  /** Above the panels. */
  readonly notice?: string;
};

/** The pages on which an obstacle is removed; undefined: this one. */
const placesOf: Readonly<Partial<Record<OpeningObstacle, string>>> = {
  'no-vat': '/settings/limits',
  'no-emails': '/settings/emails',
  'restored-copy': '/today',
};

function linkOf({ services, request, store, basePath }: Page): string {
  const base = services.pagesUrl ?? `${request.pageOrigin.origin}${basePath}`;
  return `${base}${buyPath(store.domain)}`;
}

function statePanel(page: Page, { page: settings, obstacles }: SaleSettings): Markup {
  const text = page.text.saleSettings;
  const isSelling = settings.isOpen && obstacles.length === 0;
  const closed = settings.isOpen ? tag('bad', text.paused) : tag('ended', text.isClosed);
  const reasons = obstacles.map((obstacle) => {
    const path = placesOf[obstacle];
    const more = path === undefined ? undefined : markup` <a href="${page.url(path)}">${text.goThere}</a>`;
    return markup`<li>${text.obstacles[obstacle]}${more}</li>`;
  });
  const list = reasons.length === 0 ? undefined : markup`<p>${text.obstaclesTitle}</p><ul>${reasons}</ul>`;
  const change = settings.isOpen
    ? page.form(`${saleSettingsPath}/close`, markup`<div><button class="button">${text.close}</button></div>`)
    : page.form(
        `${saleSettingsPath}/open`,
        markup`<div><button class="button first"${obstacles.length > 0 ? markup` disabled` : undefined}>${text.open}</button></div>`,
      );
  return markup`<section class="panel stack" aria-labelledby="state"><h2 id="state">${text.state}</h2><p>${isSelling ? tag('good', text.isOpen) : closed}</p>${list}${change}</section>`;
}

/** The link, the code for the window, the frame for the shop's own page, and the test purchase. */
function linkPanel(page: Page, { isSaved }: SaleSettings): Markup {
  const text = page.text.saleSettings;
  const url = linkOf(page);
  const frame = `<iframe src="${url}?${frameParameter}" title="${text.frameTitle}" width="360" height="2400" style="border:0;max-width:100%"></iframe>`;
  // There is no page before its settings are saved.
  const trial = isSaved
    ? markup`<div class="row"><a class="button" href="${page.url(buyPath(page.store.domain))}">${text.try}</a></div><p class="hint">${text.tryHint}</p>`
    : undefined;
  return markup`<section class="panel stack" aria-labelledby="link"><h2 id="link">${text.linkTitle}</h2><p>${text.linkLead}</p><p class="payload" dir="ltr">${url}</p>
${trial}
<h3>${text.qrTitle}</h3><div class="qr shown">${qrPicture(url, text.qrTitle)}</div><div class="row"><a class="button" href="${page.url(`${saleSettingsPath}/window.svg`)}" download>${text.qrDownload}</a></div>
<h3>${text.frame}</h3><p class="hint">${text.frameHint}</p><p class="payload" dir="ltr" tabindex="0">${frame}</p></section>`;
}

type FieldKind = { readonly hint?: string; readonly mode?: 'decimal' | 'numeric' };

function settingsPanel(page: Page, { page: settings }: SaleSettings, { form }: Shown): Markup {
  const text = page.text.saleSettings;
  const { values, errors } = form ?? { values: saleValuesOf(page, settings), errors: {} };
  const labels = text.fields;
  const input = (name: SaleField, { hint, mode }: FieldKind = {}, isOptional = true): Markup =>
    inputField({
      name,
      label: labels[name],
      value: values[name],
      isOptional,
      error: errors[name],
      ...(hint !== undefined && { hint }),
      ...(mode && { inputMode: mode }),
    });
  const amount = (name: SaleField, hint?: string, isOptional = true): Markup =>
    input(name, { mode: 'decimal', ...(hint !== undefined && { hint }) }, isOptional);
  const check = (name: 'reviews_first' | 'reviews_foreign'): Markup =>
    markup`${hidden(name, '')}<label class="check"><input type="checkbox" name="${name}" value="yes"${values[name] === '' ? undefined : markup` checked`}><span>${labels[name]}</span></label>`;
  const { hints } = text;
  const notice = Object.keys(errors).length > 0 ? alert(page.text.settings.errors) : undefined;
  const short = isTooShort(settings.country, settings.validityMonths)
    ? markup`<p class="notice" role="note">${text.shortValidity}</p>`
    : undefined;
  const key = form ? page.key : undefined;
  return markup`<form class="stack" method="post" action="${page.url(saleSettingsPath)}">${keyInput(page.ctx, key)}${hidden('base', String(settings.updatedAt))}${notice}
<section class="panel stack" aria-labelledby="amounts"><h2 id="amounts">${text.amounts}</h2><div class="fields">${amount('presets', hints.presets)}
${amount('min', undefined, false)}
${amount('max', hints.max, false)}
${input('validity_months', { hint: hints.validity, mode: 'numeric' })}</div>${short}</section>
<section class="panel stack" aria-labelledby="law"><h2 id="law">${text.law}</h2><p>${text.lawLead}</p><div class="fields">${input('terms_url', { hint: hints.terms })}
${input('privacy_url')}
${input('imprint_url')}</div>
${textArea({ name: 'terms_text', label: labels.terms_text, value: values.terms_text, hint: hints.termsText, error: errors.terms_text })}
${textArea({ name: 'frame_domains', label: labels.frame_domains, value: values.frame_domains, hint: hints.frames, error: errors.frame_domains })}</section>
<section class="panel stack" aria-labelledby="limits"><h2 id="limits">${text.limits}</h2><p>${text.limitsLead}</p><div class="fields">${amount('address_limit')}
${amount('card_limit', hints.card)}
${amount('network_limit', hints.network)}
${amount('store_limit')}</div>
${select({ name: 'work', label: labels.work, hint: hints.work, value: values.work, options: workDemands.map((value) => ({ value, text: text.work[value] })) })}</section>
<section class="panel stack" aria-labelledby="review"><h2 id="review">${text.review}</h2><p>${text.reviewLead}</p><div class="fields">${amount('review_above', hints.reviewAbove)}
${input('review_hours', { hint: hints.reviewHours, mode: 'numeric' }, false)}
${input('delay_minutes', { hint: hints.delay, mode: 'numeric' }, false)}
${input('country', { hint: hints.country })}</div>
${check('reviews_first')}${check('reviews_foreign')}</section>
<div class="row"><button class="button first">${page.text.settings.save}</button></div></form>`;
}

async function salesPage(page: Page, shown: Shown = {}): Promise<PageResponse> {
  const text = page.text.saleSettings;
  const settings = await page.read(() => findSaleSettings(page.ctx, page.store));
  const done = saleDoneNames.find((name) => name === page.request.query.get('done'));
  const said = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  const { provider, form, notice } = shown;
  const active = settings.providers.find(({ isActive }) => isActive);
  const test =
    active?.isTest === true
      ? markup`<p class="notice" role="note">${isPlayground(page.ctx, page.store) ? text.sandboxBanner : text.testBanner}</p>`
      : undefined;
  return page.show('/settings', {
    status: provider || form || notice !== undefined ? 422 : 200,
    title: text.title,
    body: markup`<div class="stack settings"><p class="lead">${text.lead}</p>${said}${notice === undefined ? undefined : alert(notice)}${test}
${statePanel(page, settings)}
${providerPanel(page, settings.providers, provider)}
${settingsPanel(page, settings, shown)}
${linkPanel(page, settings)}
<div class="row">${page.link('/settings', page.text.backups.back, 'quiet')}</div></div>`,
  });
}

/** Saves the form, unless another person has changed the settings since it was shown. */
async function saveSales(page: Page): Promise<ConsoleResponse> {
  const { page: present } = await page.read(() => findSaleSettings(page.ctx, page.store));
  const read = readSaleForm(page, present);
  if (!read.ok) return await salesPage(page, { form: read });
  if (page.key === undefined)
    return await salesPage(page, { form: { ...read, errors: {} }, notice: page.text.settings.expiredForm });
  if (page.typed('base') !== String(present.updatedAt))
    return await salesPage(page, {
      form: { values: read.values, errors: {} },
      notice: page.text.saleSettings.conflict,
    });
  return await changedSales(page, 'saved', () => saveSaleSettings(page.ctx, page.by, read.changes));
}

/** Opens or closes the page. The obstacles are checked again when it is saved. */
async function toggle(page: Page, isOpen: boolean): Promise<ConsoleResponse> {
  const { page: settings, obstacles } = await page.read(() => findSaleSettings(page.ctx, page.store));
  if (isOpen && obstacles.length > 0)
    return await salesPage(page, { notice: page.text.saleSettings.cannotOpen });
  const { storeId: _storeId, updatedAt: _updatedAt, ...changes } = settings;
  const change: SaleChanges = { ...changes, isOpen };
  try {
    return await changedSales(page, isOpen ? 'opened' : 'closed', () =>
      saveSaleSettings(page.ctx, page.by, change),
    );
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
    return await salesPage(page, { notice: page.text.saleSettings.cannotOpen });
  }
}

/** The code for the window, which any program for images prints in any size. */
function windowCode(page: Page): ConsoleResponse {
  const drawing = String(qrPicture(linkOf(page), page.text.saleSettings.qrTitle));
  const image = drawing.replace(
    '<svg ',
    '<svg xmlns="http://www.w3.org/2000/svg" width="80mm" height="80mm" ',
  );
  const file = { name: 'gift-cards.svg', type: 'image/svg+xml', parts: Readable.from([image]) };
  return { status: 200, file };
}

/** The terms as a form sends them: up to four bytes for a character, each in three. */
const formBytesMax = 12 * termsTextLengthMax + 65_536;

const owners = { sensitive: 'changeSettings' } as const;

export const onlineSaleSettingsRoutes: readonly StaffRoute[] = [
  get(saleSettingsPath, owners, (page) => salesPage(page)),
  post(saleSettingsPath, owners, saveSales, { formBytesMax }),
  post(`${saleSettingsPath}/open`, owners, (page) => toggle(page, true)),
  post(`${saleSettingsPath}/close`, owners, (page) => toggle(page, false)),
  post(`${saleSettingsPath}/provider`, owners, (page) =>
    saveKey(page, (provider) => salesPage(page, { provider })),
  ),
  post(`${saleSettingsPath}/provider/remove`, owners, (page) =>
    removeKey(page, (provider) => salesPage(page, { provider })),
  ),
  get(`${saleSettingsPath}/window.svg`, 'changeSettings', windowCode, { sendsFile: 'other' }),
];
