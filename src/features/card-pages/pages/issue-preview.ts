/** The email of a new card as its form is filled in, in a frame of the page. `preview.js` updates it. */

import { emailPreviewTool } from '../../emails/pages/tools.ts';
import { byField, cardFieldNames } from '../../../core/cards/domain/fields.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Offer } from '../../till/service/usual-amounts.ts';
import type { NewCard } from '../../till/service/sale.ts';
import { readEmailDesign } from '../../emails/service/settings.ts';
import { fieldLabel } from './fields.ts';
import { headedEmail, rejectedPreview } from '../../emails/pages/settings/email-preview.ts';
import {
  emptyForm,
  middleAmount,
  parseForm,
  typedValues,
  type IssueField,
  type IssueValues,
} from './issue-form.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { walletKindsOf } from '../../wallets/pages/kinds.ts';

export const previewPath = '/cards/new/preview';

/** The frame, and the button that updates it without a script. */
export function issuePreviewPanel(page: Page): Markup {
  const text = page.text.settings;
  const path = `${page.basePath}${previewPath}`;
  return markup`<section class="stack issue-preview" aria-label="${text.preview}"><button class="button" formaction="${path}" formtarget="preview" formnovalidate>${text.updatePreview}</button>
<div class="phone"><iframe name="preview" title="${text.preview}" src="${path}" sandbox></iframe></div>
<p class="hint">${page.text.issue.previewHint}</p></section>`;
}

/** The preview of a form: of the typed one, or of the one that the page begins with. */
export async function issuePreview(page: Page, offer: Offer): Promise<ConsoleResponse> {
  const text = page.text.issue;
  const values: IssueValues =
    page.request.method === 'POST' ? typedValues(page) : { ...emptyForm(offer), amount: middleAmount(offer) };
  // The email does not contain what is left out here, so it can be incomplete.
  const shown = { ...values, recipient_email: '', email: '', note: '', how: 'print' };
  const parsed = parseForm(shown, {
    store: page.store,
    language: page.language,
    now: page.ctx.clock.now(),
    canSend: false,
  });
  if ('errors' in parsed) {
    const names: Partial<Record<IssueField, string>> = {
      amount: text.amount,
      other: text.otherAmount,
      ...byField(cardFieldNames, (name) => fieldLabel(name, page.language)),
    };
    const errors = Object.entries(parsed.errors).map(([name, error]) =>
      fillPlain(text.errorOf, { field: names[name as IssueField] ?? name, error }),
    );
    return rejectedPreview(page.language, errors);
  }
  const design = await page.read(() => readEmailDesign(page.store.id, 'gift_card'));
  const now = page.ctx.clock.now();
  const card = cardOf(page.store.id, parsed.card, now);
  const email = { kind: 'gift_card' } as const;
  const wallets = await walletKindsOf(page.services, page.store.id);
  const found = page.services.tools.of(emailPreviewTool)({
    email,
    card,
    store: page.store,
    ...design,
    wallets,
    cardSentAt: now,
  });
  if (!found) throw new Error('the email of a new card has no preview');
  const head = markup`${page.text.settings.subject}: <strong><bdi>${found.subject}</bdi></strong>`;
  return { status: 200, framed: headedEmail(found.html, head, page.language) };
}

/** A card with the values of its form, and without what an email does not contain. */
function cardOf(storeId: number, { value, details }: NewCard, now: number): Card {
  return {
    storeId,
    id: 0,
    version: 1,
    initialValue: value,
    balance: value,
    held: { minor: 0n, currency: value.currency },
    lastCharacters: '',
    customer: null,
    recipient: null,
    ...details,
    disabledAt: null,
    suspendedAt: null,
    suspendReason: null,
    createdAt: now,
    lineItemId: null,
    orderId: null,
    userId: null,
    apiClientId: null,
    vat: null,
  };
}
