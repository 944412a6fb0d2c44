/** The gift card, to its recipient. */

import { groupCode } from '../format.ts';
import type { GiftCardDetails } from '../kinds.ts';
import { given, type Content, type Voice } from './blocks.ts';

/** `qr` is the inline image of the code's QR code. */
export function giftCard(
  { code, value, message, expiresOn, pageUrl }: GiftCardDetails,
  voice: Voice,
  qr: { readonly cid: string; readonly size: number },
): Content {
  const { say } = voice;
  const amount = voice.amount(value);
  return {
    subject: say('giftCardSubject'),
    preheader: say('giftCardPreheader', { amount }),
    blocks: [
      { block: 'heading', text: say('giftCardHeading') },
      { block: 'paragraph', text: say('giftCardIntro') },
      {
        block: 'card',
        title: say('cardTitle'),
        ending: null,
        label: say('valueLabel'),
        amount,
        caption: expiresOn === null ? null : [...say('expiryLabel'), ' ', voice.day(expiresOn)],
      },
      ...given(message, (text) => ({ block: 'message', label: say('messageLabel'), message: text })),
      {
        block: 'code',
        label: say('codeLabel'),
        code: groupCode(code),
        hint: say('codeHint'),
        image: { ...qr, alt: say('qrAlt') },
      },
      ...given(pageUrl, (url) => ({ block: 'button', text: say('openCard'), url })),
      { block: 'note', text: say('codeIsMoney') },
    ],
  };
}
