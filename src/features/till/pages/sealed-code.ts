/** A code that is sealed in a form of the till, so that no page contains it. */

import { sealNonceLength } from '../../../platform/keys.ts';
import type { Markup } from '../../../platform/markup.ts';
import { Secret } from '../../../platform/secret.ts';
import { hidden } from '../../../pages/kit/form.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** The seal is of the person, and of no one else's form. */
function boundTo(page: Page): string {
  return `activation ${page.store.id} ${page.member.id}`;
}

/** The hidden field of a code. */
export function sealedInput(page: Page, code: Secret): Markup {
  const nonce = page.ctx.random.bytes(sealNonceLength);
  const bytes = page.ctx.keys.seal('stock', Buffer.from(code.reveal()), boundTo(page), nonce);
  return hidden('sealed', Buffer.from(bytes).toString('base64url'));
}

/** The code of the form; undefined: this service did not seal it for the person. */
export function openedCode(page: Page): Secret | undefined {
  const text = page.request.form.get('sealed') ?? '';
  if (!/^[\w-]{20,200}$/.test(text)) return undefined;
  try {
    const bytes = page.ctx.keys.open('stock', Buffer.from(text, 'base64url'), boundTo(page));
    return new Secret(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}
