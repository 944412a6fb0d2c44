/** The texts of mails in Swedish. */

import type { Texts } from './en.ts';

export const sv: Texts = {
  cardTitle: 'Presentkort',
  valueLabel: 'Värde',
  balanceLabel: 'Återstående saldo',
  codeLabel: 'Presentkortets kod',
  qrAlt: 'QR-kod med presentkortets kod',
  codeHint: 'Ange koden i kassan eller visa den när du betalar.',
  codeIsMoney: 'Förvara det här mejlet säkert: den som har koden kan använda presentkortet.',
  expiryLabel: 'Giltigt till och med',
  endingLabel: 'Koden slutar på',
  recipientLabel: 'Mottagare',
  issuedLabel: 'Datum',
  sendOnLabel: 'Leveransdatum',
  orderLabel: 'Ordernummer',
  messageLabel: 'Meddelande',
  openCard: 'Visa presentkortet',
  checkBalance: 'Visa saldo',
  findCode: 'Koden finns i mejlet som du fick presentkortet med.',
  contact: 'Har du frågor? Skriv till {address}.',
  automatic: 'Det här mejlet har skickats automatiskt på uppdrag av {store}.',
  unsubscribe: 'Avsluta påminnelser',

  giftCardSubject: 'Ett presentkort från {store} till dig',
  giftCardPreheader: 'Du har fått ett presentkort värt {amount}.',
  giftCardHeading: 'Ett presentkort till dig',
  giftCardIntro: 'Du har fått ett presentkort att använda hos {store}.',

  receiptSubject: 'Ditt kvitto på ett presentkort från {store}',
  receiptPreheader: 'Tack för att du köpte ett presentkort värt {amount}.',
  receiptHeading: 'Tack för ditt köp',
  receiptIntro: 'Här är uppgifterna om presentkortet som du köpte hos {store}.',
  receiptNoCode: 'Av säkerhetsskäl finns koden inte på kvittot. Den skickas i ett separat mejl.',

  expirySubject: 'Ditt presentkort från {store} går snart ut',
  expiryPreheader: 'Du kan använda {amount} till och med {date}.',
  expiryHeading: 'Ditt presentkort går snart ut',
  expiryIntro: 'Du kan använda ditt presentkort från {store} till och med {date}.',

  balanceSubject: 'Du har pengar kvar på ditt presentkort hos {store}',
  balancePreheader: 'Du har {amount} kvar att använda.',
  balanceHeading: 'Det finns pengar kvar på ditt presentkort',
  balanceIntro: 'Ditt presentkort från {store} har ett saldo som du fortfarande kan använda.',

  failedSubject: 'Ditt presentkort kunde inte levereras',
  failedPreheader: 'Mejlet med presentkortet nådde inte sin mottagare.',
  failedHeading: 'Vi kunde inte leverera ditt presentkort',
  failedIntro: 'Mejlet med presentkortet till {address} kunde inte levereras.',
  failedSafe: 'Presentkortet har kvar hela sitt värde.',
  failedNext: 'Kontrollera adressen och hör av dig till oss, så att vi kan skicka det igen.',

  sampleMessage:
    'Grattis på födelsedagen!\nJag hoppas att du hittar något fint. Ha det så roligt och hälsa alla från mig.',
};
