/** Changes of a card by an amount: a form, the script that runs once, and the messages at the fields. */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { Fault } from '../../../core/domain/fault.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { parseTypedAmount } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  changeRoutes,
  unavailablePage,
  unreadableAmount,
  type Done,
  type OpenedCard,
} from './change-form.ts';

type Values<Name extends string> = Readonly<Record<Name | 'amount', string>>;
type Errors<Name extends string> = Readonly<Partial<Values<Name>>>;
type Form<Name extends string> = { readonly values: Values<Name>; readonly errors: Errors<Name> };

type Input<Value> = {
  readonly parse: (typed: string) => Parsed<Value>;
  readonly error: (page: Page) => string;
};

type AmountChange<Opened extends OpenedCard, Read extends Readonly<Record<string, unknown>>> = {
  readonly path: string;
  readonly done: Done['done'];
  readonly open: (page: Page) => Promise<Opened>;
  /** The reason why the card cannot be changed; undefined: it can. */
  readonly obstacle: (page: Page, opened: Opened) => string | undefined;
  readonly textOf: (
    page: Page,
    opened: Opened,
  ) => {
    readonly title: string;
    readonly amount: string;
    readonly action: string;
    readonly consequence: string;
  };
  /** Above the form. */
  readonly head: (page: Page, opened: Opened) => Markup;
  /** The amount of a new form. */
  readonly startAmount?: (page: Page, opened: Opened) => string;
  /** The parsers of the other fields, and the messages of their errors. */
  readonly inputs: { readonly [Name in keyof Read]: Input<Read[Name]> };
  readonly fields: (page: Page, opened: Opened, form: Form<keyof Read & string>) => Markup;
  readonly moreButtons?: (page: Page, opened: Opened) => Markup;
  readonly script: (
    page: Page,
    opened: Opened,
    read: Read & { readonly amount: Money },
  ) => Script<{ readonly transfer: Transfer; readonly card: Card }>;
  /** The messages at the fields that a fault rejects, apart from amounts above a limit; undefined: it is about others. */
  readonly errorsOf?: (page: Page, fault: Fault, opened: Opened) => Errors<keyof Read & string> | undefined;
};

/** The routes of a change. */
export function amountChange<Opened extends OpenedCard, Read extends Readonly<Record<string, unknown>>>(
  of: AmountChange<Opened, Read>,
): readonly StaffRoute[] {
  const { path, open, startAmount } = of;
  return changeRoutes(path, {
    open,
    show(page, opened) {
      const values = valuesOf(of, () => '', startAmount?.(page, opened) ?? '');
      return formPage(of, page, opened, { values, errors: {} as Errors<keyof Read & string> });
    },
    submit: (page, opened) => submit(of, page, opened),
  });
}

function valuesOf<Opened extends OpenedCard, Read extends Readonly<Record<string, unknown>>>(
  { inputs }: AmountChange<Opened, Read>,
  valueOf: (name: string) => string,
  amount: string,
): Values<keyof Read & string> {
  const values = Object.keys(inputs).map((name) => [name, valueOf(name)]);
  return Object.fromEntries([...values, ['amount', amount]]) as Values<keyof Read & string>;
}

function formPage<Opened extends OpenedCard, Read extends Readonly<Record<string, unknown>>>(
  { path, textOf, obstacle, head, fields, moreButtons }: AmountChange<Opened, Read>,
  page: Page,
  opened: Opened,
  form: Form<keyof Read & string>,
): ConsoleResponse {
  const { title, amount, action, consequence } = textOf(page, opened);
  const { values, errors }: Form<never> = form;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const reason = obstacle(page, opened);
  if (reason !== undefined) return unavailablePage(page, opened, { title, reason, status });
  const target = path
    .replace('/cards/:id', opened.path)
    .replaceAll(/:(\w+)/g, (_, name: string) => page.param(name));
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${head(page, opened)}</div>
<form class="stack" method="post" action="${page.basePath}${target}">
${keyInput(page.ctx, isRejected ? page.key : undefined)}
${inputField({ name: 'amount', label: amount, value: values.amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
${fields(page, opened, form)}
<p class="hint">${consequence}</p>
<div class="row"><button class="button first">${action}</button>${moreButtons?.(page, opened)}${backLink(page, { path: opened.path, text: page.text.cardActions.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

async function submit<Opened extends OpenedCard, Read extends Readonly<Record<string, unknown>>>(
  of: AmountChange<Opened, Read>,
  page: Page,
  opened: Opened,
): Promise<ConsoleResponse> {
  const { language, store } = page;
  // A button for all submits the amount that the person saw.
  const typed = page.typed('all') || page.typed('amount');
  const values = valuesOf(of, (name) => page.typed(name), typed);
  const again = (errors: object, current = opened): ConsoleResponse =>
    formPage(of, page, current, { values, errors: errors as Errors<keyof Read & string> });
  const amount = parseTypedAmount(typed, store, page.request);
  const read: Record<string, unknown> = {};
  const errors: Record<string, string> = {};
  for (const [name, input] of Object.entries<Input<unknown>>(of.inputs)) {
    const parsed = input.parse(page.typed(name));
    if (parsed.ok) read[name] = parsed.value;
    else errors[name] = input.error(page);
  }
  if (!amount.ok) return again({ ...errors, amount: unreadableAmount(typed, store, { language }) });
  if (Object.keys(errors).length > 0) return again(errors);
  return await change(page, opened, {
    title: of.textOf(page, opened).title,
    *script(): Script<Done> {
      const command = { ...(read as Read), amount: amount.value };
      const { transfer, card } = yield* of.script(page, opened, command);
      const [changed, left] = [formatMoney(amount.value), formatMoney(card.balance)];
      return { done: of.done, card: opened.card.id, amount: changed, left, entry: transfer.id };
    },
    async rejected(fault) {
      if (!fault) return again({ amount: page.text.cardActions.errors.expiredForm });
      const message = amountError(fault, { currency: store.currency, language });
      const current = await of.open(page);
      if (message !== undefined) return again({ amount: message }, current);
      const messages = of.errorsOf?.(page, fault, current);
      return messages && again(messages, current);
    },
  });
}
