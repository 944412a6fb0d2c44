/** The settings that an owner changes on the pages, as texts: to compare them, and to say which have changed. */

import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { EmailText } from '../../emails/domain/wording.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { journalAccounts, type Store } from '../../../core/stores/domain/store.ts';
import { formatDatev } from '../../../core/stores/domain/datev.ts';
import { formatVat } from '../../../core/money/domain/vat.ts';

export type Settings = {
  readonly store: Store;
  readonly emails: EmailSettings;
  /** The store's own texts of its emails. */
  readonly texts: readonly EmailText[];
  /** The digest of the texts: they are long, and a form contains the settings of which it was made. */
  readonly textsDigest: string;
  /** Whether the store has the secret of an app proxy. */
  readonly hasProxySecret: boolean;
};

/** The names of the fields. */
export type SettingName =
  | 'name'
  | 'time_zone'
  | 'issue_limit'
  | 'lookup_failures'
  | 'undo_window'
  | 'expiring_soon'
  | 'hold_limit'
  | 'customer_search'
  | 'stock_required'
  | 'vat'
  | 'account_names'
  | 'datev'
  | 'proxy_secret'
  | 'require_signature'
  | 'emails'
  | 'from_name'
  | 'from_address'
  | 'reply_to'
  | 'color'
  | 'design'
  | 'website'
  | 'phone'
  | 'hours'
  | 'terms'
  | 'email_language'
  | 'page'
  | 'expiry_reminders'
  | 'balance_reminders'
  | 'notify_failures'
  | 'email_texts';

function flagText(flag: boolean): string {
  return flag ? 'yes' : '';
}

/** The text of each setting by the name of its field. Equal texts are equal settings, except for a replaced secret. */
export function settingTexts({ store, emails, textsDigest, hasProxySecret }: Settings): AllTexts {
  return {
    name: store.name,
    time_zone: store.timeZone,
    issue_limit: store.issueLimit ? formatMoney(store.issueLimit) : '',
    lookup_failures: store.lookupFailuresPerHour === null ? '' : String(store.lookupFailuresPerHour),
    undo_window: String(store.undoWindowMinutes),
    expiring_soon: String(store.expiringSoonDays),
    hold_limit: String(store.holdLimitDays),
    customer_search: flagText(store.customerSearch),
    stock_required: store.stockRequired,
    vat: store.vat ? formatVat(store.vat) : '',
    account_names: journalAccounts.map((account) => store.accountNames[account] ?? '').join('\n'),
    datev: store.datev ? formatDatev(store.datev) : '',
    proxy_secret: flagText(hasProxySecret),
    require_signature: flagText(store.requireSignature),
    emails: flagText(emails.enabled),
    from_name: emails.senderName ?? '',
    from_address: emails.address ?? '',
    reply_to: emails.replyTo ?? '',
    color: emails.colour ?? '',
    design: emails.design,
    website: emails.website ?? '',
    phone: emails.phone ?? '',
    hours: emails.hours ?? '',
    terms: emails.terms ?? '',
    email_language: emails.locale,
    page: emails.pageUrl ?? '',
    expiry_reminders: emails.expiryReminderDays.join(', '),
    balance_reminders: emails.balanceReminderDays.join(', '),
    notify_failures: flagText(emails.notifyFailures),
    email_texts: textsDigest,
  };
}

type AllTexts = Readonly<Record<SettingName, string>>;

/** Some settings as texts. */
export type SettingTexts = Readonly<Partial<Record<SettingName, string>>>;

/** The names of the settings of which a form was made that differ now. */
export function changedSettings(base: SettingTexts, now: SettingTexts): readonly SettingName[] {
  const names = Object.keys(base) as readonly SettingName[];
  return names.filter((name) => base[name] !== now[name]);
}
