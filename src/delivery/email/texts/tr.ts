/** The texts of mails in Turkish. */

import type { Texts } from './en.ts';

export const tr: Texts = {
  cardTitle: 'Hediye kartı',
  valueLabel: 'Değer',
  balanceLabel: 'Kalan bakiye',
  codeLabel: 'Hediye kartı kodu',
  qrAlt: 'Hediye kartı kodunun karekodu',
  codeHint: 'Bu kodu ödeme adımında girin veya kasada gösterin.',
  codeIsMoney: 'Bu e-postayı güvenli bir yerde saklayın: koda sahip olan herkes hediye kartını kullanabilir.',
  expiryLabel: 'Son kullanma tarihi',
  endingLabel: 'Kodun son dört karakteri',
  recipientLabel: 'Alıcı',
  issuedLabel: 'Tarih',
  sendOnLabel: 'Gönderim tarihi',
  orderLabel: 'Sipariş numarası',
  messageLabel: 'Mesaj',
  openCard: 'Hediye kartını görüntüle',
  checkBalance: 'Bakiyeyi görüntüle',
  findCode: 'Kodu, hediye kartınızın geldiği e-postada bulabilirsiniz.',
  contact: 'Sorularınız için: {address}',
  automatic: 'Bu e-posta {store} adına otomatik olarak gönderilmiştir.',
  unsubscribe: 'Hatırlatma almaktan vazgeç',

  giftCardSubject: 'Size bir {store} hediye kartı geldi',
  giftCardPreheader: '{amount} değerinde bir hediye kartı aldınız.',
  giftCardHeading: 'Size bir hediye kartı geldi',
  giftCardIntro: '{store} mağazasında kullanabileceğiniz bir hediye kartı aldınız.',

  receiptSubject: '{store} hediye kartı alışveriş özetiniz',
  receiptPreheader: '{amount} değerinde bir hediye kartı satın aldığınız için teşekkür ederiz.',
  receiptHeading: 'Alışverişiniz için teşekkür ederiz',
  receiptIntro: '{store} mağazasından satın aldığınız hediye kartının bilgileri aşağıdadır.',
  receiptNoCode: 'Güvenlik nedeniyle kod bu özette yer almaz. Kod ayrı bir e-postayla gönderilir.',

  expirySubject: '{store} hediye kartınızın süresi yakında doluyor',
  expiryPreheader: 'Kullanılabilir tutar: {amount}. Son kullanma tarihi: {date}.',
  expiryHeading: 'Hediye kartınızın süresi yakında doluyor',
  expiryIntro: '{store} hediye kartınızı {date} tarihine kadar kullanabilirsiniz.',

  balanceSubject: '{store} hediye kartınızda bakiye var',
  balancePreheader: 'Kullanılabilir tutar: {amount}.',
  balanceHeading: 'Hediye kartınızda hâlâ bakiye var',
  balanceIntro: '{store} hediye kartınızda hâlâ kullanabileceğiniz bir bakiye bulunuyor.',

  failedSubject: 'Hediye kartınız teslim edilemedi',
  failedPreheader: 'Hediye kartını içeren e-posta alıcısına ulaşmadı.',
  failedHeading: 'Hediye kartınızı teslim edemedik',
  failedIntro: 'Hediye kartını içeren e-posta {address} adresine teslim edilemedi.',
  failedSafe: 'Hediye kartı değerini tümüyle koruyor.',
  failedNext: 'Yeniden gönderebilmemiz için lütfen adresi kontrol edip bizimle iletişime geçin.',

  sampleMessage: 'Doğum günün kutlu olsun!\nUmarım güzel bir şey bulursun. Keyifle seç, herkese selamlar.',
};
