/** The texts of mails in French. */

import type { Texts } from './en.ts';

export const fr: Texts = {
  cardTitle: 'Carte cadeau',
  valueLabel: 'Valeur',
  balanceLabel: 'Solde restant',
  codeLabel: 'Code de la carte cadeau',
  qrAlt: 'QR code contenant le code de la carte cadeau',
  codeHint: 'Saisissez ce code au moment de régler votre commande ou présentez-le en caisse.',
  codeIsMoney:
    'Conservez cet e-mail en lieu sûr\u00a0: toute personne disposant du code peut utiliser la carte cadeau.',
  expiryLabel: 'Valable jusqu’au',
  endingLabel: 'Code se terminant par',
  recipientLabel: 'Destinataire',
  issuedLabel: 'Date',
  sendOnLabel: 'Date d’envoi',
  orderLabel: 'Numéro de commande',
  messageLabel: 'Message',
  openCard: 'Voir la carte cadeau',
  checkBalance: 'Consulter le solde',
  findCode: 'Vous trouverez le code dans l’e-mail avec lequel vous avez reçu la carte cadeau.',
  contact: 'Une question\u00a0? Écrivez à {address}.',
  automatic: 'Cet e-mail a été envoyé automatiquement pour le compte de {store}.',
  unsubscribe: 'Ne plus recevoir de rappels',

  giftCardSubject: 'Une carte cadeau {store} pour vous',
  giftCardPreheader: 'Vous avez reçu une carte cadeau d’une valeur de {amount}.',
  giftCardHeading: 'Une carte cadeau pour vous',
  giftCardIntro: 'Vous avez reçu une carte cadeau à utiliser chez {store}.',

  receiptSubject: 'Votre reçu pour une carte cadeau {store}',
  receiptPreheader: 'Merci pour l’achat d’une carte cadeau d’une valeur de {amount}.',
  receiptHeading: 'Merci pour votre achat',
  receiptIntro: 'Voici le détail de la carte cadeau que vous avez achetée chez {store}.',
  receiptNoCode: 'Par sécurité, le code ne figure pas sur ce reçu. Il est envoyé dans un e-mail séparé.',

  expirySubject: 'Votre carte cadeau {store} expire bientôt',
  expiryPreheader: 'Vous pouvez encore utiliser {amount} jusqu’au {date}.',
  expiryHeading: 'Votre carte cadeau expire bientôt',
  expiryIntro: 'Vous pouvez utiliser votre carte cadeau {store} jusqu’au {date}.',

  balanceSubject: 'Il vous reste un solde chez {store}',
  balancePreheader: 'Il vous reste {amount} à utiliser.',
  balanceHeading: 'Il reste un solde sur votre carte cadeau',
  balanceIntro: 'Votre carte cadeau {store} présente un solde que vous pouvez encore utiliser.',

  failedSubject: 'Votre carte cadeau n’a pas pu être remise',
  failedPreheader: 'L’e-mail contenant la carte cadeau n’est pas parvenu à son destinataire.',
  failedHeading: 'Nous n’avons pas pu remettre votre carte cadeau',
  failedIntro: 'L’e-mail contenant la carte cadeau adressé à {address} n’a pas pu être remis.',
  failedSafe: 'La carte cadeau conserve toute sa valeur.',
  failedNext: 'Veuillez vérifier l’adresse et nous contacter afin que nous puissions la renvoyer.',

  sampleMessage:
    'Joyeux anniversaire\u00a0!\nJ’espère que tu trouveras quelque chose de beau. Choisis bien, et embrasse tout le monde.',
};
