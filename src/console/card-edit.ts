/** Edits the details of a card: expiry, note, names and tags. */

import type { Card, CardChanges } from '../domain/card.ts';
import { versionTagOf } from '../service/card-version.ts';
import { parseDay } from '../domain/day.ts';
import { FieldErrors } from '../domain/fault.ts';
import { accepted, type Parsed } from '../domain/parsed.ts';
import { actorOf } from '../domain/staff.ts';
import { parseTags, tagLengthMax, tagsIn, tagsMax } from '../domain/tags.ts';
import { nameLengthMax, parseLine, parseText } from '../domain/text.ts';
import { markup } from '../markup.ts';
import { update } from '../service/card.ts';
import { assertMay } from '../service/counter.ts';
import { recordAction } from '../service/staff.ts';
import type { Script } from '../storage/sql.ts';
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
} from './card-change.ts';
import { alert, inputField, hidden, textArea } from './form.ts';
import { dayText } from './format.ts';
import { keyInput, keyOf } from './once.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from './route.ts';
import { actingAs } from './staff-pages.ts';
import { fillPlain } from './texts.ts';

/** The fields of the form, by the details that they change. */
const names = {
  expiresOn: 'expires_on',
  recipientName: 'recipient_name',
  senderName: 'sender_name',
  tags: 'tags',
  note: 'note',
} as const;

type Detail = keyof typeof names;

const details = Object.keys(names) as readonly Detail[];

type Values = Readonly<Record<Detail, string>>;

function valuesOf(card: Card): Values {
  const { expiresOn, recipientName, senderName, tags, note } = card;
  return {
    expiresOn: expiresOn ?? '',
    recipientName: recipientName ?? '',
    senderName: senderName ?? '',
    tags: tagsIn(tags).join(', '),
    note: note ?? '',
  };
}

type Form = {
  readonly values: Values;
  readonly errors: Readonly<Partial<Record<Detail, string>>>;
  /** Above the form. */
  readonly notice?: string;
  /** Whether the card has changed since the form was shown. */
  readonly isConflict?: boolean;
};

/** Longer texts are not split into tags. */
const tagListLengthMax = 4 * tagsMax * (tagLengthMax + 1);

function parseTagList(text: string): Parsed<string | null> {
  if (text.length > tagListLengthMax) return parseTags(text);
  const list = text.split(',').map((tag) => tag.trim());
  return parseTags(list.filter((tag) => tag !== ''));
}

const parsers: Readonly<Record<Detail, (text: string) => Parsed<string | null>>> = {
  expiresOn: (text) => (text === '' ? accepted(null) : parseDay(text)),
  recipientName: (text) => parseLine(text, nameLengthMax),
  senderName: (text) => parseLine(text, nameLengthMax),
  tags: parseTagList,
  note: (text) => parseText(text),
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
  const shownNow = (detail: Detail): string => {
    const value = current[detail];
    if (value === '') return text.none;
    return detail === 'expiresOn' ? dayText(value, language) : value;
  };
  /** The hint of a field: what the card has now, if that differs from what was typed. */
  const hintOf = (detail: Detail, hint?: string): string | undefined =>
    isConflict && current[detail] !== values[detail]
      ? fillPlain(edit.now, { value: shownNow(detail) })
      : hint;
  const optional = (detail: Detail, label: string, hint?: string) => {
    const shown = hintOf(detail, hint);
    return {
      name: names[detail],
      label,
      value: values[detail],
      error: errors[detail],
      ...(shown !== undefined && { hint: shown }),
    };
  };
  const expiry =
    card.disabledAt === null
      ? inputField({
          ...optional('expiresOn', edit.expiresOn, edit.expiresHint),
          type: 'date',
          isOptional: true,
        })
      : markup`<p class="hint">${edit.noExpiry}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${edit.title}">${notice === undefined ? undefined : alert(notice)}
<form class="stack" method="post" action="${frame.basePath}${path}/edit">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}${hidden('version', versionTagOf(card))}
${expiry}
<div class="fields">${inputField({ ...optional('recipientName', edit.recipientName), isOptional: true })}
${inputField({ ...optional('senderName', edit.senderName), isOptional: true })}</div>
${inputField({ ...optional('tags', edit.tags, edit.tagsHint), isOptional: true })}
${textArea(optional('note', text.note, edit.noteHint))}
<div class="row"><button class="button first">${edit.action}</button>${backLink(services, request, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  const rejectedStatus = isConflict ? 409 : 422;
  const status = isRejected ? rejectedStatus : 200;
  return changePage(services, request, opened, { title: edit.title, body, status });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn } = request;
  const { store, member } = signedIn;
  const { edit, errors: messages } = changeTexts[language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card } = opened;
  const errors: Partial<Record<Detail, string>> = {};
  const changes: Partial<Record<Detail, string | null>> = {};
  const current = valuesOf(card);
  // A field that the form does not have keeps its value.
  const values = Object.fromEntries(
    details.map((detail) => [
      detail,
      request.form.has(names[detail]) ? multilineOf(request, names[detail]) : current[detail],
    ]),
  ) as Values;
  for (const detail of details) {
    if (!request.form.has(names[detail])) continue;
    const parsed = parsers[detail](values[detail]);
    if (parsed.ok) changes[detail] = parsed.value;
    else errors[detail] = edit.errors[detail];
  }
  const again = (form: Omit<Form, 'values'>, now = opened): ConsoleResponse =>
    editPage(services, request, now, { ...form, values });
  if (Object.keys(errors).length > 0) return again({ errors });
  const version = request.form.get('version') ?? '';
  return await change(services, request, opened, {
    title: edit.title,
    *script(): Script<Done> {
      yield* assertMay(store, member, 'changeCards');
      yield* update(ctx, {
        store,
        cardId: card.id,
        actor: actorOf(member),
        changes: changes satisfies CardChanges,
        releaseHolds: false,
        echoed: new Map(),
        echoedCode: null,
        versions: [version],
        errors: new FieldErrors(),
      });
      const changed = details.filter((detail) => detail in changes && values[detail] !== current[detail]);
      const entry = { storeId: store.id, action: 'card-changed', subjectId: card.id } as const;
      if (changed.length > 0)
        yield* recordAction(ctx, actingAs(request), {
          ...entry,
          details: { fields: changed.map((detail) => names[detail]).join(', ') },
        });
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
