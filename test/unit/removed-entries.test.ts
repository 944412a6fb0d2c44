/** No list of the fields of a card compiles with a missing entry. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { compileCopy } from '../support/compiled-copy.ts';

/** The texts that are removed from the files of one copy of `src`: each text occurs once, and its removal is valid syntax. */
type Removals = Readonly<Record<string, string>>;

const entries: Removals = {
  'core/cards/domain/change.ts': '...otherDetails,',
  'core/cards/domain/new-card.ts': '...details,',
  'features/privacy/domain/redaction.ts': "...notedFields.map((name) => ['gift_card', name] as const),",
  'core/cards/domain/schemas.ts': "note: detail('note'),",
  'core/cards/storage/card.ts': '...detailColumns(editableFields),',
  'core/cards/storage/filter.ts': '...fieldFiltersOf({}),',
  'features/privacy/storage/erasure.ts': '...personalFields.map((name) => emptied(name, true)),',
  'core/cards/service/export.ts': '...byField(listedFields, () => true as const),',
  'core/cards/service/filter.ts': '...fieldFiltersOf(sent),',
  'core/cards/service/version.ts': '...byProperty(editableFields.map(propertyOf), () => null),',
  'core/cards/service/past-card.ts': 'meetsFieldFilters(card, filter) &&',
  'core/cards/api/cards.ts': '...byField(editableFields, (name) => detailFields[name]),',
  'core/cards/api/list-fields.ts': '...detailFilters,',
  'features/card-commands/cli/card.ts': '...listedFields.map(optionOf),',
  'features/card-pages/pages/query.ts':
    '...byField(filteredFields, (name) => (value: string) => readFilter(name, value)),',
  'features/card-pages/pages/edit.ts': '${otherFields.filter(isEditable).map(input)}',
  'features/card-pages/pages/issue.ts': '${otherFields.map((name) => detail(name))}',
  'features/card-pages/pages/card.ts': '${otherFacts}',
};

/** Compiles a copy of `src` without these texts. Returns the files with errors. */
function filesWithErrors(removals: Removals): readonly string[] {
  const stdout = compileCopy((copy) => {
    for (const [file, removed] of Object.entries(removals)) {
      const text = readFileSync(join(copy, file), 'utf8');
      assert.equal(text.split(removed).length, 2, `${file} has ${removed} once`);
      writeFileSync(
        join(copy, file),
        text.replace(removed, () => ''),
      );
    }
  });
  assert.ok(!/error TS1\d{3}:/.test(stdout), `a removal breaks the syntax: ${stdout.slice(0, 2_000)}`);
  const files = stdout.matchAll(/^src\/([^(]+)\(\d+,\d+\): error TS\d+/gm);
  return [...new Set(Array.from(files, ([, file = '']) => file))];
}

test('the compiler names each list of fields without an entry', () => {
  const files = filesWithErrors(entries);
  for (const file of Object.keys(entries)) assert.ok(files.includes(file), file);
});
