import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import { etagOf, isKnown, matchedVersions } from '../../src/http/etag.ts';
import { cardWith, show } from './samples.ts';

const card = cardWith({ id: 244, version: 3 });

test('the tag of a card is strong and differs for every card and version', () => {
  assert.equal(etagOf(card), '"244-3"');
  const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(number, number, number, number, (id, version, otherId, otherVersion) => {
      const isSame =
        etagOf(cardWith({ id, version })) === etagOf(cardWith({ id: otherId, version: otherVersion }));
      assert.equal(isSame, id === otherId && version === otherVersion);
    }),
  );
});

test('If-None-Match is true for the current version of the card', async (t) => {
  const known = [
    '"244-3"',
    ' "244-3" ',
    'W/"244-3"',
    '*',
    ' * ',
    '"1-1", "244-3"',
    '"244-3","1-1"',
    'W/"1-1", W/"244-3"',
    '"", "244-3"',
  ];
  for (const header of known)
    await t.test(`known: ${header}`, () => assert.equal(isKnown(header, etagOf(card)), true));
  const unknown = [
    undefined, '', '"244-2"', '"244-4"', '"245-3"', '"3-244"', '244-3', "'244-3'", '"244-3', '244-3"', '"244-3 "', '"0244-3"', '"244-03"',
    '"244-33"', '"1244-3"', '**', '"*"', 'W/"244-2"', '"244-1", "244-2"',
  ]; // prettier-ignore
  for (const header of unknown) {
    await t.test(`unknown: ${show(header)}`, () => assert.equal(isKnown(header, etagOf(card)), false));
  }
});

test('If-Match lists the versions that the client accepts', async (t) => {
  const cases: readonly (readonly [header: string | undefined, versions: readonly string[] | null])[] = [
    [undefined, null],
    ['*', null],
    [' * ', null],
    ['"244-3"', ['3']],
    [' "244-3" ', ['3']],
    ['"244-3", "244-12-5"', ['3', '12-5']],
    ['"244-3","1-1", "abc"', ['3']],
    // A weak tag does not match (RFC 9110, 13.1.1).
    ['W/"244-3"', []],
    ['W/"244-3", "244-4"', ['4']],
    ['', []],
    ['""', []],
    ['"*"', []],
    ['244-3', []],
    ['"245-3"', []],
    ['"244"', []],
    ['"244-"', []],
    ['"-3"', []],
    ['"244-3-1-2"', []],
    ['"244-3-01"', []],
    ['"244--3"', []],
    ['"244-3.0"', []],
    ['"244-0x3"', []],
    ['"244-+3"', []],
    ['"2.44e2-3"', []],
  ];
  for (const [header, versions] of cases) {
    await t.test(show(header), () => assert.deepEqual(matchedVersions(header, 244), versions));
  }
});

test('tags are compared byte by byte: leading zeros make another tag', async (t) => {
  for (const header of ['"0244-3"', '"244-03"', '"244-003"', '"00244-03"']) {
    await t.test(header, () => assert.deepEqual(matchedVersions(header, 244), []));
  }
});

test('the tag of a card matches itself in If-None-Match and If-Match', () => {
  const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(number, number, (id, version) => {
      const given = cardWith({ id, version });
      assert.equal(isKnown(etagOf(given), etagOf(given)), true);
      assert.deepEqual(matchedVersions(etagOf(given), id), [String(version)]);
      const tagged = { id, version: versionTagOf(given) };
      assert.deepEqual(matchedVersions(etagOf(tagged), id), [versionTagOf(given)]);
      const changed = cardWith({ id, version: version + 1 });
      if (Number.isSafeInteger(version + 1)) assert.equal(isKnown(etagOf(given), etagOf(changed)), false);
    }),
  );
});
