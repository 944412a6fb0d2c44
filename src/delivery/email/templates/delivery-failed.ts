/** The news, to the buyer, that the recipient's mail could not be delivered. */

import type { DeliveryFailedDetails } from '../kinds.ts';
import { valueOf } from '../phrase.ts';
import { endingOf, fact, type Content, type Voice } from './blocks.ts';

export function deliveryFailed(
  { value, lastCharacters, recipient }: DeliveryFailedDetails,
  voice: Voice,
): Content {
  const { say } = voice;
  const address = valueOf(recipient, 'ltr');
  return {
    subject: say('failedSubject'),
    preheader: say('failedPreheader'),
    blocks: [
      { block: 'heading', text: say('failedHeading') },
      { block: 'paragraph', text: say('failedIntro', { address }) },
      { block: 'paragraph', text: [...say('failedSafe'), ' ', ...say('failedNext')] },
      {
        block: 'facts',
        facts: [
          ...fact(say('recipientLabel'), address),
          ...fact(say('valueLabel'), voice.amount(value)),
          endingOf(lastCharacters, voice),
        ],
      },
    ],
  };
}
