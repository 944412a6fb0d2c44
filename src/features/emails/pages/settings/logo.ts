/** The logo in emails: a file that an owner uploads, or removes. */

import { Fault } from '../../../../core/domain/fault.ts';
import {
  logoBytesMax,
  logoSideMax,
  readLogo,
  type Logo,
  type LogoProblem,
} from '../../../../core/stores/domain/logo.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { changeLogo } from '../../../shop-settings/service/settings.ts';
import { withoutAccess } from '../../../../pages/kit/without-access.ts';
import { keyInput } from '../../../../pages/kit/once.ts';
import { seeOther, type ConsoleResponse } from '../../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage } from '../../../../pages/kit/texts.ts';
import type { Page } from '../../../../pages/kit/page-context.ts';

/** More than a logo can have. */
export const logoFormBytesMax = 1_000_000;

export const logoPath = '/settings/logo';

/** @param error at the field. */
export function logoPanel(
  page: Page,
  { logo, error }: { readonly logo: Logo | null; readonly error?: string | undefined },
): Markup {
  const text = page.text.logo;
  const action = `${page.basePath}${logoPath}`;
  const present =
    logo &&
    markup`<form class="row apart" method="post" action="${action}/remove">${keyInput(page.ctx)}<p>${fillPlain(text.present, { width: logo.width, height: logo.height })}</p><button class="button">${text.remove}</button></form>
`;
  const hint = fillPlain(text.hint, limitsIn(page.language));
  const described = error === undefined ? 'logo_file-hint' : 'logo_file-error logo_file-hint';
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const message =
    error === undefined ? undefined : markup`<p class="error" id="logo_file-error">${error}</p>`;
  return markup`<section class="panel stack" aria-labelledby="logo-title"><h2 id="logo-title">${text.title}</h2>
${present ?? undefined}<form class="stack" method="post" action="${action}" enctype="multipart/form-data" data-shrinks data-bytes="${logoBytesMax}" data-side="${logoSideMax}">${keyInput(page.ctx)}<div><label for="logo_file">${text.file}</label>
<input class="field" id="logo_file" name="logo_file" type="file" accept="image/png,image/jpeg" required aria-describedby="${described}"${invalid}>
${message}<p class="hint" id="logo_file-hint">${hint}</p></div>
<div class="row"><button class="button">${text.upload}</button></div></form></section>`;
}

function limitsIn(language: PageLanguage): { readonly size: string; readonly pixels: string } {
  const number = new Intl.NumberFormat(language);
  return { size: number.format(logoBytesMax / 1_000), pixels: number.format(logoSideMax) };
}

/** The error at the field for a form that is not read, because it is too long. */
export function logoTooLarge(page: Page): string {
  return fillPlain(page.text.logo.errors.size, limitsIn(page.language));
}

/** Stores the file of the form, or removes the logo. @param rejected the page with an error at the field. */
export async function submitLogo(
  page: Page,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const text = page.text.logo;
  if (!page.request.file) return await rejected(text.missing);
  const read = readLogo(page.request.file);
  if (read.ok) return await change(page, read.logo, rejected);
  const messages: Readonly<Record<LogoProblem, string>> = text.errors;
  return await rejected(fillPlain(messages[read.problem], limitsIn(page.language)));
}

export async function removeLogo(
  page: Page,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  return await change(page, null, rejected);
}

async function change(
  page: Page,
  logo: Logo | null,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const key = page.key;
  if (key === undefined) return await rejected(page.text.logo.missing);
  try {
    const { isRepeated } = await page.once(key, () => changeLogo(page.ctx, page.by, logo));
    return seeOther(`/settings?done=${isRepeated ? 'repeated' : 'saved'}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const response = withoutAccess(page, error);
    if (!response) throw error;
    return response;
  }
}
