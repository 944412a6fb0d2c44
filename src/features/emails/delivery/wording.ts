/**
 * The wording of an email: the store's own texts and, in the place of those that it does not have, the standard texts of
 * the language. If a card lacks a value that a text of the store contains, such as a name, the email has the standard
 * text of that part.
 */

import type { EmailKind } from '../../../core/emails/domain/email.ts';
import { hasLink, hasNumber } from '../../online-sales/domain/buyer-text.ts';
import { hasLines, type EmailTextPart, type KindTexts } from '../domain/wording.ts';
import { cleanLine, cleanText } from './clean.ts';
import type { EmailContent } from './content.ts';
import { languageOf, type TextName } from './language.ts';
import {
  formatAmount,
  formatDay,
  insertValues,
  isolate,
  type Isolated,
  type Placeholders,
  type Translate,
} from './translate.ts';

export type Wording = {
  /** One line. */
  readonly subject: string;
  /** The line that lists of emails show after the subject. */
  readonly preheader: string;
  readonly heading: string;
  /** Null: the person's name is not known. */
  readonly greeting: string | null;
  /** Paragraphs, whose lines end in newlines. */
  readonly intro: readonly string[];
  readonly closing: readonly string[];
};

type StandardName = 'subject' | 'preheader' | 'heading' | 'intro';

const standardNames: Readonly<Record<EmailKind, Readonly<Record<StandardName, TextName>>>> = {
  gift_card: {
    subject: 'giftCardSubject',
    preheader: 'giftCardPreheader',
    heading: 'giftCardHeading',
    intro: 'giftCardIntro',
  },
  receipt: {
    subject: 'receiptSubject',
    preheader: 'receiptPreheader',
    heading: 'receiptHeading',
    intro: 'receiptIntro',
  },
  top_up: {
    subject: 'topUpSubject',
    preheader: 'topUpPreheader',
    heading: 'topUpHeading',
    intro: 'topUpIntro',
  },
  expiry_reminder: {
    subject: 'expirySubject',
    preheader: 'expiryPreheader',
    heading: 'expiryHeading',
    intro: 'expiryIntro',
  },
  balance_reminder: {
    subject: 'balanceSubject',
    preheader: 'balancePreheader',
    heading: 'balanceHeading',
    intro: 'balanceIntro',
  },
  delivery_failed: {
    subject: 'failedSubject',
    preheader: 'failedPreheader',
    heading: 'failedHeading',
    intro: 'failedIntro',
  },
};

/** The names of texts that say who gives the card, in place of the others. */
const namesWithSender = { subject: 'giftFromSubject', heading: 'giftFromHeading' } as const;

/** Returns the person who is greeted: the buyer of receipts and failed emails, otherwise the recipient. */
function greetedOf(kind: EmailKind): 'sender' | 'recipient' {
  return kind === 'receipt' || kind === 'delivery_failed' ? 'sender' : 'recipient';
}

/**
 * The standard texts of a language with the placeholders that a store's own texts have. There is no closing, and the
 * greeting is left out if the name is not known.
 */
export function standardTexts(kind: EmailKind, language: string): Readonly<Record<EmailTextPart, string>> {
  const { texts } = languageOf(language);
  const { subject, heading, intro } = namesOf(kind, kind === 'gift_card');
  const greeted = texts.greeting.replace('{name}', `{${greetedOf(kind)}}`);
  return {
    subject: texts[subject],
    heading: texts[heading],
    greeting: greeted,
    intro: texts[intro].replace('{date}', '{expiry}').replace('{address}', '{recipient}'),
    closing: '',
  };
}

function namesOf(kind: EmailKind, hasSender: boolean): Readonly<Record<StandardName, TextName>> {
  const names = standardNames[kind];
  return kind === 'gift_card' && hasSender ? { ...names, ...namesWithSender } : names;
}

/** The values of the placeholders; null: the email does not have it. */
function valuesOf(
  content: EmailContent,
  locale: string,
): Readonly<Record<'amount' | 'recipient' | 'sender' | 'expiry', Isolated | null>> {
  const expiresOn = 'expiresOn' in content ? content.expiresOn : null;
  const name = 'recipientName' in content ? nameOf(content.recipientName) : null;
  const address = 'recipient' in content ? content.recipient : null;
  return {
    amount: formatAmount(content.amount, locale),
    // Emails to the buyer name a recipient without a name by the address.
    recipient: name ?? (address === null ? null : isolate(cleanLine(address), 'ltr')),
    sender: 'senderName' in content ? namedSender(content.senderName) : null,
    expiry: expiresOn === null ? null : formatDay(expiresOn, locale),
  };
}

/** The cleaned name of a person; null if nothing is left of it. */
export function nameOf(name: string | null): Isolated | null {
  const cleaned = cleanLine(name ?? '');
  return cleaned === '' ? null : isolate(cleaned);
}

/** Code points of a sender in a subject or a heading: more would hide what follows. */
const senderLengthMax = 40;

/** The sender in a subject, heading or other wording. A name with a link, a phone number or an amount is left out. */
function namedSender(name: string | null): Isolated | null {
  const cleaned = cleanLine(name ?? '');
  if (cleaned === '' || hasLink(cleaned) || hasNumber(cleaned)) return null;
  const symbols = Array.from(cleaned);
  if (symbols.length <= senderLengthMax) return isolate(cleaned);
  return isolate(
    `${symbols
      .slice(0, senderLengthMax - 1)
      .join('')
      .trimEnd()}…`,
  );
}

/** The placeholders that have a value. */
function known(values: Readonly<Record<string, Isolated | null>>): Placeholders {
  const entries = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Placeholders;
}

export function wordingOf(
  content: EmailContent,
  {
    texts,
    store,
    translate,
    locale,
  }: {
    readonly texts: KindTexts;
    readonly store: Isolated;
    readonly translate: Translate;
    readonly locale: string;
  },
): Wording {
  const { kind } = content;
  const values = valuesOf(content, locale);
  const ofStore = known({ ...values, store });
  const own = (part: EmailTextPart): string | undefined => {
    const clean = hasLines(part) ? cleanText : cleanLine;
    const text = clean(texts[part] ?? '');
    return text === '' ? undefined : insertValues(text, ofStore);
  };
  const names = namesOf(kind, values.sender !== null);
  const greeted = values[greetedOf(kind)];
  const ofLanguage = known({
    amount: values.amount,
    date: values.expiry,
    address: values.recipient,
    name: greeted,
    sender: values.sender,
  });
  const standard = (name: TextName): string => translate(name, ofLanguage);
  const intro = own('intro');
  return {
    subject: own('subject') ?? standard(names.subject),
    preheader: intro?.replaceAll(/\s+/g, ' ') ?? standard(names.preheader),
    heading: own('heading') ?? standard(names.heading),
    greeting: own('greeting') ?? (greeted === null ? null : standard('greeting')),
    intro: paragraphsOf(intro ?? standard(names.intro)),
    closing: paragraphsOf(own('closing') ?? ''),
  };
}

function paragraphsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n\n');
}
