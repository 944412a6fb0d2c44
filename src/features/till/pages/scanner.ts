/** The notice about a scanner that types for another keyboard, once a day on each device. A cookie holds it until then. */

import { keyboards, type Keyboard } from '../../../core/cards/domain/keyboards.ts';
import type { Reading } from '../../../core/cards/domain/given-code.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { cookieNameOf, setCookie } from '../../../pages/kit/cookie.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { fill } from '../../../pages/kit/texts.ts';

const daySeconds = 24 * 60 * 60;

function cookieOf(page: Page): string | undefined {
  return page.request.cookies.get(cookieNameOf('scanner', page.services.origin));
}

function cookie(page: Page, value: string): readonly string[] {
  return [setCookie('scanner', { value, maxAgeSeconds: daySeconds }, page.services.origin)];
}

/**
 * The cookies after a code was read: the next idle page shows the notice, unless the device has shown it today.
 * @param way null: no code was read.
 */
export function scannerCookies(
  page: Page,
  { way }: { readonly way: Reading['way'] | null },
): readonly string[] {
  const keyboard = keyboards.find((one) => one === way);
  return keyboard === undefined || cookieOf(page) !== undefined ? [] : cookie(page, keyboard);
}

/** The notice that is due, and the cookie that ends it for today; undefined: none is due. */
export function dueScannerNotice(
  page: Page,
): { readonly notice: Markup; readonly cookies: readonly string[] } | undefined {
  const keyboard = keyboards.find((one) => one === cookieOf(page));
  return keyboard && { notice: notice(page, keyboard), cookies: cookie(page, 'shown') };
}

function notice(page: Page, keyboard: Keyboard): Markup {
  const text = page.text.tillScanner;
  const named = markup`<strong>${text.keyboards[keyboard]}</strong>`;
  return markup`<section class="notice stack" aria-labelledby="scanner"><strong id="scanner">${text.title}</strong><p>${fill(text.text, { keyboard: named })}</p>
<details class="folded"><summary>${text.how}</summary><ol><li>${text.find}</li><li>${text.save}</li><li>${text.check}</li></ol></details></section>
`;
}
