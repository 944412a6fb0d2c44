/** The receipt, to the buyer: everything but the code. */

import type { ReceiptDetails } from '../kinds.ts';
import { valueOf } from '../phrase.ts';
import { endingOf, fact, given, type Content, type Voice } from './blocks.ts';

export function receipt(details: ReceiptDetails, voice: Voice): Content {
  const { value, lastCharacters, recipient, message, issuedOn, sendOn, expiresOn, orderId } = details;
  const { say, day } = voice;
  const amount = voice.amount(value);
  return {
    subject: say('receiptSubject'),
    preheader: say('receiptPreheader', { amount }),
    blocks: [
      { block: 'heading', text: say('receiptHeading') },
      { block: 'paragraph', text: say('receiptIntro') },
      {
        block: 'card',
        title: say('cardTitle'),
        ending: endingOf(lastCharacters, voice),
        label: say('valueLabel'),
        amount,
        caption: null,
      },
      {
        block: 'facts',
        facts: [
          ...fact(say('issuedLabel'), day(issuedOn)),
          ...fact(say('orderLabel'), orderId === null ? null : valueOf(String(orderId), 'ltr')),
          ...fact(say('recipientLabel'), recipient === null ? null : valueOf(recipient, 'ltr')),
          ...fact(say('sendOnLabel'), sendOn === null ? null : day(sendOn)),
          ...fact(say('expiryLabel'), expiresOn === null ? null : day(expiresOn)),
        ],
      },
      ...given(message, (text) => ({ block: 'message', label: say('messageLabel'), message: text })),
      { block: 'note', text: say('receiptNoCode') },
    ],
  };
}
