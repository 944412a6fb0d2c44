/** The texts of mails in Spanish. */

import type { Texts } from './en.ts';

export const es: Texts = {
  cardTitle: 'Tarjeta regalo',
  valueLabel: 'Valor',
  balanceLabel: 'Saldo disponible',
  codeLabel: 'Código de la tarjeta regalo',
  qrAlt: 'Código QR con el código de la tarjeta regalo',
  codeHint: 'Introduzca este código al finalizar la compra o muéstrelo al pagar.',
  codeIsMoney: 'Guarde este correo en un lugar seguro: quien tenga el código puede gastar la tarjeta regalo.',
  expiryLabel: 'Válida hasta',
  endingLabel: 'Código terminado en',
  recipientLabel: 'Destinatario',
  issuedLabel: 'Fecha',
  sendOnLabel: 'Fecha de envío',
  orderLabel: 'Número de pedido',
  messageLabel: 'Mensaje',
  openCard: 'Ver la tarjeta regalo',
  checkBalance: 'Consultar el saldo',
  findCode: 'Encontrará el código en el correo con el que recibió la tarjeta regalo.',
  contact: '¿Tiene alguna pregunta? Escriba a {address}.',
  automatic: 'Este correo se ha enviado automáticamente en nombre de {store}.',
  unsubscribe: 'Dejar de recibir recordatorios',

  giftCardSubject: 'Una tarjeta regalo de {store} para usted',
  giftCardPreheader: 'Ha recibido una tarjeta regalo por valor de {amount}.',
  giftCardHeading: 'Una tarjeta regalo para usted',
  giftCardIntro: 'Ha recibido una tarjeta regalo para gastar en {store}.',

  receiptSubject: 'Su recibo de la tarjeta regalo de {store}',
  receiptPreheader: 'Gracias por comprar una tarjeta regalo por valor de {amount}.',
  receiptHeading: 'Gracias por su compra',
  receiptIntro: 'Estos son los datos de la tarjeta regalo que ha comprado en {store}.',
  receiptNoCode: 'Por seguridad, el código no figura en este recibo. Se envía en un correo aparte.',

  expirySubject: 'Su tarjeta regalo de {store} caduca pronto',
  expiryPreheader: 'Puede gastar {amount} hasta el {date}.',
  expiryHeading: 'Su tarjeta regalo caduca pronto',
  expiryIntro: 'Puede usar su tarjeta regalo de {store} hasta el {date}.',

  balanceSubject: 'Todavía tiene saldo en {store}',
  balancePreheader: 'Le quedan {amount} por gastar.',
  balanceHeading: 'Aún queda saldo en su tarjeta regalo',
  balanceIntro: 'Su tarjeta regalo de {store} tiene un saldo que todavía puede gastar.',

  failedSubject: 'No se ha podido entregar su tarjeta regalo',
  failedPreheader: 'El correo con la tarjeta regalo no ha llegado a su destinatario.',
  failedHeading: 'No hemos podido entregar su tarjeta regalo',
  failedIntro: 'No se ha podido entregar el correo con la tarjeta regalo a {address}.',
  failedSafe: 'La tarjeta regalo conserva todo su valor.',
  failedNext: 'Compruebe la dirección y póngase en contacto con nosotros para que podamos enviarla de nuevo.',

  sampleMessage:
    '¡Feliz cumpleaños!\nEspero que encuentres algo bonito. Disfruta eligiendo y dale un abrazo a todos.',
};
