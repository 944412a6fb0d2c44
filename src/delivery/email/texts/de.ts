/** The texts of mails in German. */

import type { Texts } from './en.ts';

export const de: Texts = {
  cardTitle: 'Geschenkkarte',
  valueLabel: 'Wert',
  balanceLabel: 'Restguthaben',
  codeLabel: 'Code der Geschenkkarte',
  qrAlt: 'QR-Code mit dem Code der Geschenkkarte',
  codeHint: 'Geben Sie den Code an der Kasse ein oder zeigen Sie ihn beim Bezahlen vor.',
  codeIsMoney: 'Bewahren Sie diese E-Mail sicher auf: Wer den Code kennt, kann die Geschenkkarte einlösen.',
  expiryLabel: 'Gültig bis',
  endingLabel: 'Code endet auf',
  recipientLabel: 'Empfänger',
  issuedLabel: 'Datum',
  sendOnLabel: 'Versanddatum',
  orderLabel: 'Bestellnummer',
  messageLabel: 'Nachricht',
  openCard: 'Geschenkkarte ansehen',
  checkBalance: 'Guthaben ansehen',
  findCode: 'Den Code finden Sie in der E-Mail, mit der Sie die Geschenkkarte erhalten haben.',
  contact: 'Haben Sie Fragen? Schreiben Sie an {address}.',
  automatic: 'Diese E-Mail wurde automatisch im Auftrag von {store} versendet.',
  unsubscribe: 'Erinnerungen abbestellen',

  giftCardSubject: 'Eine Geschenkkarte von {store} für Sie',
  giftCardPreheader: 'Sie haben eine Geschenkkarte im Wert von {amount} erhalten.',
  giftCardHeading: 'Eine Geschenkkarte für Sie',
  giftCardIntro: 'Sie haben eine Geschenkkarte erhalten, die Sie bei {store} einlösen können.',

  receiptSubject: 'Ihr Beleg über eine Geschenkkarte von {store}',
  receiptPreheader: 'Vielen Dank für den Kauf einer Geschenkkarte im Wert von {amount}.',
  receiptHeading: 'Vielen Dank für Ihren Einkauf',
  receiptIntro: 'Hier sind die Angaben zur Geschenkkarte, die Sie bei {store} gekauft haben.',
  receiptNoCode:
    'Aus Sicherheitsgründen steht der Code nicht auf diesem Beleg. Er wird in einer eigenen E-Mail versendet.',

  expirySubject: 'Ihre Geschenkkarte von {store} läuft bald ab',
  expiryPreheader: 'Sie können noch {amount} einlösen, und zwar bis {date}.',
  expiryHeading: 'Ihre Geschenkkarte läuft bald ab',
  expiryIntro: 'Ihre Geschenkkarte von {store} können Sie noch bis {date} einlösen.',

  balanceSubject: 'Sie haben noch Guthaben bei {store}',
  balancePreheader: '{amount} warten darauf, eingelöst zu werden.',
  balanceHeading: 'Auf Ihrer Geschenkkarte ist noch Guthaben',
  balanceIntro: 'Ihre Geschenkkarte von {store} hat noch ein Guthaben, das Sie einlösen können.',

  failedSubject: 'Ihre Geschenkkarte konnte nicht zugestellt werden',
  failedPreheader: 'Die E-Mail mit der Geschenkkarte hat ihren Empfänger nicht erreicht.',
  failedHeading: 'Wir konnten Ihre Geschenkkarte nicht zustellen',
  failedIntro: 'Die E-Mail mit der Geschenkkarte an {address} konnte nicht zugestellt werden.',
  failedSafe: 'Der Wert der Geschenkkarte ist unverändert.',
  failedNext:
    'Bitte prüfen Sie die Adresse und melden Sie sich bei uns, damit wir die Karte erneut versenden können.',

  sampleMessage:
    'Alles Gute zum Geburtstag!\nIch hoffe, du findest etwas Schönes. Viel Freude beim Aussuchen und liebe Grüße an alle.',
};
