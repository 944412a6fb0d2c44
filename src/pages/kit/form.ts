/** Fields of forms, with their labels, hints and errors. */

import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';

/** The errors of fields by their names. */
export type ErrorsOf<Field extends string> = Readonly<Partial<Record<Field, string>>>;

/** The texts of a field. */
export type FieldText = {
  readonly name: string;
  /** The language in which people fill it in, if it is not that of the page. */
  readonly written?: { readonly language: string; readonly direction: 'ltr' | 'rtl' };
  readonly label: string;
  readonly hint?: MarkupPart;
  readonly error?: string | undefined;
};

/** The attributes with which assistive technology finds the hint or the error, and knows the language. */
function described({ name, hint, error, written }: FieldText): Markup {
  const below = error === undefined ? 'hint' : 'error';
  const isDescribed = error !== undefined || hint !== undefined;
  const describedBy = isDescribed ? markup` aria-describedby="${name}-${below}"` : undefined;
  const language = written && markup` lang="${written.language}" dir="${written.direction}"`;
  return markup`${describedBy}${error === undefined ? undefined : markup` aria-invalid="true"`}${language}`;
}

/** An error says what the field accepts, as the hint does, so it replaces the hint. */
function labeled(text: FieldText, control: Markup): Markup {
  const { name, label, hint, error } = text;
  const shownHint = hint === undefined ? undefined : markup`<p class="hint" id="${name}-hint">${hint}</p>`;
  const below = error === undefined ? shownHint : markup`<p class="error" id="${name}-error">${error}</p>`;
  return markup`<div><label for="${name}">${label}</label>
${control}
${below}</div>`;
}

/** A labeled input. */
export function inputField({
  type = 'text',
  value = '',
  autocomplete = 'off',
  inputMode,
  kind = '',
  isOptional = false,
  options,
  hasFocus = false,
  ...text
}: FieldText & {
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'time' | 'search' | 'tel' | 'url';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly inputMode?: 'decimal' | 'numeric';
  /** Classes of the style sheet, such as `amount` or `code`. */
  readonly kind?: string;
  readonly isOptional?: boolean;
  /** Suggestions: the field accepts any text. */
  readonly options?: readonly string[];
  /** Whether the page opens with the focus in this field. */
  readonly hasFocus?: boolean;
}): Markup {
  const { name } = text;
  const list = options && markup` list="${name}-options"`;
  const suggested =
    options &&
    markup`<datalist id="${name}-options">${options.map((option) => markup`<option value="${option}"></option>`)}</datalist>`;
  const focus = hasFocus ? markup` autofocus` : undefined;
  const mode = inputMode && markup` inputmode="${inputMode}"`;
  const required = isOptional ? undefined : markup` required`;
  return labeled(
    text,
    markup`<input class="field ${kind}" id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${mode}${list}${described(text)}${required}${focus}>${suggested}`,
  );
}

/** A labeled field of several lines. */
export function textArea({ value = '', ...text }: FieldText & { readonly value?: string | Markup }): Markup {
  const { name } = text;
  return labeled(
    text,
    markup`<textarea class="field" id="${name}" name="${name}" rows="3"${described(text)}>${value}</textarea>`,
  );
}

export type Option = { readonly value: string; readonly text: string };

/** A labeled choice of one option. */
export function select({
  options,
  value = '',
  ...text
}: FieldText & { readonly options: readonly Option[]; readonly value?: string }): Markup {
  const { name } = text;
  return labeled(
    text,
    markup`<select class="field" id="${name}" name="${name}"${described(text)}>${optionsOf(options, value)}</select>`,
  );
}

/** The options of a selection. @param value of the chosen one. */
export function optionsOf(options: readonly Option[], value: string): readonly Markup[] {
  return options.map((option) => {
    const selected = option.value === value ? markup` selected` : undefined;
    return markup`<option value="${option.value}"${selected}>${option.text}</option>`;
  });
}

export function hidden(name: string, value: string | Markup): Markup {
  return markup`<input type="hidden" name="${name}" value="${value}">`;
}

/** Returns an error above a form. */
export function alert(text: MarkupPart): Markup {
  return markup`<p class="notice" role="alert">${text}</p>`;
}
