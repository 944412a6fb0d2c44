/** Edits the details of a card: expiry, note, names and tags. */

import { changedDetails } from '../../domain/cards/field-values.ts';
import {
  byField,
  editableFields,
  isEditable,
  propertyOf,
  type EditableField,
} from '../../domain/cards/fields.ts';
import type { Card } from '../../domain/cards/card.ts';
import { versionTagOf } from '../../service/cards/version.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { editCard } from '../../service/staff-actions/card.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  earlierResult,
  multilineOf,
  openCard,
  changeTexts,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { fieldError, fieldInput, fieldLabel, otherFields, readTyped, shownOf, typedOf } from './fields.ts';
import { alert, hidden } from '../kit/form.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fillPlain } from '../kit/texts.ts';

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
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  { values, errors, notice, isConflict = false }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language } = request;
  const { edit, ...text } = changeTexts[language];
  const { card, path } = opened;
  const current = valuesOf(card);
  const isRejected = Object.keys(errors).length > 0 || notice !== undefined;
  /** The hint of a field: what the card has now, if that differs from what was typed. */
  const hintOf = (name: EditableField): string | undefined => {
    if (!isConflict || current[name] === values[name]) return hints[name];
    const value = card[propertyOf(name)];
    return fillPlain(edit.now, { value: value === null ? text.none : shownOf(name, value, language) });
  };
  const hints: Readonly<Partial<Record<EditableField, string>>> = {
    expires_on: edit.expiresHint,
    tags: edit.tagsHint,
    note: edit.noteHint,
  };
  const input = (name: EditableField): Markup => {
    const hint = hintOf(name);
    return fieldInput(name, {
      label: fieldLabel(name, language),
      value: values[name],
      error: errors[name],
      ...(hint !== undefined && { hint }),
    });
  };
  const expiry =
    card.disabledAt === null ? input('expires_on') : markup`<p class="hint">${edit.noExpiry}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${edit.title}">${notice === undefined ? undefined : alert(notice)}
<form class="stack" method="post" action="${frame.basePath}${path}/edit">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}${hidden('version', versionTagOf(card))}
${expiry}
<div class="fields">${input('recipient_name')}
${input('sender_name')}</div>
${otherFields.filter(isEditable).map(input)}
${input('tags')}
${input('note')}
<div class="row"><button class="button first">${edit.action}</button>${backLink(services, request, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  const rejectedStatus = isConflict ? 409 : 422;
  const status = isRejected ? rejectedStatus : 200;
  return changePage(services, request, opened, { title: edit.title, body, status });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language } = request;
  const { edit, errors: messages } = changeTexts[language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card } = opened;
  const errors: Partial<Record<EditableField, string>> = {};
  const sent: Partial<Record<EditableField, string | null>> = {};
  const current = valuesOf(card);
  // A field that the form does not have keeps its value.
  const values = byField(editableFields, (name) =>
    request.form.has(name) ? multilineOf(request, name) : current[name],
  );
  for (const name of editableFields) {
    if (!request.form.has(name)) continue;
    const parsed = readTyped(name, values[name]);
    if (parsed.ok) sent[name] = parsed.value;
    else errors[name] = fieldError(name, language);
  }
  const again = (form: Omit<Form, 'values'>, now = opened): ConsoleResponse =>
    editPage(services, request, now, { ...form, values });
  if (Object.keys(errors).length > 0) return again({ errors });
  const version = request.form.get('version') ?? '';
  return await change(services, request, opened, {
    title: edit.title,
    *script(): Script<Done> {
      yield* editCard(ctx, byOf(request), { cardId: card.id, changes: changedDetails(sent), version });
      return { done: 'edited', card: card.id };
    },
    async rejected(fault) {
      if (!fault) return again({ errors: {}, notice: messages.expiredForm });
      if (fault.code !== 'precondition-failed') return undefined;
      return again(
        { errors: {}, notice: edit.conflict, isConflict: true },
        await openCard(services, request),
      );
    },
  });
}

export const editRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/:id/edit',
    access: 'changeCards',
    async handle(services, request) {
      const opened = await openCard(services, request);
      return editPage(services, request, opened, { values: valuesOf(opened.card), errors: {} });
    },
  },
  { method: 'POST', path: '/cards/:id/edit', access: 'changeCards', handle: submit },
];
