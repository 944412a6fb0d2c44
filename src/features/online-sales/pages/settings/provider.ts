/** The payment provider of a store: its key, which is examined before it is stored and never shown again. */

import { checkoutTool } from '../tools.ts';
import { hintPath } from '../../domain/links.ts';
import { isProviderKind, type ProviderKind } from '../../domain/payment.ts';
import { isHintSecret, isTestKey, providerKeyLengthMax } from '../../domain/provider-keys.ts';
import { sandboxKey } from '../../domain/sandbox-payment.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { Secret } from '../../../../platform/secret.ts';
import { isPlayground } from '../../service/settings.ts';
import { endProvider, setUpProvider } from '../../service/staff-online-sales.ts';
import type { StoreProvider } from '../../storage/provider.ts';
import { providerName } from '../../domain/provider-names.ts';
import { hidden, inputField, select } from '../../../../pages/kit/form.ts';
import { timeText } from '../../../../pages/kit/format.ts';
import type { Page } from '../../../../pages/kit/page-context.ts';
import { facts, tag } from '../../../../pages/kit/parts.ts';
import type { ConsoleResponse } from '../../../../pages/kit/route.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import { changedSales, saleSettingsPath } from './change.ts';

export type ProviderForm = {
  readonly kind: string;
  readonly errors: Readonly<Partial<Record<'kind' | 'key' | 'secret', string>>>;
  /** The words of the provider that has rejected the key. */
  readonly said?: string;
};

/** The providers that a store of this database can have. */
function kindsOf({ ctx, store }: Page): readonly ProviderKind[] {
  return isPlayground(ctx, store) ? ['sandbox', 'stripe', 'mollie'] : ['stripe', 'mollie'];
}

/** The URL to which a provider sends its notifications; null: it cannot reach this service. */
function hintUrlOf({ services, store, ctx }: Page, kind: ProviderKind): string | null {
  const { pagesUrl } = services;
  return pagesUrl?.startsWith('https://') === true
    ? `${pagesUrl}${hintPath(kind, ctx.keys.publicIds.of(store.id))}`
    : null;
}

/** A provider that was set up, and what can be done with it. */
function presentProvider(page: Page, provider: StoreProvider): Markup {
  const text = page.text.saleSettings;
  const {
    kind,
    isTest,
    account,
    isActive,
    hasHintSecret,
    keySetAt,
    failingSince,
    failure,
    hintsRejectedSince,
  } = provider;
  const state = isActive
    ? tag(isTest ? 'wait' : 'good', isTest ? text.testMode : text.active)
    : tag('ended', text.inactive);
  const failing =
    failingSince === null || failure === null
      ? undefined
      : markup`<div class="notice bad" role="status"><p>${fillPlain(text.failing, { time: timeText(failingSince, page.store, page.language) })} <span lang="en">${failure}</span></p></div>`;
  const rejected =
    hintsRejectedSince === null
      ? undefined
      : markup`<div class="notice bad" role="status"><p>${fillPlain(text.hintsRejected, { provider: providerName(kind), time: timeText(hintsRejectedSince, page.store, page.language) })}</p></div>`;
  const hints = {
    stripe: hasHintSecret ? text.hintsSigned : text.hintsMissing,
    mollie: text.hintsOfMollie,
    sandbox: text.hintsOfSandbox,
  } as const;
  const rows = facts({
    [text.provider]: markup`${providerName(kind)} ${state}`,
    [text.account]: markup`<span dir="ltr">${account}</span>`,
    [text.keySet]: page.day(keySetAt),
    [text.notifications]: hints[kind],
  });
  const remove = page.form(
    `${saleSettingsPath}/provider/remove`,
    markup`${hidden('kind', kind)}${hidden('test', isTest ? 'yes' : '')}<p class="hint">${text.removeHint}</p><div><button class="button danger">${fillPlain(text.remove, { provider: providerName(kind) })}</button></div>`,
  );
  return markup`${failing}${rejected}${rows}<details><summary>${text.removeTitle}</summary>${remove}</details>`;
}

