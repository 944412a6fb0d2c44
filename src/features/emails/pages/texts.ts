/** The common texts of the list of emails and the page of an email: states, kinds and reasons in plain words. */

import type { EmailDelivery, EmailState } from '../../../core/emails/domain/email.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { cancelledByStaff, hasFailed, type ListedEmail } from '../service/list.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { type PageLanguage, type Texts, textsOf } from '../../../pages/kit/texts.ts';

export const emailTexts = textsOf('emails');

/** Whether emails are kept on the machine of the service instead of being sent, because there is no mail server. */
export function keepsEmails({ condition }: Pick<ConsoleServices, 'condition'>): boolean {
  return condition.emailTransport === 'folder';
}

/** Returns the notice on pages that write an email; undefined: the service has a mail server. */
export function keptNotice(
  services: Pick<ConsoleServices, 'condition'>,
  language: PageLanguage,
): Markup | undefined {
  return keepsEmails(services) ? markup`<p class="notice">${emailTexts[language].keptNotice}</p>` : undefined;
}

type Reason = keyof Texts['emails']['reasons'];

const kinds: Readonly<Record<EmailState, 'good' | 'wait' | 'bad' | 'ended'>> = {
  scheduled: 'wait',
  queued: 'wait',
  deferred: 'wait',
  sent: 'good',
  kept: 'ended',
  bounced: 'bad',
  dead: 'bad',
  cancelled: 'ended',
};

/** The state of an email as a dot and a word. A failed email whose card has got a new code needs no attention. */
export function emailTag(
  { email, isReplaced }: Pick<ListedEmail, 'email' | 'isReplaced'>,
  language: PageLanguage,
): Markup {
  const text = emailTexts[language];
  return hasFailed(email) && isReplaced
    ? markup`<span class="tag ended">${text.replaced}</span>`
    : emailStateTag(email.state, language);
}

export function emailStateTag(state: EmailState, language: PageLanguage): Markup {
  return markup`<span class="tag ${kinds[state]}">${emailTexts[language].stateOf[state]}</span>`;
}

/** The reasons for which this service cancels emails, as they are stored. */
const cancelReasons: ReadonlyMap<string, Reason> = new Map([
  ['the card has another code', 'newCode'],
  ['the card is disabled', 'cardDisabled'],
  ['the card has expired', 'cardExpired'],
  ['the card is spent', 'cardSpent'],
  ['the card no longer expires', 'neverExpires'],
  ['the customer was erased', 'customerErased'],
  [cancelledByStaff, 'byStaff'],
]);

/** Subjects and details of enhanced status codes (RFC 3463, 3). */
const statusReasons: readonly (readonly [RegExp, Reason])[] = [
  [/^1\.(?:1|6|10)$|^2\.1$/, 'mailbox'],
  [/^1\.2$/, 'domain'],
  [/^2\.2$/, 'full'],
  [/^2\.3$|^3\.4$/, 'large'],
  [/^7\./, 'blocked'],
];

/** Mail servers without enhanced status codes have these for an unknown mailbox (RFC 5321, 4.2.3). */
const unknownMailbox = new Set(['550', '551', '553']);

/** The reason why an email was not sent, at least not yet; undefined: it was sent or not attempted, or the reason was erased. */
export function reasonOfEmail(
  { state, response }: Pick<EmailDelivery, 'state' | 'response'>,
  language: PageLanguage,
): string | undefined {
  if (response === null || state === 'sent') return undefined;
  const { reasons } = emailTexts[language];
  if (state === 'kept') return reasons.kept;
  if (state === 'cancelled') {
    const known = cancelReasons.get(response);
    return known === undefined ? undefined : reasons[known];
  }
  return reasons[reasonOfResponse(response)];
}

/** The meaning of a mail server's response. */
function reasonOfResponse(response: string): Reason {
  const [, code, status] = /^([245]\d\d)(?:[ -](?:[245]\.(\d{1,3}\.\d{1,3})\b)?|$)/.exec(response) ?? [];
  if (code === undefined) return 'unreachable';
  const known = status === undefined ? undefined : statusReasons.find(([form]) => form.test(status))?.[1];
  // A server that rejects every first attempt (greylisting) accepts the next one.
  if (code.startsWith('4') && known !== 'full') return 'busy';
  if (known) return known;
  return status === undefined && unknownMailbox.has(code) ? 'mailbox' : 'rejected';
}

/** Characters of a response that a page shows. */
const responseLengthMax = 200;

/** A mail server's response, in the server's language. */
export function responseText(response: string): string {
  const characters = Array.from(response);
  return characters.length > responseLengthMax
    ? `${characters.slice(0, responseLengthMax).join('')}…`
    : response;
}

/** When an email was sent, has ended, or is sent next (ms). */
export function momentOf({ state, sendAt, endedAt, lastAt, createdAt }: EmailDelivery): number {
  return state === 'scheduled' ? sendAt : (endedAt ?? lastAt ?? createdAt);
}
