/**
 * The texts of mails in English, which say what every other language has to say.
 *
 * A word in braces is replaced by a value: {store}, {amount}, {date} or {address}. Values do not inflect,
 * so a translation puts a noun before them where its grammar needs one ("the shop {store}").
 */

export const en = {
  cardTitle: 'Gift card',
  valueLabel: 'Value',
  balanceLabel: 'Remaining balance',
  codeLabel: 'Gift card code',
  qrAlt: 'QR code of the gift card code',
  codeHint: 'Enter this code at checkout, or show it when you pay.',
  codeIsMoney: 'Keep this e-mail safe: anyone who has the code can spend the gift card.',
  expiryLabel: 'Valid until',
  endingLabel: 'Code ending in',
  recipientLabel: 'Recipient',
  issuedLabel: 'Date',
  sendOnLabel: 'Delivery date',
  orderLabel: 'Order number',
  messageLabel: 'Message',
  openCard: 'View gift card',
  checkBalance: 'Check balance',
  findCode: 'You will find the code in the e-mail in which you received the gift card.',
  contact: 'Any questions? Write to {address}.',
  automatic: 'This e-mail was sent automatically on behalf of {store}.',
  unsubscribe: 'Unsubscribe from reminders',

  giftCardSubject: 'A gift card for you from {store}',
  giftCardPreheader: 'You have received a gift card worth {amount}.',
  giftCardHeading: 'A gift card for you',
  giftCardIntro: 'You have received a gift card to spend at {store}.',

  receiptSubject: 'Your gift card receipt from {store}',
  receiptPreheader: 'Thank you for buying a gift card worth {amount}.',
  receiptHeading: 'Thank you for your purchase',
  receiptIntro: 'Here are the details of the gift card that you bought at {store}.',
  receiptNoCode: 'To keep it safe, the code is not in this receipt. It is sent in a separate e-mail.',

  expirySubject: 'Your gift card from {store} expires soon',
  expiryPreheader: 'You can spend {amount} until {date}.',
  expiryHeading: 'Your gift card expires soon',
  expiryIntro: 'You can use your gift card from {store} until {date}.',

  balanceSubject: 'You have a gift card balance at {store}',
  balancePreheader: '{amount} is waiting to be spent.',
  balanceHeading: 'There is still money on your gift card',
  balanceIntro: 'Your gift card from {store} has a balance that you can still spend.',

  failedSubject: 'Your gift card could not be delivered',
  failedPreheader: 'The e-mail with the gift card did not reach its recipient.',
  failedHeading: 'We could not deliver your gift card',
  failedIntro: 'The e-mail with the gift card to {address} could not be delivered.',
  failedSafe: 'The gift card has lost none of its value.',
  failedNext: 'Please check the address and get in touch with us, so that we can send it again.',

  sampleMessage:
    'Happy birthday!\nI hope you find something beautiful. Enjoy choosing, and give everyone my love.',
} as const;

export type TextName = keyof typeof en;

/** All texts of a language. */
export type Texts = Readonly<Record<TextName, string>>;
