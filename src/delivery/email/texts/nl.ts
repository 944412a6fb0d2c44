/** The texts of mails in Dutch. */

import type { Texts } from './en.ts';

export const nl: Texts = {
  cardTitle: 'Cadeaubon',
  valueLabel: 'Waarde',
  balanceLabel: 'Resterend saldo',
  codeLabel: 'Code van de cadeaubon',
  qrAlt: 'QR-code met de code van de cadeaubon',
  codeHint: 'Vul deze code in bij het afrekenen of laat hem zien aan de kassa.',
  codeIsMoney: 'Bewaar deze e-mail goed: iedereen die de code heeft, kan de cadeaubon besteden.',
  expiryLabel: 'Geldig tot en met',
  endingLabel: 'Code eindigt op',
  recipientLabel: 'Ontvanger',
  issuedLabel: 'Datum',
  sendOnLabel: 'Verzenddatum',
  orderLabel: 'Bestelnummer',
  messageLabel: 'Bericht',
  openCard: 'Cadeaubon bekijken',
  checkBalance: 'Saldo bekijken',
  findCode: 'U vindt de code in de e-mail waarmee u de cadeaubon hebt ontvangen.',
  contact: 'Hebt u een vraag? Schrijf naar {address}.',
  automatic: 'Deze e-mail is automatisch verzonden namens {store}.',
  unsubscribe: 'Afmelden voor herinneringen',

  giftCardSubject: 'Een cadeaubon van {store} voor u',
  giftCardPreheader: 'U hebt een cadeaubon ter waarde van {amount} ontvangen.',
  giftCardHeading: 'Een cadeaubon voor u',
  giftCardIntro: 'U hebt een cadeaubon ontvangen die u bij {store} kunt besteden.',

  receiptSubject: 'Uw aankoopbewijs voor een cadeaubon van {store}',
  receiptPreheader: 'Bedankt voor het kopen van een cadeaubon ter waarde van {amount}.',
  receiptHeading: 'Bedankt voor uw aankoop',
  receiptIntro: 'Hier zijn de gegevens van de cadeaubon die u bij {store} hebt gekocht.',
  receiptNoCode:
    'Voor de veiligheid staat de code niet op dit aankoopbewijs. Die wordt in een aparte e-mail verzonden.',

  expirySubject: 'Uw cadeaubon van {store} verloopt binnenkort',
  expiryPreheader: 'U kunt nog {amount} besteden tot en met {date}.',
  expiryHeading: 'Uw cadeaubon verloopt binnenkort',
  expiryIntro: 'U kunt uw cadeaubon van {store} gebruiken tot en met {date}.',

  balanceSubject: 'U hebt nog saldo bij {store}',
  balancePreheader: 'U kunt nog {amount} besteden.',
  balanceHeading: 'Er staat nog saldo op uw cadeaubon',
  balanceIntro: 'Uw cadeaubon van {store} heeft een saldo dat u nog kunt besteden.',

  failedSubject: 'Uw cadeaubon kon niet worden bezorgd',
  failedPreheader: 'De e-mail met de cadeaubon heeft de ontvanger niet bereikt.',
  failedHeading: 'We konden uw cadeaubon niet bezorgen',
  failedIntro: 'De e-mail met de cadeaubon aan {address} kon niet worden bezorgd.',
  failedSafe: 'De cadeaubon heeft zijn volledige waarde behouden.',
  failedNext: 'Controleer het adres en neem contact met ons op, zodat we de bon opnieuw kunnen verzenden.',

  sampleMessage:
    'Van harte gefeliciteerd!\nIk hoop dat je iets moois vindt. Veel plezier met kiezen en de groeten aan iedereen.',
};
