/** The email of a new card as its form is filled in, in a frame of the page. `preview.js` updates it. */

import { byField, cardFieldNames } from '../../domain/cards/fields.ts';
import type { Card } from '../../domain/cards/card.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { Offer } from '../../service/books/usual-amounts.ts';
import type { NewCard } from '../../service/staff-actions/sale.ts';
import { readEmailDesign } from '../../service/emails/settings.ts';
import { fieldLabel } from './fields.ts';
import { headedEmail, rejectedPreview } from '../settings/email-preview.ts';
import {
  emptyForm,
  issueTexts,
  middleAmount,
  parseForm,
  typedValues,
  type IssueField,
  type IssueValues,
} from './issue-form.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest } from '../kit/route.ts';
import { settingsTexts } from '../settings/page.ts';
import { fillPlain } from '../kit/texts.ts';

export const previewPath = '/cards/new/preview';

/** The frame, and the button that updates it without a script. */
export function issuePreviewPanel({ frame }: ConsoleServices, { language }: StaffRequest): Markup {
  const text = settingsTexts[language];
  const path = `${frame.basePath}${previewPath}`;
  return markup`<section class="stack issue-preview" aria-label="${text.preview}"><button class="button" formaction="${path}" formtarget="preview" formnovalidate>${text.updatePreview}</button>
<div class="phone"><iframe name="preview" title="${text.preview}" src="${path}" sandbox></iframe></div>
<p class="hint">${issueTexts[language].previewHint}</p></section>`;
}

/** The preview of a form: of the typed one, or of the one that the page begins with. */
export async function issuePreview(
  services: ConsoleServices,
  request: StaffRequest,
  offer: Offer,
): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn, method } = request;
  const { store } = signedIn;
  const text = issueTexts[language];
  const values: IssueValues =
    method === 'POST' ? typedValues(request) : { ...emptyForm(offer), amount: middleAmount(offer) };
  // The email does not contain what is left out here, so it can be incomplete.
  const shown = { ...values, recipient_email: '', email: '', note: '', how: 'print' };
  const parsed = parseForm(shown, { store, language, now: ctx.clock.now(), canSend: false });
  if ('errors' in parsed) {
    const names: Partial<Record<IssueField, string>> = {
      amount: text.amount,
      other: text.otherAmount,
      ...byField(cardFieldNames, (name) => fieldLabel(name, language)),
    };
    const errors = Object.entries(parsed.errors).map(([name, error]) =>
      fillPlain(text.errorOf, { field: names[name as IssueField] ?? name, error }),
    );
    return rejectedPreview(language, errors);
  }
  const design = await services.storage.read(() => readEmailDesign(store.id, 'gift_card'));
  const now = ctx.clock.now();
  const card = cardOf(store.id, parsed.card, now);
  const email = { kind: 'gift_card' } as const;
  const found = services.previewOf({ email, card, store, ...design, cardSentAt: now });
  if (!found) throw new Error('the email of a new card has no preview');
  const head = markup`${settingsTexts[language].subject}: <strong><bdi>${found.subject}</bdi></strong>`;
  return { status: 200, framed: headedEmail(found.html, head, language), imageOrigin: found.logoOrigin };
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
