/** The fields of the buy page, which work without a script: the style sheet shows those that the choices need. */

import { cardDesigns, type CardDesign } from '../../../../core/cards/domain/design.ts';
import { emailLengthMax } from '../../../../core/domain/email-address.ts';
import { formLengths } from '../../domain/sale.ts';
import { sendingInstantOf } from '../../../../core/emails/domain/send-on.ts';
import { markup, type Markup, type MarkupPart } from '../../../../platform/markup.ts';
import { designChoice } from '../../../../pages/kit/gift.ts';
import { amountText, timeText } from '../../../../pages/kit/format.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import { fill, fillPlain } from '../../../../pages/kit/texts.ts';
import { ownAmount, sendingDays, type BuyField, type BuyErrors, type TypedForm } from './form.ts';
import type { BuyPlace } from './place.ts';
import type { BuyTexts } from '../../../recipient/pages/texts.ts';

/** A form as it is shown. */
export type ShownBuyForm = { readonly typed: TypedForm; readonly errors: BuyErrors; readonly now: number };

export function buyerDesignName(design: CardDesign, texts: BuyTexts): string {
  return texts[design];
}

function errorText(field: BuyField, { errors }: ShownBuyForm): Markup | undefined {
  const error = errors[field];
  return error === undefined ? undefined : markup`<p class="error" id="${field}-error">${error}</p>`;
}

type Input = {
  readonly field: BuyField;
  readonly label: MarkupPart;
  readonly type?: 'text' | 'email' | 'date';
  readonly autocomplete: string;
  readonly hint?: string;
  readonly more?: Markup;
};

function described(field: BuyField, shown: ShownBuyForm, hint?: string): Markup {
  const ids = [
    ...(shown.errors[field] === undefined ? [] : [`${field}-error`]),
    ...(hint === undefined ? [] : [`${field}-hint`]),
  ];
  const invalid = shown.errors[field] === undefined ? undefined : markup` aria-invalid="true"`;
  const describedBy = ids.length > 0 ? markup` aria-describedby="${ids.join(' ')}"` : undefined;
  return markup`${describedBy}${invalid}`;
}

function input(
  { field, label, type = 'text', autocomplete, hint, more }: Input,
  shown: ShownBuyForm,
): Markup {
  const below = hint === undefined ? undefined : markup`<p class="hint" id="${field}-hint">${hint}</p>`;
  return markup`<div><label for="${field}">${label}</label><input class="field" id="${field}" name="${field}" type="${type}" value="${shown.typed[field]}" autocomplete="${autocomplete}"${more}${described(field, shown, hint)}>${errorText(field, shown)}${below}</div>
`;
}

function radio(name: BuyField, value: string, { typed }: ShownBuyForm, isFirst = false): Markup {
  const id = isFirst ? markup` id="${name}"` : undefined;
  const checked = typed[name] === value ? markup` checked` : undefined;
  return markup`<input type="radio"${id} name="${name}" value="${value}"${checked}>`;
}

function amounts({ buy: { page }, texts, language: { locale } }: BuyPlace, shown: ShownBuyForm): Markup {
  const presets = page.presets.map((preset, index) => {
    const value = radio('amount', String(preset.minor), shown, index === 0);
    return markup`<label class="choice">${value}${amountText(preset, locale).replace(/[.,]00(?=\D*$)/, '')}</label>`;
  });
  const own = radio('amount', ownAmount, shown, presets.length === 0);
  const hint = fillPlain(texts.ownHint, {
    min: amountText(page.min, locale),
    max: amountText(page.max, locale),
  });
  const invalid = shown.errors.amount === undefined ? undefined : markup` aria-invalid="true"`;
  const ids = shown.errors.amount === undefined ? 'own-hint' : 'amount-error own-hint';
  return markup`<fieldset><legend>${texts.amountLegend}</legend><div class="amounts">${presets}<label class="choice opens">${own}${texts.other}</label></div>
<div class="own shown-if-chosen"><label for="own">${texts.own}</label><input class="field amount" id="own" name="own" value="${shown.typed.own}" inputmode="decimal" autocomplete="off" maxlength="40" aria-describedby="${ids}"${invalid}><p class="hint" id="own-hint">${hint}</p></div>${errorText('amount', shown)}</fieldset>
`;
}

