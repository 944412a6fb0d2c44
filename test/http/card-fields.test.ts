/** Every row of the table of fields, from a creation to the history, ETags, exports and filters. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { filteredFields } from '../../src/core/cards/domain/field-filters.ts';
import {
  cardFieldNames,
  cardFields,
  editableFields,
  type CardFieldName,
  type FieldKind,
} from '../../src/core/cards/domain/fields.ts';
import { until } from '../support/delivering.ts';
import { shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }],
  limits: { erasurePeriodMs: 20 },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

/** Two values of each kind, as JSON has them. */
const values: Readonly<Record<FieldKind, readonly [first: unknown, second: unknown]>> = {
  day: ['2099-12-31', '2099-12-30'],
  line: ['One', 'Two'],
  text: ['One\nline', 'Two\nlines'],
  tags: [['One'], ['Two']],
  id: ['one', 'two'],
  choice: ['birthday', 'winter'],
};

function valuesOf(name: CardFieldName): readonly [unknown, unknown] {
  return values[cardFields[name].kind];
}

let issued = 0;

/** The first values of all fields. No two cards have the same external id. */
function newValues(): Readonly<Record<string, unknown>> {
  issued += 1;
  return { ...firstValues, external_id: `one-${issued}` };
}

async function jsonOf(path: string): Promise<Readonly<Record<string, never>>> {
  const response = await shop.ask(`GET ${path}`);
  assert.equal(response.status, 200, response.text);
  return response.json as Readonly<Record<string, never>>;
}

function isIn(names: readonly CardFieldName[], name: CardFieldName): boolean {
  return names.includes(name);
}

const firstValues = Object.fromEntries(cardFieldNames.map((name) => [name, valuesOf(name)[0]]));

for (const name of cardFieldNames)
  test(`${name} is set, read, and changed if that is possible, with a new ETag and an entry of the history`, async () => {
    const [, second] = valuesOf(name);
    const sent = newValues();
    const { id } = await shop.issue({ initial_value: '25', ...sent });
    const first = sent[name];
    const before = await shop.tag(id);
    const details = async (): Promise<unknown> => (await jsonOf(`/gift_cards/${id}`))['gift_card']?.[name];
    assert.deepEqual(await details(), first);
    const response = await shop.ask(`PUT /gift_card/${id}`, { json: { [name]: second } });
    const isEditable = isIn(editableFields, name);
    assert.equal(response.status, isEditable ? 200 : 422, response.text);
    assert.deepEqual(await details(), isEditable ? second : first);
    assert.equal((await shop.tag(id)) !== before, isEditable);
    const { history } = (await jsonOf(`/gift_card/${id}/history`)) as unknown as {
      history: readonly { changes: readonly object[] }[];
    };
    assert.deepEqual(
      history.flatMap(({ changes }) => changes),
      isEditable ? [{ field: name, old: first, new: second, is_erased: false }] : [],
    );
  });

for (const name of filteredFields)
  test(`a list finds the cards by their ${name}`, async () => {
    const value = name === 'external_id' ? 'searched' : `Searched ${name}`;
    if (isIn(editableFields, name)) {
      const { id } = await shop.issue({ initial_value: '25', [name]: value });
      await shop.ask(`PUT /gift_card/${id}`, { json: { [name]: null } });
    }
    const found = async (query: string): Promise<number> => {
      const { gift_cards: cards } = await jsonOf(
        `/gift_cards?${new URLSearchParams({ [name]: value }).toString()}${query}`,
      );
      return (cards as unknown as readonly unknown[]).length;
    };
    assert.equal(await found(''), 0);
    await shop.issue({ initial_value: '25', [name]: value });
    assert.equal(await found(''), 1);
  });

for (const eraseNotes of [false, true])
  test(`an erasure ${eraseNotes ? 'with' : 'without'} notes erases the fields of the person, and their history`, async () => {
    const sent = newValues();
    const recipient = { recipient_email: `erased-${eraseNotes}@example.com` };
    const { id, recipient_id: customerId } = await shop.issue({
      initial_value: '25',
      ...recipient,
      ...sent,
    });
    const seconds = Object.fromEntries(editableFields.map((name) => [name, valuesOf(name)[1]]));
    await shop.ask(`PUT /gift_card/${id}`, { json: seconds });
    const erase = `/customers/${String(customerId)}/erase`;
    await shop.ask(`POST ${erase}`, { json: { erase_notes: eraseNotes } });
    await until(async () => {
      const { erasure } = await jsonOf(`/customers/${String(customerId)}/erasure`);
      return erasure?.['status'] === 'complete';
    });
    const card = (await jsonOf(`/gift_cards/${id}`))['gift_card'] ?? {};
    const { history } = (await jsonOf(`/gift_card/${id}/history`)) as unknown as {
      history: readonly {
        changes: readonly { field: string; old: unknown; new: unknown; is_erased: boolean }[];
      }[];
    };
    for (const name of cardFieldNames) {
      const { erased, kind } = cardFields[name];
      const isErased = erased === 'with the person' || (erased === 'with notes' && eraseNotes);
      const [first, second] = [sent[name], valuesOf(name)[1]];
      const last = isIn(editableFields, name) ? second : first;
      const none = kind === 'tags' ? [] : null;
      assert.deepEqual((card as Readonly<Record<string, unknown>>)[name], isErased ? none : last, name);
      const entries = history.flatMap(({ changes }) => changes.filter(({ field }) => field === name));
      // An update and an erasure are changes.
      assert.equal(entries.length, Number(isIn(editableFields, name)) + Number(isErased), name);
      for (const entry of entries) {
        assert.equal(entry.is_erased, isErased, name);
        assert.deepEqual([entry.old, entry.new], isErased ? [null, null] : [first, second], name);
      }
    }
  });
