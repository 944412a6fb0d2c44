/** Edits the details of a card: expiry, note, names and tags. */

import { changedDetails } from '../../../core/cards/domain/field-values.ts';
import {
  byField,
  editableFields,
  isEditable,
  propertyOf,
  type EditableField,
} from '../../../core/cards/domain/fields.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { versionTagOf } from '../../../core/cards/service/version.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { editCard } from '../service/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  changeRoutes,
  multilineOf,
  openCard,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import {
  designName,
  fieldError,
  fieldInput,
  fieldLabel,
  otherFields,
  readTyped,
  shownOf,
  typedOf,
  type InputField,
} from './fields.ts';
import { designChoice } from '../../../pages/kit/gift.ts';
import { alert, hidden } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Values = Readonly<Record<EditableField, string>>;

function valuesOf(card: Card): Values {
  return byField(editableFields, (name) => typedOf(name, card[propertyOf(name)]));
}

type Form = {
  readonly values: Values;
  readonly errors: Readonly<Partial<Record<EditableField, string>>>;
  /** Above the form. */
  readonly notice?: string;
  /** Whether the card has changed since the form was shown. */
  readonly isConflict?: boolean;
};

function editPage(
  page: Page,
  opened: OpenedCard,
  { values, errors, notice, isConflict = false }: Form,
): ConsoleResponse {
  const { edit, ...text } = page.text.cardActions;
  const { card, path } = opened;
  const current = valuesOf(card);
  const isRejected = Object.keys(errors).length > 0 || notice !== undefined;
  /** The hint of a field: what the card has now, if that differs from what was typed. */
  const hintOf = (name: EditableField): string | undefined => {
    if (!isConflict || current[name] === values[name]) return hints[name];
    const value = card[propertyOf(name)];
    return fillPlain(edit.now, { value: value === null ? text.none : shownOf(name, value, page.language) });
  };
  const hints: Readonly<Partial<Record<EditableField, string>>> = {
    expires_on: edit.expiresHint,
    tags: edit.tagsHint,
    note: edit.noteHint,
  };
  const input = (name: EditableField & InputField): Markup => {
    const hint = hintOf(name);
    return fieldInput(name, {
      label: fieldLabel(name, page.language),
      value: values[name],
      error: errors[name],
      ...(hint !== undefined && { hint }),
    });
  };
  const designHint = hintOf('design');
  const design = designChoice(page.services.frame, {
    legend: fieldLabel('design', page.language),
    chosen: values.design,
    nameOf: (each) => designName(each, page.language),
    error: errors.design,
    ...(designHint !== undefined && { hint: designHint }),
  });
  const expiry =
    card.disabledAt === null ? input('expires_on') : markup`<p class="hint">${edit.noExpiry}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${edit.title}">${notice === undefined ? undefined : alert(notice)}
<form class="stack" method="post" action="${page.basePath}${path}/edit">${keyInput(page.ctx, isRejected ? page.key : undefined)}${hidden('version', versionTagOf(card))}
${expiry}
<div class="fields">${input('recipient_name')}
${input('sender_name')}</div>
${otherFields.filter(isEditable).map(input)}
${design}
${input('tags')}
${input('note')}
<div class="row"><button class="button first">${edit.action}</button>${backLink(page, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  const rejectedStatus = isConflict ? 409 : 422;
  const status = isRejected ? rejectedStatus : 200;
  return changePage(page, opened, { title: edit.title, body, status });
}

async function submit(page: Page, opened: OpenedCard): Promise<ConsoleResponse> {
  const { edit, errors: messages } = page.text.cardActions;
  const { card } = opened;
  const errors: Partial<Record<EditableField, string>> = {};
  const sent: Partial<Record<EditableField, string | null>> = {};
  const current = valuesOf(card);
  // A field that the form does not have keeps its value.
  const values = byField(editableFields, (name) =>
    page.request.form.has(name) ? multilineOf(page, name) : current[name],
  );
  for (const name of editableFields) {
    if (!page.request.form.has(name)) continue;
    const parsed = readTyped(name, values[name]);
    if (parsed.ok) sent[name] = parsed.value;
    else errors[name] = fieldError(name, page.language);
  }
  const again = (form: Omit<Form, 'values'>, now = opened): ConsoleResponse =>
    editPage(page, now, { ...form, values });
  if (Object.keys(errors).length > 0) return again({ errors });
  const version = page.request.form.get('version') ?? '';
  return await change(page, opened, {
    title: edit.title,
    *script(): Script<Done> {
      yield* editCard(page.ctx, page.by, { cardId: card.id, changes: changedDetails(sent), version });
      return { done: 'edited', card: card.id };
    },
    async rejected(fault) {
      if (!fault) return again({ errors: {}, notice: messages.expiredForm });
      if (fault.code !== 'precondition-failed') return undefined;
      return again({ errors: {}, notice: edit.conflict, isConflict: true }, await openCard(page));
    },
  });
}

export const editRoutes = changeRoutes('/cards/:id/edit', {
  open: openCard,
  show: (page, opened) => editPage(page, opened, { values: valuesOf(opened.card), errors: {} }),
  submit,
});
