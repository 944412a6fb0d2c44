/** The redemptions that a browser keeps because their results are unknown. Its script fills the list. */

import { markup, type Markup } from '../../../platform/markup.ts';
import type { ConsoleRequest } from '../../../pages/kit/request.ts';
import { tillTexts } from './frame.ts';

/** @param memberId whose redemptions; null: those of everyone who uses the browser. */
export function pendingSection(request: Pick<ConsoleRequest, 'language'>, memberId: number | null): Markup {
  const text = tillTexts(request);
  const member = memberId === null ? undefined : markup` data-member="${String(memberId)}"`;
  return markup`<section id="pending" class="panel stack" aria-labelledby="pending-title" aria-live="polite"${member} data-checking="${text.pendingChecking}" data-redeemed="${text.pendingRedeemed}" data-not="${text.pendingNot}" data-undone="${text.pendingUndone}" data-old="${text.pendingOld}" data-show="${text.show}" hidden><h2 id="pending-title">${text.pendingTitle}</h2><ul></ul></section>`;
}
