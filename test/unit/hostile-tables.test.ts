/** Every file that is made to be expensive, in the soak: making them takes most of the time. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { fileAlone, parseBatchFile } from '../../src/features/batches/domain/table.ts';
import { MalformedTable } from '../../src/core/tables/domain/table-text.ts';
import { readTableBytes } from '../../src/features/batches/service/table-reader.ts';
import { withPauses } from '../../src/features/batches/service/table-turns.ts';
import { hostileTables } from '../support/hostile-tables.ts';
import { storeWith } from './samples.ts';

const german = { decimalSign: ',' } as const;
const place = { store: storeWith(), now: Date.UTC(2026, 2, 15, 12), canSend: true };

test('no file that is made to be expensive is read, and each has a reason', async () => {
  for (const { name, bytes } of hostileTables) {
    const file = bytes();
    assert.ok(file.length <= 4 * 2 ** 20, name);
    const read = async (): Promise<void> => {
      const { text } = await readTableBytes(file, german);
      const parsed = await withPauses(parseBatchFile(text, place, fileAlone));
      assert.ok(!parsed.ok, `${name} was accepted`);
      const [error] = parsed.errors;
      throw new MalformedTable(error?.line ?? 0, error?.message ?? '');
    };
    await assert.rejects(
      read,
      (error: unknown) => error instanceof MalformedTable && error.message.length > 10,
      name,
    );
  }
});
