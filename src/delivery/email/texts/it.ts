/** The texts of mails in Italian. */

import type { Texts } from './en.ts';

export const it: Texts = {
  cardTitle: 'Carta regalo',
  valueLabel: 'Valore',
  balanceLabel: 'Saldo residuo',
  codeLabel: 'Codice della carta regalo',
  qrAlt: 'Codice QR con il codice della carta regalo',
  codeHint: 'Inserisca questo codice al momento del pagamento oppure lo mostri alla cassa.',
  codeIsMoney:
    'Conservi questa e-mail in un luogo sicuro: chiunque abbia il codice può spendere la carta regalo.',
  expiryLabel: 'Valida fino al',
  endingLabel: 'Codice che termina con',
  recipientLabel: 'Destinatario',
  issuedLabel: 'Data',
  sendOnLabel: 'Data di invio',
  orderLabel: 'Numero d’ordine',
  messageLabel: 'Messaggio',
  openCard: 'Vedi la carta regalo',
  checkBalance: 'Controlla il saldo',
  findCode: 'Troverà il codice nell’e-mail con cui ha ricevuto la carta regalo.',
  contact: 'Ha domande? Scriva a {address}.',
  automatic: 'Questa e-mail è stata inviata automaticamente per conto di {store}.',
  unsubscribe: 'Non ricevere più promemoria',

  giftCardSubject: 'Una carta regalo di {store} per Lei',
  giftCardPreheader: 'Ha ricevuto una carta regalo del valore di {amount}.',
  giftCardHeading: 'Una carta regalo per Lei',
  giftCardIntro: 'Ha ricevuto una carta regalo da spendere presso {store}.',

  receiptSubject: 'La Sua ricevuta per una carta regalo di {store}',
  receiptPreheader: 'Grazie per aver acquistato una carta regalo del valore di {amount}.',
  receiptHeading: 'Grazie per il Suo acquisto',
  receiptIntro: 'Ecco i dettagli della carta regalo che ha acquistato presso {store}.',
  receiptNoCode:
    'Per sicurezza il codice non compare in questa ricevuta. Viene inviato in un’e-mail separata.',

  expirySubject: 'La Sua carta regalo di {store} sta per scadere',
  expiryPreheader: 'Può spendere {amount} fino al {date}.',
  expiryHeading: 'La Sua carta regalo sta per scadere',
  expiryIntro: 'Può utilizzare la Sua carta regalo di {store} fino al {date}.',

  balanceSubject: 'Ha ancora del credito presso {store}',
  balancePreheader: 'Le restano {amount} da spendere.',
  balanceHeading: 'C’è ancora credito sulla Sua carta regalo',
  balanceIntro: 'La Sua carta regalo di {store} ha un saldo che può ancora spendere.',

  failedSubject: 'Non è stato possibile recapitare la Sua carta regalo',
  failedPreheader: 'L’e-mail con la carta regalo non ha raggiunto il destinatario.',
  failedHeading: 'Non abbiamo potuto recapitare la Sua carta regalo',
  failedIntro: 'Non è stato possibile recapitare a {address} l’e-mail con la carta regalo.',
  failedSafe: 'La carta regalo conserva tutto il suo valore.',
  failedNext: 'La preghiamo di verificare l’indirizzo e di contattarci, così potremo inviarla di nuovo.',

  sampleMessage:
    'Buon compleanno!\nSpero che trovi qualcosa di bello. Scegli con calma e saluta tutti da parte mia.',
};
