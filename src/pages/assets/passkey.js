/** Creates and uses passkeys. Without this script, or a browser with passkeys, people use a password. */

import { takeLinked } from './till-link.js';

// The register has opened the till before a person signed in.
takeLinked();

const isSupported =
  typeof PublicKeyCredential === 'function' &&
  'parseCreationOptionsFromJSON' in PublicKeyCredential &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential &&
  'toJSON' in PublicKeyCredential.prototype;

/** Challenges are valid for five minutes. */
const refreshPeriodMs = 4 * 60 * 1_000;

/** @type {AbortController | undefined} The request that waits for a passkey in the browser's list of passwords. */
let waiting;

/** @param {HTMLFormElement} form @param {AbortSignal} signal @param {CredentialMediationRequirement} [mediation] */
async function obtain(form, signal, mediation) {
  const response = await fetch(form.dataset['options'] ?? '', { method: 'POST', signal });
  // The session has ended, or the person has to confirm first.
  if (response.redirected) {
    location.assign(response.url);
    return null;
  }
  if (!response.ok) throw new Error(`The options have the status ${response.status}.`);
  /** @type {unknown} */
  const options = await response.json();
  if (form.dataset['passkey'] === 'create') {
    const json = /** @type {PublicKeyCredentialCreationOptionsJSON} */ (options);
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json);
    return await navigator.credentials.create({ publicKey, signal });
  }
  const json = /** @type {PublicKeyCredentialRequestOptionsJSON} */ (options);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json);
  return await navigator.credentials.get({ publicKey, signal, ...(mediation && { mediation }) });
}

/** @param {HTMLFormElement} form @param {Credential | null} credential */
function send(form, credential) {
  const field = form.elements.namedItem('credential');
  if (!(credential instanceof PublicKeyCredential) || !(field instanceof HTMLInputElement)) return;
  field.value = JSON.stringify(credential.toJSON());
  form.submit();
}

/** @param {HTMLFormElement} form @param {boolean} isShown */
function showFailure(form, isShown) {
  const message = form.querySelector('[role=alert]');
  if (message instanceof HTMLElement) message.hidden = !isShown;
}

/** Offers passkeys in the list that the browser shows at the field of the email. @param {HTMLFormElement} form */
async function offer(form) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const own = new AbortController();
  waiting = own;
  const refresh = setTimeout(() => {
    own.abort();
    void offer(form);
  }, refreshPeriodMs);
  try {
    send(form, await obtain(form, own.signal, 'conditional'));
  } catch {
    // Aborted, or the browser does not offer passkeys here. The button remains.
    clearTimeout(refresh);
  }
  own.signal.addEventListener('abort', () => clearTimeout(refresh));
}

if (isSupported) {
  for (const part of document.querySelectorAll('[data-needs-passkeys]'))
    if (part instanceof HTMLElement) part.hidden = false;
  for (const part of document.querySelectorAll('[data-without-passkeys]'))
    if (part instanceof HTMLElement) part.hidden = true;
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    if (!(form instanceof HTMLFormElement)) continue;
    let isBusy = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (isBusy) return;
      isBusy = true;
      waiting?.abort();
      showFailure(form, false);
      obtain(form, new AbortController().signal)
        .then((credential) => send(form, credential))
        .catch(() => showFailure(form, true))
        .finally(() => {
          isBusy = false;
        });
    });
    if (form.dataset['offered'] !== undefined) void offer(form);
  }
}
