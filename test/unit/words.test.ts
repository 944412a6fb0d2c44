/** Finds words that the documentation of comparable software does not use, in texts and identifiers. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';

/** CONTRIBUTING.md, “Conventions”, says what to write instead. */
const words = expressionOf(
  [
    /\b(?:told|tells?|telling|answer(?:s|ed|ing)?|refus(?:e|es|ed|ing|al|als)|(?:some|no|every|any)body|whoever|anew|meanwhile|besides?|heed(?:s|ed)?|stands?|stood|dies|died|judge[sd]?|mails?|mend(?:s|ed|ing)?|for good)\b/,
    /\b(?:judging|judge?ments?|booked|unhurried|draws|drew|drawn|lest|likewise|whom|upon|amongst|whilst|whence|thence|hence|nought|naught|shall|ought|reckon(?:s|ed|ing)?|half[- ]made)\b/,
    /\b(?:where|there|here)(?:of|by|upon|with|in|after)\b/,
    /\b(?:takes? (?:up to|at most)|works? no more|any ?more|(?:hands?|handed|handing) on|(?:looks?|looked|looking) at)\b/,
    /\b(?:for (?:lack|want) of|in vain|in plain sight|one another|once and for all)\b/,
    // “There is no” and “is no longer” are idiomatic.
    /(?<!\bthere[\s*/]+)\b(?:is no|is none|are no)\b(?! (?:longer|later|earlier|more|less|fewer)\b)/,
  ],
  'gi',
);

/** Names that clients, operators and other programs already use. */
const names = expressionOf(
  [
    /\b[Mm]ail (?:servers?|clients?|programs?)\b|\bmail\.example\b|MAIL FROM\b|X-Mailer|mail-composer|\bApple Mail\b|\b[Ee]-[Mm]ail\b/,
    /\bMailComposer\w*|\bmailFrom\b|\bonMailFrom\b|\bsendMail\b/,
    /\b(?:mail_\w+|\w+_mails?(?:_\w+)?|MAIL_\w+|no-mail)\b|--(?:no-)?mail\b[\w-]*/,
    /largesse mail\b|`mail (?=\$)|'mail (?:list|preview|test|text)'|'mails?'/,
    /details\.mail\b|"mail":|\bmail(?=: )|(?<=[/"'])mails\b|\bmails(?=\.css|\/\$|">)/,
    /["'`]nobody["'`]/,
    // Hosts and names of providers.
    /'(?:smtp\.)?mail\.[a-z0-9-]+\.(?:com|net)'|\b(?:Proton|Zoho) Mail\b/,
  ],
  'g',
);

function expressionOf(parts: readonly RegExp[], flags: string): RegExp {
  return new RegExp(parts.map(({ source }) => source).join('|'), flags);
}

const files = globSync([
  '*.md',
  'docs/**/*.md',
  '{examples,deploy,packaging}/**/*.{md,ts,sh}',
  'packages/client/{*.md,src/*.ts}',
  'integrations/*/{*.md,{src,test}/**/*.ts,{includes,test}/**/*.php,assets/*.js}',
  'src/pages/locales/{,public/}en.json',
  'src/features/emails/delivery/locales/en.json',
  '{src,test,bench,bin}/**/*.{ts,js,c}',
]).filter((path) => path !== 'test/unit/words.test.ts');

/** `toldCode` and `told_code` are two words. */
function wordsIn(text: string): readonly string[] {
  const split = text
    .replaceAll(names, ' ')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .replaceAll('_', ' ');
  return split.match(words) ?? [];
}

test('no file has a word that plain English does not need', async (t) => {
  assert.ok(files.length > 400, `only ${files.length} files`);
  for (const path of files.toSorted()) {
    const found = wordsIn(readFileSync(path, 'utf8'));
    if (found.length > 0) await t.test(path, () => assert.deepEqual(found, []));
  }
});

/** A comment begins with a statement or a noun phrase: “Returns the page”, not “What the page shows”, “Of the page”. */
const fragments =
  /\/\*\*(?:\n\s*\*)? (?:What|Who|Of|As|That|Where|Which|Why|Those|How|However)\b|\/\/ (?:What|Who|Of)\b/g;

test('no comment begins with a fragment of a sentence', async (t) => {
  for (const path of files.filter((each) => !each.endsWith('.md') && !each.endsWith('.json'))) {
    const found = readFileSync(path, 'utf8').match(fragments);
    if (found) await t.test(path, () => assert.deepEqual(found, []));
  }
  assert.deepEqual('/** Of the page. */ /**\n * What it shows. */ // Who may'.match(fragments)?.length, 3);
  assert.equal('/** Whether it shows what it has. */ // The page of what'.match(fragments), null);
});

test('words are found in texts and identifiers, and names that are in use are not', () => {
  assert.deepEqual(wordsIn('// Tells whoever asked. toldCode, refuseLoss, an Answer'), [
    'Tells', 'whoever', 'told', 'refuse', 'Answer',
  ]); // prettier-ignore
  assert.deepEqual(wordsIn('lookedAt; it takes up to 5, and 0 is none. There are none; it\n * is no error'), [
    'looked At', 'takes up to', 'is none', 'is no',
  ]); // prettier-ignore
  assert.deepEqual(wordsIn("MAIL_FROM, mail_deliveries, /dev/mails, join(folder, 'mails')"), []);
  assert.deepEqual(wordsIn('npx largesse mail test, --mail-name Ann, --no-mail, { mail: true }'), []);
  assert.deepEqual(wordsIn('There is no timer, and there\n// is none; the card is no longer valid'), []);
  assert.deepEqual(wordsIn('the server returns a response; understanding, outstanding, therefore'), []);
});
