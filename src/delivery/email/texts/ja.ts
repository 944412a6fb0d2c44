/** The texts of mails in Japanese. */

import type { Texts } from './en.ts';

export const ja: Texts = {
  cardTitle: 'ギフトカード',
  valueLabel: '金額',
  balanceLabel: '残高',
  codeLabel: 'ギフトカードのコード',
  qrAlt: 'ギフトカードのコードのQRコード',
  codeHint: 'ご注文手続きの際にこのコードを入力するか、お支払いの際にご提示ください。',
  codeIsMoney:
    'コードをお持ちの方はどなたでもギフトカードをご利用になれます。このメールは大切に保管してください。',
  expiryLabel: '有効期限',
  endingLabel: 'コードの末尾4文字',
  recipientLabel: '宛先',
  issuedLabel: '日付',
  sendOnLabel: '送信予定日',
  orderLabel: '注文番号',
  messageLabel: 'メッセージ',
  openCard: 'ギフトカードを見る',
  checkBalance: '残高を確認する',
  findCode: 'コードは、ギフトカードをお届けした際のメールに記載されています。',
  contact: 'ご不明な点は {address} までお問い合わせください。',
  automatic: 'このメールは{store}に代わって自動的に送信されました。',
  unsubscribe: 'お知らせの配信を停止する',

  giftCardSubject: '{store}のギフトカードが届きました',
  giftCardPreheader: '{amount}分のギフトカードが届きました。',
  giftCardHeading: 'ギフトカードが届きました',
  giftCardIntro: '{store}でご利用いただけるギフトカードをお届けします。',

  receiptSubject: '{store}ギフトカードご購入明細',
  receiptPreheader: '{amount}分のギフトカードをご購入いただき、ありがとうございます。',
  receiptHeading: 'ご購入ありがとうございます',
  receiptIntro: '{store}でご購入いただいたギフトカードの内容をお知らせします。',
  receiptNoCode: '安全のため、この明細にはコードを記載していません。コードは別のメールでお送りします。',

  expirySubject: '{store}のギフトカードの有効期限が近づいています',
  expiryPreheader: '{amount}を{date}までご利用いただけます。',
  expiryHeading: 'ギフトカードの有効期限が近づいています',
  expiryIntro: '{store}のギフトカードは{date}までご利用いただけます。',

  balanceSubject: '{store}のギフトカードに残高があります',
  balancePreheader: '{amount}をご利用いただけます。',
  balanceHeading: 'ギフトカードに残高があります',
  balanceIntro: '{store}のギフトカードには、まだご利用いただける残高があります。',

  failedSubject: 'ギフトカードをお届けできませんでした',
  failedPreheader: 'ギフトカードのメールが宛先に届きませんでした。',
  failedHeading: 'ギフトカードをお届けできませんでした',
  failedIntro: '{address} 宛てのギフトカードのメールをお届けできませんでした。',
  failedSafe: 'ギフトカードの金額はそのまま残っています。',
  failedNext: '再送いたしますので、宛先のアドレスをご確認のうえ、お問い合わせください。',

  sampleMessage:
    'お誕生日おめでとうございます！\n素敵なものが見つかりますように。ゆっくり選んでくださいね。皆さんにもよろしくお伝えください。',
};
