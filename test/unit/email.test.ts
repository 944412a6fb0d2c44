import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { emailLengthMax, parseEmail } from '../../src/domain/email.ts';
import { anyUnits, refusalOf, show, valueOf } from './samples.ts';

test('an address is kept as given, without the space around it', async (t) => {
  const cases = {
    'ada@example.com': 'ada@example.com',
    'Ada.Lovelace@Example.COM': 'Ada.Lovelace@Example.COM',
    ' ada@example.com': 'ada@example.com',
    'ada@example.com  ': 'ada@example.com',
    '\t ada@example.com \t': 'ada@example.com',
    'ada+cards@mail.example.co.uk': 'ada+cards@mail.example.co.uk',
    "o'hara@example.com": "o'hara@example.com",
    'a@b.co': 'a@b.co',
    'jürgen@example.com': 'jürgen@example.com',
    'ada@bücher.example': 'ada@bücher.example',
    '1@example.com': '1@example.com',
  };
  for (const [text, address] of Object.entries(cases)) {
    await t.test(show(text), () => assert.equal(valueOf(parseEmail(text)).address, address));
  }
});

test('two spellings of one address have one key, whatever their case, space and normal form', () => {
  const keyOf = (text: string): string => valueOf(parseEmail(text)).key;
  assert.equal(keyOf(' Ada@EXAMPLE.com\t'), keyOf('ada@example.com'));
  assert.equal(keyOf('JÜRGEN@example.com'), keyOf('jürgen@example.com'));
  assert.equal(keyOf('ju\u0308rgen@example.com'), keyOf('j\u00fcrgen@example.com'));
  assert.equal(keyOf('JU\u0308RGEN@example.com'), keyOf('j\u00fcrgen@example.com'));
  assert.notEqual(keyOf('ada@example.com'), keyOf('adb@example.com'));
  assert.notEqual(keyOf('a.da@example.com'), keyOf('ada@example.com'));
  assert.notEqual(keyOf('ada+1@example.com'), keyOf('ada@example.com'));
});

test('the case of an address never makes two keys of it', () => {
  const local = fc.stringMatching(/^[A-Za-z0-9+_-]{1,20}$/);
  const domain = fc.stringMatching(/^[A-Za-z0-9]{1,20}\.[A-Za-z]{2,8}$/);
  fc.assert(
    fc.property(local, domain, (user, host) => {
      const address = `${user}@${host}`;
      const { key } = valueOf(parseEmail(address));
      for (const spelling of [address.toUpperCase(), address.toLowerCase(), ` ${address}`, `${address}\t`]) {
        assert.equal(valueOf(parseEmail(spelling)).key, key);
      }
      assert.equal(valueOf(parseEmail(key)).key, key);
    }),
    { numRuns: 1_000 },
  );
});

/** An address of exactly so many characters. */
function addressOf(length: number): string {
  const local = 'a'.repeat(64);
  const rest = length - local.length - 1 - '.com'.length;
  const labels = [];
  for (let left = rest; left > 0; left -= 64) labels.push('b'.repeat(Math.min(left, 63)));
  return `${local}@${labels.join('.')}.com`;
}

test('an address has at most 254 characters, the space around it not counted', () => {
  assert.equal(emailLengthMax, 254);
  const longest = addressOf(254);
  assert.equal(longest.length, 254);
  assert.equal(valueOf(parseEmail(longest)).address, longest);
  assert.equal(valueOf(parseEmail(`  ${longest}\t`)).address, longest);
  assert.equal(refusalOf(parseEmail(addressOf(255))), 'must have at most 254 characters');
  assert.equal(refusalOf(parseEmail('a'.repeat(60_000))), 'must have at most 254 characters');
});

test('what is not one valid address is refused', async (t) => {
  const texts = [
    '', ' ', 'ada', 'ada@', '@example.com', 'ada@example', 'ada@@example.com', 'ada@b@example.com', 'ada @example.com', 'ada@ example.com',
    'ada@example..com', 'ada@.example.com', 'ada@example.com.', '.ada@example.com', 'ada.@example.com', 'a..da@example.com',
    'ada@-example.com', 'ada@exa_mple.com', 'ada@127.0.0.1', 'ada@[127.0.0.1]', 'ada@localhost',
    'ada@example.com,grace@example.com', 'ada@example.com;grace@example.com', 'ada@example.com grace@example.com',
    'Ada <ada@example.com>', '<ada@example.com>', 'mailto:ada@example.com', '"Ada" ada@example.com', 'ada(comment)@example.com',
    `${'a'.repeat(65)}@example.com`, `ada@${'b'.repeat(64)}.com`,
    '\ud800@example.com', 'ada\udfff@example.com', 'ada@ex\ud800ample.com',
  ]; // prettier-ignore
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(refusalOf(parseEmail(text)), 'must be one valid e-mail address'),
    );
  }
});

test('a value of another type is no address', () => {
  for (const value of [null, undefined, 5, true, ['ada@example.com'], { address: 'ada@example.com' }]) {
    assert.equal(refusalOf(parseEmail(value)), 'must be an e-mail address');
  }
});

test('an address that would put a header into a mail is refused', async (t) => {
  const texts = [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nBcc: eve@example.com',
    'ada@example.com\r',
    'ada@example.com\n',
    '\nada@example.com',
    '\r\n ada@example.com',
    'ada\r\nBcc: eve@example.com',
    'ada%0d%0aBcc:eve@example.com\n',
    'ada@example.com\u0000',
    'ada@example.com\u0085',
    'ada\u0001@example.com',
    'ada@exam\u007fple.com',
    'ada@example.com\u2029Bcc: eve@example.com',
  ];
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(refusalOf(parseEmail(text)), 'must be one valid e-mail address'),
    );
  }
});

test('an address whose quoted local part would put a header into a mail is refused', async (t) => {
  const texts = [
    '"ada\r\nBcc: eve@example.com\r\n"@example.com',
    '"ada\nda"@example.com',
    '"\r"@example.com',
    '"\\\r"@example.com',
    '"ada\u0001"@example.com',
    '"ada\u007f"@example.com',
    '"ada\u0085"@example.com',
    '"ada\u2028da"@example.com',
  ];
  for (const text of texts) {
    await t.test(show(text), () =>
      assert.equal(refusalOf(parseEmail(text)), 'must be one valid e-mail address'),
    );
  }
});

test('a space of another script around an address never makes another customer of it', async (t) => {
  for (const space of ['\u00a0', '\u1680', '\u2003', '\u2028', '\u2029', '\u202f', '\u3000', '\ufeff']) {
    await t.test(show(space), () => {
      for (const text of [`${space}ada@example.com`, `ada@example.com${space}`]) {
        const parsed = parseEmail(text);
        if (parsed.ok) assert.equal(parsed.value.key, 'ada@example.com');
      }
    });
  }
});

test('whatever is sent, an address that is accepted is one printable line of valid Unicode', () => {
  const local = fc.oneof(
    anyUnits,
    fc.stringMatching(/^[a-z.+\t\n\r "<>,;:()]{1,12}$/),
    fc.stringMatching(/^"[ -!#-[\]-~\t\n\r]{0,12}"$/),
  );
  const text = fc.oneof(
    anyUnits,
    fc
      .tuple(local, fc.constantFrom('@example.com', '@example.com\n', '@ex\rample.com'))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (sent) => {
      const parsed = parseEmail(sent);
      if (!parsed.ok) return;
      assert.doesNotMatch(parsed.value.address, /[\p{Cc}\u2028\u2029]/u);
      assert.ok(parsed.value.address.isWellFormed());
    }),
    { numRuns: 5_000 },
  );
});
