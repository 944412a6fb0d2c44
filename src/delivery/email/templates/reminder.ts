/** The two reminders, to the holder: the card expires soon, or there is money on it. */

import type { BalanceReminderDetails, ExpiryReminderDetails } from '../kinds.ts';
import type { Phrase } from '../phrase.ts';
import { endingOf, given, type Block, type Content, type Voice } from './blocks.ts';

export function expiryReminder(details: ExpiryReminderDetails, voice: Voice): Content {
  const { say } = voice;
  const date = voice.day(details.expiresOn);
  return {
    subject: say('expirySubject'),
    preheader: say('expiryPreheader', { date, amount: voice.amount(details.balance) }),
    blocks: reminder(details, voice, {
      heading: say('expiryHeading'),
      intro: say('expiryIntro', { date }),
    }),
  };
}

export function balanceReminder(details: BalanceReminderDetails, voice: Voice): Content {
  const { say } = voice;
  return {
    subject: say('balanceSubject'),
    preheader: say('balancePreheader', { amount: voice.amount(details.balance) }),
    blocks: reminder(details, voice, { heading: say('balanceHeading'), intro: say('balanceIntro') }),
  };
}

function reminder(
  { balance, lastCharacters, expiresOn, pageUrl }: BalanceReminderDetails,
  voice: Voice,
  { heading, intro }: { readonly heading: Phrase; readonly intro: Phrase },
): readonly Block[] {
  const { say } = voice;
  return [
    { block: 'heading', text: heading },
    { block: 'paragraph', text: intro },
    {
      block: 'card',
      title: say('cardTitle'),
      ending: endingOf(lastCharacters, voice),
      label: say('balanceLabel'),
      amount: voice.amount(balance),
      caption: expiresOn === null ? null : [...say('expiryLabel'), ' ', voice.day(expiresOn)],
    },
    ...given(pageUrl, (url) => ({ block: 'button', text: say('checkBalance'), url })),
    { block: 'note', text: say('findCode') },
  ];
}
