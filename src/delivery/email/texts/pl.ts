/** The texts of mails in Polish. */

import type { Texts } from './en.ts';

export const pl: Texts = {
  cardTitle: 'Karta podarunkowa',
  valueLabel: 'Wartość',
  balanceLabel: 'Pozostałe środki',
  codeLabel: 'Kod karty podarunkowej',
  qrAlt: 'Kod QR z kodem karty podarunkowej',
  codeHint: 'Kod należy wpisać przy składaniu zamówienia lub okazać podczas płatności.',
  codeIsMoney:
    'Prosimy zachować tę wiadomość w bezpiecznym miejscu: każdy, kto zna kod, może wykorzystać kartę.',
  expiryLabel: 'Ważna do',
  endingLabel: 'Kod kończy się na',
  recipientLabel: 'Odbiorca',
  issuedLabel: 'Data',
  sendOnLabel: 'Data wysyłki',
  orderLabel: 'Numer zamówienia',
  messageLabel: 'Wiadomość',
  openCard: 'Zobacz kartę podarunkową',
  checkBalance: 'Sprawdź saldo',
  findCode: 'Kod znajduje się w wiadomości, z którą otrzymali Państwo kartę podarunkową.',
  contact: 'W razie pytań prosimy pisać na adres {address}.',
  automatic: 'Ta wiadomość została wysłana automatycznie w imieniu sklepu {store}.',
  unsubscribe: 'Zrezygnuj z przypomnień',

  giftCardSubject: 'Karta podarunkowa do sklepu {store}',
  giftCardPreheader: 'Otrzymali Państwo kartę podarunkową o wartości {amount}.',
  giftCardHeading: 'Karta podarunkowa dla Państwa',
  giftCardIntro: 'Otrzymali Państwo kartę podarunkową do wykorzystania w sklepie {store}.',

  receiptSubject: 'Potwierdzenie zakupu karty podarunkowej – {store}',
  receiptPreheader: 'Dziękujemy za zakup karty podarunkowej o wartości {amount}.',
  receiptHeading: 'Dziękujemy za zakup',
  receiptIntro: 'Oto szczegóły karty podarunkowej kupionej w sklepie {store}.',
  receiptNoCode:
    'Ze względów bezpieczeństwa kodu nie ma w tym potwierdzeniu. Wysyłamy go w osobnej wiadomości.',

  expirySubject: 'Karta podarunkowa do sklepu {store} wkrótce straci ważność',
  expiryPreheader: 'Do wykorzystania pozostało {amount}, do {date}.',
  expiryHeading: 'Karta podarunkowa wkrótce straci ważność',
  expiryIntro: 'Kartę podarunkową do sklepu {store} można wykorzystać do {date}.',

  balanceSubject: 'Na karcie podarunkowej do sklepu {store} są jeszcze środki',
  balancePreheader: 'Do wykorzystania pozostało {amount}.',
  balanceHeading: 'Na karcie podarunkowej są jeszcze środki',
  balanceIntro: 'Na Państwa karcie podarunkowej do sklepu {store} pozostały środki do wykorzystania.',

  failedSubject: 'Nie udało się dostarczyć karty podarunkowej',
  failedPreheader: 'Wiadomość z kartą podarunkową nie dotarła do odbiorcy.',
  failedHeading: 'Nie udało nam się dostarczyć karty podarunkowej',
  failedIntro: 'Nie udało się dostarczyć wiadomości z kartą podarunkową na adres {address}.',
  failedSafe: 'Karta podarunkowa zachowała pełną wartość.',
  failedNext: 'Prosimy sprawdzić adres i skontaktować się z nami, abyśmy mogli wysłać ją ponownie.',

  sampleMessage:
    'Wszystkiego najlepszego!\nMam nadzieję, że znajdziesz coś pięknego. Udanych zakupów i pozdrowienia dla wszystkich.',
};
