/** The preview of an email with sample data in a frame of the settings, which can be unsaved. */

import { emailTool } from '../tools.ts';
import { emailKinds, type EmailKind, type EmailSettings } from '../../../../core/emails/domain/email.ts';
import type { Logo } from '../../../../core/stores/domain/logo.ts';
import type { EmailText } from '../../domain/wording.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { findLogo } from '../../../shop-settings/service/settings-of-store.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import type { ConsoleResponse } from '../../../../pages/kit/route.ts';
import { legibilityText } from './legibility.ts';
import { settingsTexts } from '../../../shop-settings/pages/page.ts';
import type { PageLanguage } from '../../../../pages/kit/texts.ts';
import type { Page } from '../../../../pages/kit/page-context.ts';
import { walletKindsOf } from '../../../wallets/pages/kinds.ts';

export function kindOf(text: string): EmailKind {
  return emailKinds.find((each) => each === text) ?? 'gift_card';
}

/**
 * The frame with a preview. `preview.js` updates it while a person types.
 * @param form the id of the form whose fields the preview shows. @param path of the preview, which accepts the form.
 * @param choice of what it shows, whose fields belong to the form.
 */
export function previewPanel(
  { frame }: Pick<ConsoleServices, 'frame'>,
  language: PageLanguage,
  {
    form,
    path,
    query = '',
    title,
    choice,
  }: {
    readonly form: string;
    readonly path: string;
    readonly query?: string;
    readonly title: string;
    readonly choice: Markup;
  },
): Markup {
  const text = settingsTexts[language];
  // Pages in the frame need the origin of their style sheets. The policy of each document decides the rest of its sandbox.
  return markup`<aside class="stack sticky" aria-label="${title}">
<div class="row apart of-preview"><div>${choice}</div><button class="button" form="${form}" formaction="${frame.basePath}${path}" formtarget="preview" formnovalidate>${text.updatePreview}</button></div>
<div class="phone"><iframe name="preview" title="${title}" src="${frame.basePath}${path}${query}" sandbox="allow-same-origin"></iframe></div>
<p class="hint">${text.previewHint}</p></aside>`;
}

/** The frame with the preview of an email, and the choice of its kind. */
export function emailPreviewPanel(
  services: Pick<ConsoleServices, 'frame'>,
  language: PageLanguage,
  {
    form,
    kind: shown,
    ...panel
  }: { readonly form: string; readonly path: string; readonly query?: string; readonly kind?: EmailKind },
): Markup {
  const text = settingsTexts[language];
  const kinds = emailKinds.map((kind) => {
    const selected = kind === shown ? markup` selected` : undefined;
    return markup`<option value="${kind}"${selected}>${text.kinds[kind]}</option>`;
  });
  const choice = markup`<label class="sr" for="kind">${text.kind}</label><select class="field" id="kind" name="kind" form="${form}">${kinds}</select>`;
  return previewPanel(services, language, { ...panel, form, title: text.preview, choice });
}

/** The style of the preview's head, which the style sheet of the pages does not reach. */
const headStyle =
  'margin:0;padding:12px 16px;border-bottom:1px solid #8b877c;background:Canvas;color:CanvasText;font:14px/1.5 system-ui,sans-serif;text-align:start';

/** An email with sample data, below its sender and subject. */
export async function previewOf(
  page: Page,
  {
    kind,
    settings,
    texts,
    logo: unsaved,
  }: {
    readonly kind: EmailKind;
    readonly settings: EmailSettings;
    readonly texts: readonly EmailText[];
    /** A logo that is not saved; absent: the saved one. */
    readonly logo?: Logo | null;
  },
): Promise<ConsoleResponse> {
  const text = page.text.settings;
  const logo = unsaved === undefined ? await page.read(() => findLogo(page.store.id)) : unsaved;
  const { from, replyTo, subject, html } = page.services.tools.of(emailTool).preview(kind, {
    store: page.store,
    settings,
    texts,
    logo,
    wallets: await walletKindsOf(page.services, page.store.id),
  });
  const legibility = page.services.tools.of(emailTool).legibilityOf(settings.colour);
  const warning = legibility.isReadable
    ? undefined
    : markup`<br><strong>${text.hardToRead}:</strong> ${legibilityText(legibility, page.language)}`;
  const reply = replyTo === null ? undefined : markup`<br>${text.replyTo}: <bdi>${replyTo}</bdi>`;
  const head = markup`${text.from}: <bdi>${from.name}</bdi> &lt;<bdi>${from.address}</bdi>&gt;${reply}<br>${text.subject}: <strong><bdi>${subject}</bdi></strong>${warning}`;
  return {
    status: 200,
    framed: headedEmail(html, head, page.language),
  };
}

/** An email for a frame, below a head in the language of the page. */
export function headedEmail(html: string, head: Markup, language: PageLanguage): string {
  const shown = markup`<div lang="${language}" dir="ltr" style="${headStyle}">${head}</div>`;
  // After the opening tag of the body. Texts of the store are escaped, so that the first one is that tag.
  const start = html.indexOf('>', html.indexOf('<body ')) + 1;
  return `${html.slice(0, start)}${String(shown)}${html.slice(start)}`;
}

/** The reason why there is no preview: the errors of the fields. */
export function rejectedPreview(language: PageLanguage, errors: readonly string[]): ConsoleResponse {
  const text = settingsTexts[language];
  const lines = errors.map((error) => markup`<li>${error}</li>`);
  const framed = markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><title>${text.preview}</title></head><body style="${headStyle}"><p>${text.noPreview}</p><ul>${lines}</ul></body></html>
`;
  return { status: 422, framed: String(framed) };
}
