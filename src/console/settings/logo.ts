/** The logo in emails: a file that an owner uploads, or removes. */

import { Fault } from '../../domain/fault.ts';
import {
  logoBytesMax,
  logoSideMax,
  readLogo,
  type Logo,
  type LogoProblem,
} from '../../domain/emails/logo.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { changeLogo } from '../../service/staff-actions/settings.ts';
import { withoutAccess } from '../cards/change-form.ts';
import { keyInput, keyOf, runOnce } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { seeOther, type ConsoleResponse, type ConsoleServices, type StaffRequest } from '../kit/route.ts';
import { fillPlain, type PageLanguage, textsOf } from '../kit/texts.ts';

const logoTexts = textsOf('logo');

/** More than a logo can have. */
export const logoFormBytesMax = 1_000_000;

export const logoPath = '/settings/emails/logo';

/** @param error at the field. */
export function logoPanel(
  { ctx, frame }: ConsoleServices,
  { language }: StaffRequest,
  { logo, error }: { readonly logo: Logo | null; readonly error?: string | undefined },
): Markup {
  const text = logoTexts[language];
  const action = `${frame.basePath}${logoPath}`;
  const present =
    logo &&
    markup`<form class="row apart" method="post" action="${action}/remove">${keyInput(ctx)}<p>${fillPlain(text.present, { width: logo.width, height: logo.height })}</p><button class="button">${text.remove}</button></form>
`;
  const hint = fillPlain(text.hint, limitsIn(language));
  const described = error === undefined ? 'logo_file-hint' : 'logo_file-error logo_file-hint';
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const message =
    error === undefined ? undefined : markup`<p class="error" id="logo_file-error">${error}</p>`;
  return markup`<section class="panel stack" aria-labelledby="logo-title"><h2 id="logo-title">${text.title}</h2>
${present ?? undefined}<form class="stack" method="post" action="${action}" enctype="multipart/form-data" data-shrinks data-bytes="${logoBytesMax}" data-side="${logoSideMax}">${keyInput(ctx)}<div><label for="logo_file">${text.file}</label>
<input class="field" id="logo_file" name="logo_file" type="file" accept="image/png,image/jpeg" required aria-describedby="${described}"${invalid}>
${message}<p class="hint" id="logo_file-hint">${hint}</p></div>
<div class="row"><button class="button">${text.upload}</button></div></form></section>`;
}

function limitsIn(language: PageLanguage): { readonly size: string; readonly pixels: string } {
  const number = new Intl.NumberFormat(language);
  return { size: number.format(logoBytesMax / 1_000), pixels: number.format(logoSideMax) };
}

/** The error at the field for a form that is not read, because it is too long. */
export function logoTooLarge({ language }: Pick<StaffRequest, 'language'>): string {
  return fillPlain(logoTexts[language].errors.size, limitsIn(language));
}

/** Stores the file of the form, or removes the logo. @param rejected the page with an error at the field. */
export async function submitLogo(
  services: ConsoleServices,
  request: StaffRequest,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const text = logoTexts[request.language];
  if (!request.file) return await rejected(text.missing);
  const read = readLogo(request.file);
  if (read.ok) return await change(services, request, read.logo, rejected);
  const messages: Readonly<Record<LogoProblem, string>> = text.errors;
  return await rejected(fillPlain(messages[read.problem], limitsIn(request.language)));
}

export async function removeLogo(
  services: ConsoleServices,
  request: StaffRequest,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  return await change(services, request, null, rejected);
}

async function change(
  services: ConsoleServices,
  request: StaffRequest,
  logo: Logo | null,
  rejected: (error: string) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const key = keyOf(request);
  if (key === undefined) return await rejected(logoTexts[request.language].missing);
  try {
    const { isRepeated } = await runOnce(services, request, key, () =>
      changeLogo(services.ctx, byOf(request), logo),
    );
    return seeOther(`/settings/emails?done=${isRepeated ? 'repeated' : 'saved'}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const response = withoutAccess(services, request, error);
    if (!response) throw error;
    return response;
  }
}
