/** Providers of mail servers that small shops use, with what the domain of a sender says if they may send for it. */

export type EmailProvider = {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** Hosting companies close 465 more often than 587. */
  readonly port: 465 | 587 | 2525;
  /** The term in the SPF record of the sender's domain; null: the provider uses a domain of its own, which has one. */
  readonly spf: string | null;
  /** The names of its DKIM keys; empty: they differ for each customer. */
  readonly dkim: readonly string[];
};

const sesRegions = [
  ['eu-central-1', 'Frankfurt'],
  ['eu-west-1', 'Ireland'],
  ['eu-west-2', 'London'],
  ['eu-west-3', 'Paris'],
  ['eu-north-1', 'Stockholm'],
  ['us-east-1', 'Virginia'],
  ['us-east-2', 'Ohio'],
  ['us-west-2', 'Oregon'],
  ['ca-central-1', 'Montréal'],
  ['sa-east-1', 'São Paulo'],
  ['ap-southeast-2', 'Sydney'],
] as const;

/** In the order of their names. */
export const emailProviders: readonly EmailProvider[] = [
  ...sesRegions.map(([region, place]) => ({
    id: `ses-${region}`,
    name: `Amazon SES, ${place}`,
    host: `email-smtp.${region}.amazonaws.com`,
    port: 587 as const,
    spf: null,
    dkim: [],
  })),
  { id: 'brevo', name: 'Brevo', host: 'smtp-relay.brevo.com', port: 587, spf: null, dkim: ['brevo1', 'brevo2', 'mail'] },
  { id: 'fastmail', name: 'Fastmail', host: 'smtp.fastmail.com', port: 587, spf: 'include:spf.messagingengine.com', dkim: ['fm1', 'fm2', 'fm3'] },
  { id: 'gandi', name: 'Gandi', host: 'mail.gandi.net', port: 587, spf: 'include:_mailcust.gandi.net', dkim: ['gm1', 'gm2', 'gm3'] },
  { id: 'google', name: 'Google (Gmail, Workspace)', host: 'smtp.gmail.com', port: 587, spf: 'include:_spf.google.com', dkim: ['google'] },
  { id: 'icloud', name: 'iCloud', host: 'smtp.mail.me.com', port: 587, spf: 'include:icloud.com', dkim: ['sig1'] },
  { id: 'infomaniak', name: 'Infomaniak', host: 'mail.infomaniak.com', port: 587, spf: 'include:spf.infomaniak.ch', dkim: [] },
  { id: 'ionos', name: 'IONOS', host: 'smtp.ionos.com', port: 587, spf: 'include:_spf-us.ionos.com', dkim: ['s1-ionos', 's2-ionos'] },
  { id: 'ionos-de', name: 'IONOS (Deutschland)', host: 'smtp.ionos.de', port: 587, spf: 'include:_spf-eu.ionos.com', dkim: ['s1-ionos', 's2-ionos'] },
  { id: 'mailbox-org', name: 'mailbox.org', host: 'smtp.mailbox.org', port: 587, spf: 'include:mailbox.org', dkim: ['mbo0001', 'mbo0002', 'mbo0003', 'mbo0004'] },
  { id: 'mailgun', name: 'Mailgun', host: 'smtp.mailgun.org', port: 587, spf: 'include:mailgun.org', dkim: ['mx', 'k1', 'pic', 'smtp', 'mta', 's1'] },
  { id: 'mailgun-eu', name: 'Mailgun (EU)', host: 'smtp.eu.mailgun.org', port: 587, spf: 'include:mailgun.org', dkim: ['mx', 'k1', 'pic', 'smtp', 'mta', 's1'] },
  { id: 'mailjet', name: 'Mailjet', host: 'in-v3.mailjet.com', port: 587, spf: 'include:spf.mailjet.com', dkim: ['mailjet'] },
  { id: 'microsoft', name: 'Microsoft 365', host: 'smtp.office365.com', port: 587, spf: 'include:spf.protection.outlook.com', dkim: ['selector1', 'selector2'] },
  { id: 'one-com', name: 'one.com', host: 'send.one.com', port: 587, spf: 'include:_custspf.one.com', dkim: [] },
  { id: 'ovh', name: 'OVH', host: 'ssl0.ovh.net', port: 587, spf: 'include:mx.ovh.com', dkim: [] },
  { id: 'postmark', name: 'Postmark', host: 'smtp.postmarkapp.com', port: 587, spf: null, dkim: [] },
  { id: 'proton', name: 'Proton Mail', host: 'smtp.protonmail.ch', port: 587, spf: 'include:_spf.protonmail.ch', dkim: ['protonmail', 'protonmail2', 'protonmail3'] },
  { id: 'resend', name: 'Resend', host: 'smtp.resend.com', port: 587, spf: null, dkim: ['resend'] },
  { id: 'sendgrid', name: 'SendGrid', host: 'smtp.sendgrid.net', port: 587, spf: null, dkim: ['s1', 's2'] },
  { id: 'smtp2go', name: 'SMTP2GO', host: 'mail.smtp2go.com', port: 2525, spf: null, dkim: [] },
  { id: 'strato', name: 'STRATO', host: 'smtp.strato.de', port: 587, spf: null, dkim: ['strato-dkim-0002', 'strato-dkim-0003'] },
  { id: 'zoho', name: 'Zoho Mail', host: 'smtp.zoho.com', port: 587, spf: null, dkim: [] },
  { id: 'zoho-eu', name: 'Zoho Mail (EU)', host: 'smtp.zoho.eu', port: 587, spf: null, dkim: [] },
]; // prettier-ignore

export function providerOfHost(host: string): EmailProvider | undefined {
  return emailProviders.find((provider) => provider.host === host);
}
