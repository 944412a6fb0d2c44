/** The settings of the storefront's app proxy: the secret with which it signs, and whether requests need a signature. */

import { proxySecretLengths } from '../../../core/stores/domain/app-proxy.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Settings } from '../../shop-settings/domain/settings.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { inputField } from '../../../pages/kit/form.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { typedFields } from '../../../pages/kit/request.ts';
import {
  baseOf,
  checkField,
  formStart,
  readSettings,
  rejectedForm,
  saveSettings,
  pageOfSettings,
  type ShownForm,
} from '../../shop-settings/pages/page.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const fields = ['proxy_secret', 'remove_secret', 'require_signature'] as const;

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;

/** The secret itself is never shown. */
function valuesOf({ store }: Settings): Values {
  return { proxy_secret: '', remove_secret: '', require_signature: store.requireSignature ? 'yes' : '' };
}

function proxyPage(page: Page, form: ShownForm<Field>): ConsoleResponse {
  const text = page.text.settings;
  const hasSecret = form.base.proxy_secret !== '';
  const error = (name: Field): Markup | undefined =>
    form.errors[name] === undefined ? undefined : markup`<p class="error">${form.errors[name]}</p>`;
  const remove = hasSecret
    ? checkField(form, page.language, ['remove_secret', text.removeSecret])
    : undefined;
  const body = markup`<form class="stack" method="post" action="${page.basePath}/settings/proxy">${formStart(page, form)}
<section class="panel stack change" aria-labelledby="proxy"><h2 id="proxy">${text.pages.proxy}</h2><p class="soft">${text.proxyHint}</p>
${inputField({ name: 'proxy_secret', label: text.proxySecret, type: 'password', autocomplete: 'new-password', isOptional: true, hint: hasSecret ? text.secretSet : text.secretMissing, error: form.errors.proxy_secret })}
${remove}${checkField(form, page.language, ['require_signature', text.requireSignature, text.requireSignatureHint])}${error('require_signature')}
<div class="row"><button class="button first">${text.save}</button></div></section></form>`;
  return pageOfSettings(page, { area: 'proxy', form, body });
}

export const proxySettingsRoutes: readonly StaffRoute[] = [
  get('/settings/proxy', { sensitive: 'changeSettings' }, async (page) => {
    const settings = await readSettings(page);
    const form = { values: valuesOf(settings), errors: {}, base: baseOf('proxy', settings) };
    return proxyPage(page, form);
  }),
  post('/settings/proxy', { sensitive: 'changeSettings' }, async (page) => {
    const text = page.text.settings;
    const secret = page.request.form.get('proxy_secret') ?? '';
    // A page never shows a secret, not even a rejected one.
    const settings = await readSettings(page);
    const values = { ...typedFields(page.request, fields, valuesOf(settings)), proxy_secret: '' };
    const made = (form: ShownForm<Field>) => proxyPage(page, form);
    const shown = { area: 'proxy', values, page: made } as const;
    const { min, max } = proxySecretLengths;
    if (secret !== '' && (secret.length < min || secret.length > max))
      return await rejectedForm(page, shown, { proxy_secret: text.secretInvalid });
    const removed = values.remove_secret === '' ? {} : { proxySecret: null };
    try {
      return await saveSettings(page, {
        ...shown,
        changes: {
          requireSignature: values.require_signature !== '',
          ...(secret === '' ? removed : { proxySecret: new Secret(secret) }),
        },
        emailChanges: {},
        valuesOf,
      });
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
      return await rejectedForm(page, shown, { require_signature: text.signatureNeedsSecret });
    }
  }),
];
