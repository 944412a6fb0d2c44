/** The texts of mails in Chinese, in simplified characters. */

import type { Texts } from './en.ts';

export const zhHans: Texts = {
  cardTitle: '礼品卡',
  valueLabel: '面额',
  balanceLabel: '余额',
  codeLabel: '礼品卡卡号',
  qrAlt: '礼品卡卡号二维码',
  codeHint: '结账时输入此卡号，或在付款时出示。',
  codeIsMoney: '请妥善保管此邮件：任何持有卡号的人都可以使用该礼品卡。',
  expiryLabel: '有效期至',
  endingLabel: '卡号末四位',
  recipientLabel: '收件人',
  issuedLabel: '日期',
  sendOnLabel: '发送日期',
  orderLabel: '订单编号',
  messageLabel: '留言',
  openCard: '查看礼品卡',
  checkBalance: '查询余额',
  findCode: '卡号在您收到礼品卡时的邮件中。',
  contact: '如有疑问，请发邮件至 {address}。',
  automatic: '此邮件由系统代表{store}自动发送。',
  unsubscribe: '不再接收提醒',

  giftCardSubject: '您收到一张{store}礼品卡',
  giftCardPreheader: '您收到一张面额为 {amount} 的礼品卡。',
  giftCardHeading: '您收到一张礼品卡',
  giftCardIntro: '您收到一张可在{store}使用的礼品卡。',

  receiptSubject: '您的{store}礼品卡购买凭证',
  receiptPreheader: '感谢您购买面额为 {amount} 的礼品卡。',
  receiptHeading: '感谢您的购买',
  receiptIntro: '以下是您在{store}购买的礼品卡的详细信息。',
  receiptNoCode: '为安全起见，本凭证不包含卡号。卡号将通过另一封邮件发送。',

  expirySubject: '您的{store}礼品卡即将到期',
  expiryPreheader: '您可以使用 {amount}，有效期至{date}。',
  expiryHeading: '您的礼品卡即将到期',
  expiryIntro: '您的{store}礼品卡有效期至{date}。',

  balanceSubject: '您的{store}礼品卡仍有余额',
  balancePreheader: '您还有 {amount} 可以使用。',
  balanceHeading: '您的礼品卡仍有余额',
  balanceIntro: '您的{store}礼品卡中还有可以使用的余额。',

  failedSubject: '您的礼品卡未能送达',
  failedPreheader: '包含礼品卡的邮件未能送达收件人。',
  failedHeading: '我们未能送达您的礼品卡',
  failedIntro: '发送至 {address} 的礼品卡邮件未能送达。',
  failedSafe: '礼品卡的面额没有任何损失。',
  failedNext: '请核对收件地址并与我们联系，以便我们重新发送。',

  sampleMessage: '生日快乐！\n希望你能挑到喜欢的礼物。慢慢选，代我向大家问好。',
};
