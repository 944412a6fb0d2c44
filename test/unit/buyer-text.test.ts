import assert from 'node:assert/strict';
import test from 'node:test';
import { hasLink, hasNumber } from '../../src/domain/online-sales/buyer-text.ts';

const links: Readonly<Record<string, readonly string[]>> = {
  'a name and an ending': [
    'parcel-fee.store', 'evil.ai', 'Evil.AI', 'evil.com', 'see evil.co.uk now', 'evil.zip', 'a.bc', '163.com', 'pay.evil.museum',
    'evil.photography', 'evil.com/pay?x=1', 'evil.com:8080', '(evil.com)', '"evil.com"', 'x evil.com.', 'evil_x.com', 'evil-.com',
    'www.evil.example', 'WWW.EVIL.EXAMPLE', 'bit.ly/abc', 't.me/abc', 'evil.com,', 'first line\nevil.com', '😀.ws', '❤.ws', 'wait...evil.com',
  ],
  'international names': [
    'пример.рф', 'пример。рф', 'bücher.de', 'münchen.bayern', '例子.中国', 'مثال.مصر', 'उदाहरण.भारत', 'ตัวอย่าง.ไทย', 'παράδειγμα.ελ',
    'пример.com', 'xn--e1afmkfd.xn--p1ai', 'evil.рф', '예.한국', 'evil.भारत',
  ],
  'other full stops': [
    'evil。com', 'evil．com', 'evil｡com', 'evil․com', 'evil﹒com', 'evil︒com', 'evil\u0701com', 'evil\u0702com', 'evil\uA60Ecom',
    'evil\u{10A50}com', 'evil\uA4F8com', 'evil\u{1D16D}com', 'paypal٠com', 'paypal۰com', '例子。com', '例子。中国/pay',
  ],
  'other letters': ['ｅｖｉｌ.ｃｏｍ', 'evil.ⓒⓞⓜ', '𝐞𝐯𝐢𝐥.𝐜𝐨𝐦', 'evil.ﬁ', 'ℯvil.com', 'e\u0301vil.com', 'evil.c\u0301om'],
  'invisible characters': [
    'evil.\u200Bcom', 'evil\u200B.com', 'evil.c\u00ADom', 'evil\u2060.com', 'evil.\uFEFFcom', 'evil.\u200Dcom', 'evil.co\u200Cm', 'evil\u{E0041}.com',
    'evil.\u180Ecom', 'evil.\u034Fcom', 'evil\u3164.com', 'evil.\u2066com\u2069', 'evil.\uFE0Fcom', 'evil.\u2800com', 'evil.c\u115Fom',
  ],
  addresses: ['pay@evil', 'write to a＠b', 'a﹫b', '@handle', 'ada@example.com', 'a\u200B@b'],
  schemes: ['http://localhost', 'https:evil', 'ftp://x', 'hxxp://evil', 'ｈｔｔｐ：／／localhost', 'intent://x', 'HTTP:x', 'http\u200B://x'],
  'IP addresses': [
    '192.0.2.1', 'see 192.0.2.1/pay', '１９２．０．２．１', '192。0。2。1', '١٩٢.٠.٢.١', 'http://3221225985', 'http://0xC0000201', '3221225985/pay', '0xC0000201/pay',
    '0xc0.0x00.0x02.0x01', '[2001:db8::1]', '2001:db8::1', 'fe80::1%eth0', '::1', '2001:db8:0:0:0:0:0:1', '::ffff:192.0.2.1', '①⑨②.0.2.1',
  ],
}; // prettier-ignore

const harmless = [
  'Happy birthday!', 'Happy birthday!I love you', 'Happy birthday. I love you.', 'Wait...what?', 'Wait…what?', 'St. Patrick', 'Dr. Müller', '3.50', '3,50 €',
  'z.B.', 'e.g. this', 'i.e. that', 'U.S.A.', 'J.R.R. Tolkien', 'at 8 p.m.', 'a.m. or p.m.', 'u. a. m.', 'd.h. morgen', 'Ph.D.', 'on 24.12.2026', '24.12.', '10.30am',
  'at 10:30:00', 'No.1', 'v1.2', '1.000.000 kisses', 'Tel. 030 1234567', 'Love, Ada & Grace', 'XOXO :-)', 'miss you :/', 'either/or', 'C’est pour toi !', 'Première ligne.\nDeuxième ligne.',
  '生日快乐。我爱你', '生日快乐。爱你！', 'お誕生日おめでとう。いつもありがとう。', '축하해. 사랑해', 'С днём рождения. Люблю тебя', 'كل عام وأنت بخير. أحبك', '٢٠٢٦ سنة سعيدة', 'שמח. אוהב',
  'जन्मदिन मुबारक। प्यार', '👩‍👩‍👧 love', '❤️ 2026', 'col·lecció', '列奥纳多·达芬奇', '1/2', '½ price', '50 % off', 'room 12:30', 'Ada: see you', 'A::B', '#1 mum', 'Call 1234567890?', 'Call 1234567890: now', '100.5', '.com', 'dot com', 'e v i l . c o m',
  'Bob\tand Ada', '(see you)', 'K.', '...and more', '', ' ', '\n\n', '7 a.m',
] as const; // prettier-ignore

test('a text that email programs show as a link is rejected', async (t) => {
  for (const [kind, texts] of Object.entries(links))
    await t.test(kind, () => assert.deepEqual(texts.filter((text) => !hasLink(text)), [])); // prettier-ignore
});

test('a text without a link is accepted', () => {
  assert.deepEqual(
    harmless.filter((text) => hasLink(text)),
    [],
  );
});

test('a full stop before the next sentence needs a space', () => {
  for (const text of ['Dr.Müller', 'Mr.Smith', 'Hello.World', 'xoxo.Mum', '20.Geburtstag', '축하해.사랑해'])
    assert.deepEqual([hasLink(text), hasLink(text.replace('.', '. '))], [true, false], text);
});

const numbers = [
  'Invoice 499 USD, call +1 800 555 0199', 'Invoice 499 USD', 'EUR 20 refund', '499USD', 'USD499', 'pay $5', '5 €', '€5', '£ 5', 'call +1 800 FLOWERS', '+49', '1234567', '12 34 56 7',
  '1-2-3-4-5-6-7', '١٢٣٤٥٦٧', '१२३४५६७', '１２３４５６７', '①②③④⑤⑥⑦', '❶❷❸❹❺❻❼', '𝟏𝟐𝟑𝟒𝟓𝟔𝟕', '一二三四五六七', '1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣', '1\u200B2\u200B3\u200B4567', '5\u200B€', '¹²³⁴⁵⁶⁷', '＄5',
] as const; // prettier-ignore

const names = [
  'Ada', 'Ada Lovelace', 'Class 4b', 'Team 2026', 'Ana & Tom, 12.06.26', 'Opa (80)', 'Ke$ha', 'A$AP', 'The 3 MEN', 'Group 123456', 'J.R.R. Tolkien', "O'Hara", '三木一郎', 'Ali ٣', 'Smith Jr.', 'Anne-Marie', 'C+C', 'No. 5',
] as const; // prettier-ignore

test('a name has no phone number and no amount', () => {
  assert.deepEqual(numbers.filter((name) => !hasNumber(name)), []); // prettier-ignore
  assert.deepEqual(names.filter((name) => hasNumber(name) || hasLink(name)), []); // prettier-ignore
});