function people({ texts }: BuyPlace, shown: ShownBuyForm): Markup {
  const nameLength = markup` maxlength="${formLengths.name}"`;
  const max = formLengths.message;
  const left = markup`<span aria-hidden="true"><span data-show="count">${shown.typed.message.length}</span>/${max}</span>`;
  return markup`<fieldset><legend>${texts.whoLegend}</legend><div class="two-choices"><label class="choice">${radio('for', 'other', shown, true)}${texts.someone}</label><label class="choice">${radio('for', 'me', shown)}${texts.myself}</label></div>${errorText('for', shown)}
<div class="for-other stack"><div class="fields">${input({ field: 'to', label: texts.to, autocomplete: 'off', more: nameLength }, shown)}${input({ field: 'from', label: texts.from, autocomplete: 'name', more: nameLength }, shown)}</div>
<div><label for="message">${texts.message} <span class="soft">(${texts.optional})</span></label><textarea class="field" id="message" name="message" rows="4" maxlength="${max}" autocomplete="off"${described('message', shown, texts.messageHint)}>${shown.typed.message}</textarea>${errorText('message', shown)}<p class="hint count-line"><span id="message-hint">${texts.messageHint}</span>${left}</p></div></div></fieldset>
`;
}

function deliveryChoices(place: BuyPlace, shown: ShownBuyForm): Markup {
  const { texts, store, language } = place;
  const { from, to } = sendingDays(place, shown.now);
  const time = timeText(sendingInstantOf(from, store.timeZone), store, language.locale, {
    timeStyle: 'short',
  });
  const zone = (store.timeZone.split('/').at(-1) ?? '').replaceAll('_', ' ');
  const choice = (value: string, name: string, hint: MarkupPart): Markup =>
    markup`<label class="choice rows">${radio('when', value, shown, value === 'now')}${name}<span class="soft">${hint}</span></label>
`;
  const day = markup` min="${from}" max="${to}"`;
  const address = markup` inputmode="email" maxlength="${emailLengthMax}" dir="ltr"`;
  return markup`<fieldset class="for-other"><legend>${texts.whenLegend}</legend><div class="choices down">
${choice('now', texts.now, texts.nowHint)}${choice('day', texts.onDay, fill(texts.onDayHint, { time: markup`<bdi>${time}</bdi>`, zone }))}${choice('self', texts.self, texts.selfHint)}</div>${errorText('when', shown)}
<div class="fields by-email">${input({ field: 'email', label: texts.address, type: 'email', autocomplete: 'off', more: address }, shown)}<div class="on-day">${input({ field: 'day', label: texts.day, type: 'date', autocomplete: 'off', more: day }, shown)}</div></div></fieldset>
`;
}

function receipt({ texts }: BuyPlace, shown: ShownBuyForm): Markup {
  const more = markup` inputmode="email" maxlength="${emailLengthMax}" dir="ltr"`;
  const field = input(
    {
      field: 'buyer_email',
      label: texts.yourAddress,
      type: 'email',
      autocomplete: 'email',
      hint: texts.yourAddressHint,
      more,
    },
    shown,
  );
  return markup`<section><h2>${texts.receiptLegend}</h2><div class="own">${field}</div></section>
`;
}

/** The questions, in the order in which a person who gives a card thinks of them. */
export function buyFields({ frame }: ConsoleServices, place: BuyPlace, shown: ShownBuyForm): Markup {
  const { texts } = place;
  const designs = designChoice(frame, {
    legend: texts.designLegend,
    chosen: cardDesigns.find((design) => design === shown.typed.design) ?? place.design,
    nameOf: (design) => buyerDesignName(design, texts),
    error: shown.errors.design,
  });
  return markup`<div class="buy-form">
${designs}
${amounts(place, shown)}${people(place, shown)}${deliveryChoices(place, shown)}${receipt(place, shown)}</div>
`;
}

/** The fields of a form with their errors, in the order of the page, for the list above it. */
export function errorList({ texts }: BuyPlace, { errors }: ShownBuyForm): Markup | undefined {
  const names: readonly (readonly [BuyField, string, string])[] = [
    ['design', texts.design, 'design'],
    ['amount', texts.amountLegend, 'own'],
    ['for', texts.whoLegend, 'for'],
    ['to', texts.to, 'to'],
    ['from', texts.from, 'from'],
    ['message', texts.message, 'message'],
    ['when', texts.whenLegend, 'when'],
    ['email', texts.address, 'email'],
    ['day', texts.day, 'day'],
    ['buyer_email', texts.yourAddress, 'buyer_email'],
  ];
  const items = names.flatMap(([field, name, id]) => {
    const error = errors[field];
    return error === undefined
      ? []
      : [
          markup`<li><a href="#${id}">${name}: ${error}</a></li>
`,
        ];
  });
  if (items.length === 0) return undefined;
  return markup`<div class="errors" role="alert"><h2>${texts.errors}</h2><ul>
${items}</ul></div>
`;
}
