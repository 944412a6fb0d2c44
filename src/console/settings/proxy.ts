/** The settings of the storefront's app proxy: the secret with which it signs, and whether requests need a signature. */

import { proxySecretLengths } from '../../domain/stores/app-proxy.ts';
import { Fault } from '../../domain/fault.ts';
import { Secret } from '../../platform/secret.ts';
import type { Settings } from '../../domain/stores/settings.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { inputField } from '../kit/form.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { typedFields } from '../kit/request.ts';
import {
  baseOf,
  checkField,
  formStart,
  readSettings,
  rejectedForm,
  saveSettings,
  pageOfSettings,
  settingsTexts,
  type ShownForm,
} from './page.ts';

const fields = ['proxy_secret', 'remove_secret', 'require_signature'] as const;

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;

/** The secret itself is never shown. */
function valuesOf({ store }: Settings): Values {
  return { proxy_secret: '', remove_secret: '', require_signature: store.requireSignature ? 'yes' : '' };
}

function proxyPage(
  services: ConsoleServices,
  request: StaffRequest,
  form: ShownForm<Field>,
): ConsoleResponse {
  const { language } = request;
  const text = settingsTexts[language];
  const hasSecret = form.base.proxy_secret !== '';
  const error = (name: Field): Markup | undefined =>
    form.errors[name] === undefined ? undefined : markup`<p class="error">${form.errors[name]}</p>`;
  const remove = hasSecret ? checkField(form, language, ['remove_secret', text.removeSecret]) : undefined;
  const body = markup`<form class="stack" method="post" action="${services.frame.basePath}/settings/proxy">${formStart(services, request, form)}
<section class="panel stack change" aria-labelledby="proxy"><h2 id="proxy">${text.pages.proxy}</h2><p class="soft">${text.proxyHint}</p>
${inputField({ name: 'proxy_secret', label: text.proxySecret, type: 'password', autocomplete: 'new-password', isOptional: true, hint: hasSecret ? text.secretSet : text.secretMissing, error: form.errors.proxy_secret })}
${remove}${checkField(form, language, ['require_signature', text.requireSignature, text.requireSignatureHint])}${error('require_signature')}
<div class="row"><button class="button first">${text.save}</button></div></section></form>`;
  return pageOfSettings(services, request, { area: 'proxy', form, body });
}

export const proxySettingsRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/settings/proxy',
    access: 'changeSettings',
    isSensitive: true,
    async handle(services, request) {
      const settings = await readSettings(services, request);
      const form = { values: valuesOf(settings), errors: {}, base: baseOf('proxy', settings) };
      return proxyPage(services, request, form);
    },
  },
  {
    method: 'POST',
    path: '/settings/proxy',
    access: 'changeSettings',
    isSensitive: true,
    async handle(services, request) {
      const text = settingsTexts[request.language];
      const secret = request.form.get('proxy_secret') ?? '';
      // A page never shows a secret, not even a rejected one.
      const settings = await readSettings(services, request);
      const values = { ...typedFields(request, fields, valuesOf(settings)), proxy_secret: '' };
      const page = (form: ShownForm<Field>) => proxyPage(services, request, form);
      const shown = { area: 'proxy', values, page } as const;
      const { min, max } = proxySecretLengths;
      if (secret !== '' && (secret.length < min || secret.length > max))
        return await rejectedForm(services, request, shown, { proxy_secret: text.secretInvalid });
      const removed = values.remove_secret === '' ? {} : { proxySecret: null };
      try {
        return await saveSettings(services, request, {
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
        return await rejectedForm(services, request, shown, { require_signature: text.signatureNeedsSecret });
      }
    },
  },
];
