/** The texts of mails in Korean. */

import type { Texts } from './en.ts';

export const ko: Texts = {
  cardTitle: '기프트 카드',
  valueLabel: '금액',
  balanceLabel: '잔액',
  codeLabel: '기프트 카드 코드',
  qrAlt: '기프트 카드 코드의 QR 코드',
  codeHint: '결제 시 이 코드를 입력하거나 매장에서 제시해 주세요.',
  codeIsMoney: '코드를 가진 사람은 누구나 기프트 카드를 사용할 수 있으니 이 이메일을 안전하게 보관해 주세요.',
  expiryLabel: '유효 기한',
  endingLabel: '코드 끝 네 자리',
  recipientLabel: '받는 사람',
  issuedLabel: '날짜',
  sendOnLabel: '발송일',
  orderLabel: '주문 번호',
  messageLabel: '메시지',
  openCard: '기프트 카드 보기',
  checkBalance: '잔액 확인하기',
  findCode: '코드는 기프트 카드를 받으신 이메일에서 확인하실 수 있습니다.',
  contact: '궁금한 점은 다음 주소로 문의해 주세요: {address}',
  automatic: '이 이메일은 {store} 매장을 대신하여 자동으로 발송되었습니다.',
  unsubscribe: '알림 수신 거부',

  giftCardSubject: '{store} 기프트 카드가 도착했습니다',
  giftCardPreheader: '{amount} 상당의 기프트 카드가 도착했습니다.',
  giftCardHeading: '기프트 카드가 도착했습니다',
  giftCardIntro: '{store} 매장에서 사용하실 수 있는 기프트 카드입니다.',

  receiptSubject: '{store} 기프트 카드 구매 내역',
  receiptPreheader: '{amount} 상당의 기프트 카드를 구매해 주셔서 감사합니다.',
  receiptHeading: '구매해 주셔서 감사합니다',
  receiptIntro: '{store} 매장에서 구매하신 기프트 카드의 내역입니다.',
  receiptNoCode: '안전을 위해 이 내역에는 코드가 표시되지 않습니다. 코드는 별도의 이메일로 발송됩니다.',

  expirySubject: '{store} 기프트 카드가 곧 만료됩니다',
  expiryPreheader: '사용 가능 금액: {amount}, 유효 기한: {date}',
  expiryHeading: '기프트 카드가 곧 만료됩니다',
  expiryIntro: '{store} 기프트 카드는 {date}까지 사용하실 수 있습니다.',

  balanceSubject: '{store} 기프트 카드에 잔액이 남아 있습니다',
  balancePreheader: '사용 가능 금액: {amount}',
  balanceHeading: '기프트 카드에 잔액이 남아 있습니다',
  balanceIntro: '{store} 기프트 카드에 아직 사용하실 수 있는 잔액이 있습니다.',

  failedSubject: '기프트 카드를 전달하지 못했습니다',
  failedPreheader: '기프트 카드 이메일이 받는 분께 도착하지 못했습니다.',
  failedHeading: '기프트 카드를 전달하지 못했습니다',
  failedIntro: '다음 주소로 보낸 기프트 카드 이메일이 전달되지 못했습니다: {address}',
  failedSafe: '기프트 카드의 금액은 그대로 남아 있습니다.',
  failedNext: '다시 보내 드릴 수 있도록 주소를 확인하신 후 문의해 주세요.',

  sampleMessage: '생일 축하해요!\n마음에 드는 것을 찾길 바라요. 천천히 고르시고 모두에게 안부 전해 주세요.',
};
