/**
 * The wording that a store has for its emails: a text for a *part* of a kind of email in a language. A part without one
 * has the standard text of the language.
 *
 * A text is plain. A *placeholder* such as `{store}` is replaced by its value when the email is sent; nothing else is
 * interpreted. There is no placeholder for the code.
 */

import { emailKinds, type EmailKind } from '../../../core/emails/domain/email.ts';
import { longerThan, parseLine, parseText } from '../../../core/domain/text.ts';

export const emailTextParts = ['subject', 'heading', 'greeting', 'intro', 'closing'] as const;

export type EmailTextPart = (typeof emailTextParts)[number];

/** The longest text of each part, in Unicode code points. */
export const emailTextLengths: Readonly<Record<EmailTextPart, number>> = {
  subject: 150,
  heading: 150,
  greeting: 150,
  intro: 1_000,
  closing: 500,
};

/** Whether a part can have several lines and paragraphs. */
export function hasLines(part: EmailTextPart): boolean {
  return part === 'intro' || part === 'closing';
}

type EmailValue = 'store' | 'amount' | 'recipient' | 'sender' | 'expiry';

/** The values of each kind of email that its texts can contain. */
export const emailValues: Readonly<Record<EmailKind, readonly EmailValue[]>> = {
  gift_card: ['store', 'amount', 'recipient', 'sender', 'expiry'],
  receipt: ['store', 'amount', 'recipient', 'sender', 'expiry'],
  top_up: ['store', 'amount', 'recipient', 'expiry'],
  expiry_reminder: ['store', 'amount', 'recipient', 'expiry'],
  balance_reminder: ['store', 'amount', 'recipient', 'expiry'],
  delivery_failed: ['store', 'amount', 'recipient', 'sender'],
};

/** The texts of a language by kind and part. */
export type EmailTexts = Readonly<Partial<Record<EmailKind, KindTexts>>>;

export type KindTexts = Readonly<Partial<Record<EmailTextPart, string>>>;

/** A text with its place. */
export type EmailText = {
  /** A tag of a language with standard texts, such as `zh-Hans`. */
  readonly language: string;
  readonly kind: EmailKind;
  readonly part: EmailTextPart;
  readonly text: string;
};

/** Null as the text: the standard text. */
export type EmailTextChange = Omit<EmailText, 'text'> & { readonly text: string | null };

/** The texts of one language among all of a store. */
export function textsIn(texts: readonly EmailText[], language: string): EmailTexts {
  const found = texts.filter((text) => text.language === language);
  const kinds = emailKinds.map((kind) => {
    const parts = found.filter((text) => text.kind === kind).map(({ part, text }) => [part, text] as const);
    return [kind, Object.fromEntries(parts)] as const;
  });
  return Object.fromEntries(kinds);
}

/** `length`: too long. `characters`: one that is not allowed. `placeholder`: a brace that is not part of a known one. */
export type EmailTextProblem = 'length' | 'characters' | 'placeholder';

type ReadText =
  | { readonly ok: true; readonly text: string | null }
  | { readonly ok: false; readonly problem: EmailTextProblem };

/** Embeddings, overrides and isolates, which reorder text, and line separators. Direction marks are allowed. */
const reordering = /[\u202A-\u202E\u2066-\u2069\u2028\u2029\uFFFE\uFFFF]/;

/** Reads a text that a person wrote. Null for an empty one: the standard text. */
export function readEmailText({ kind, part }: Pick<EmailText, 'kind' | 'part'>, typed: string): ReadText {
  const lengthMax = emailTextLengths[part];
  // A line break of a form has two characters.
  if (typed.length > 4 * lengthMax) return { ok: false, problem: 'length' };
  const normal = typed.replaceAll('\r\n', '\n').replaceAll('\t', ' ').normalize('NFC').trim();
  if (longerThan(normal, lengthMax)) return { ok: false, problem: 'length' };
  const parsed = hasLines(part) ? parseText(normal, lengthMax) : parseLine(normal, lengthMax);
  if (!parsed.ok || reordering.test(normal)) return { ok: false, problem: 'characters' };
  const known = new RegExp(`\\{(?:${emailValues[kind].join('|')})\\}`, 'g');
  if (/[{}]/.test(normal.replaceAll(known, ''))) return { ok: false, problem: 'placeholder' };
  return { ok: true, text: parsed.value };
}

/** Placeholders as a person types them. */
export function placeholdersOf(kind: EmailKind): string {
  return emailValues[kind].map((name) => `{${name}}`).join(', ');
}