/** The URL that the owner enters at the provider. */
function hintPart(page: Page): Markup {
  const text = page.text.saleSettings;
  const url = hintUrlOf(page, 'stripe');
  return url === null
    ? markup`<p class="hint">${text.noHintUrl}</p>`
    : markup`<p class="hint">${text.hintUrl}</p><p class="payload" dir="ltr">${url}</p>`;
}

export function providerPanel(
  page: Page,
  providers: readonly StoreProvider[],
  form: ProviderForm | undefined,
): Markup {
  const text = page.text.saleSettings;
  const { kind = '', errors = {}, said } = form ?? {};
  const problem =
    said === undefined
      ? undefined
      : markup`<div class="notice bad" role="alert"><p>${text.rejected} <span lang="en">${said}</span></p></div>`;
  const options = [
    { value: '', text: text.choose },
    ...kindsOf(page).map((each) => ({ value: each, text: providerName(each) })),
  ];
  const key = inputField({
    name: 'provider_key',
    label: text.key,
    type: 'password',
    autocomplete: 'off',
    isOptional: true,
    hint: isPlayground(page.ctx, page.store) ? text.keyHintSandbox : text.keyHint,
    error: errors.key,
  });
  const secret = inputField({
    name: 'hint_secret',
    label: text.secret,
    type: 'password',
    autocomplete: 'off',
    isOptional: true,
    hint: text.secretHint,
    error: errors.secret,
  });
  const body = markup`<div class="fields">${select({ name: 'kind', label: text.provider, options, value: kind, error: errors.kind })}
${key}
${secret}</div>${hintPart(page)}
<div class="row"><button class="button first">${text.examine}</button></div>`;
  const present = providers.map((each) => presentProvider(page, each));
  const title = providers.length === 0 ? text.setUp : text.setUpOther;
  return markup`<section class="panel stack" aria-labelledby="provider"><h2 id="provider">${text.providerTitle}</h2><p>${text.providerLead}</p>${problem}${present}
<h3>${title}</h3>${page.form(`${saleSettingsPath}/provider`, body)}</section>`;
}

type Shown = (form: ProviderForm) => Promise<ConsoleResponse>;

/** Examines a key at its provider, and stores it. */
export async function saveKey(page: Page, shown: Shown): Promise<ConsoleResponse> {
  const { errors: texts, noService } = page.text.saleSettings;
  const onlineSales = page.services.tools.of(checkoutTool);
  const kind = page.typed('kind');
  const [key, secret] = [page.typed('provider_key'), page.typed('hint_secret')];
  if (!isProviderKind(kind) || !kindsOf(page).includes(kind))
    return await shown({ kind: '', errors: { kind: texts.provider } });
  const isValid = key.length <= providerKeyLengthMax && isTestKey(kind, key) !== undefined;
  const errors = {
    ...(!isValid && { key: texts[kind === 'mollie' ? 'mollieKey' : 'stripeKey'] }),
    ...(secret !== '' && !isHintSecret(kind, secret) && { secret: texts.secret }),
  };
  if (Object.keys(errors).length > 0) return await shown({ kind, errors });
  if (!onlineSales) return await shown({ kind, errors: { kind: noService } });
  const credential = {
    key: kind === 'sandbox' ? sandboxKey(page.store.id) : new Secret(key),
    hintSecret: secret === '' ? null : new Secret(secret),
  };
  const examined = await onlineSales.examine(kind, credential);
  if (examined.kind !== 'done') return await shown({ kind, errors: {}, said: examined.detail });
  const account = examined.value;
  const { currencies } = account;
  if (currencies && !currencies.includes(page.store.currency.code))
    return await shown({ kind, errors: { key: texts.currency } });
  return await changedSales(page, account.isTest ? 'savedTest' : 'saved', () =>
    setUpProvider(page.ctx, page.by, { kind, credential, account }),
  );
}

export async function removeKey(page: Page, shown: Shown): Promise<ConsoleResponse> {
  const kind = page.typed('kind');
  if (!isProviderKind(kind)) return await shown({ kind: '', errors: {} });
  return await changedSales(page, 'removed', () =>
    endProvider(page.ctx, page.by, { kind, isTest: page.typed('test') !== '' }),
  );
}
