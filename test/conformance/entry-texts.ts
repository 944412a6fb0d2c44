/** The database composes the text of an entry exactly as the program does, whatever the row contains. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { committedText } from '../../src/core/money/domain/ledger.ts';
import {
  composedContent,
  scannedTextsOf,
  writtenContent,
} from '../../src/features/proofs/service/chain-walk.ts';
import { scanWritten } from '../../src/features/proofs/storage/entry-scan.ts';
import { walkChains } from '../../src/features/proofs/storage/ledger-scan.ts';
import { sql, type SqlValue, type Statement } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { openStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const seed = Number(process.env['ENTRY_TEXTS_SEED'] ?? Date.now() % 2 ** 31);

const controls = Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1));
const texts: readonly string[] = [
  '', ' ', 'Grace', '"', '\\', '\\"', "'", '","', '],[', '%s %d %', '/', '</script>', '\u007f', '\u0080', '\u2028\u2029', '\ufeff', '\ufffd',
  'é', 'e\u0301', '€', '😀', '\u{10ffff}', '𝕏"𝕐', 'null', '0', '-1.5e3', '\\u0041', '{}', 'x'.repeat(5_000), ...controls,
]; // prettier-ignore
const integers: readonly bigint[] = [0n, 1n, 9n, 10n, 99n, 100n, 101n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n]; // prettier-ignore

export function testEntryTexts(factory: StorageFactory): void {
  test('the texts of entries are equal for random and adversarial values', async (t) => {
    t.diagnostic(`ENTRY_TEXTS_SEED=${seed}`);
    const random = seeded(seed);
    const one = <T>(values: readonly T[]): T => {
      const [chosen] = random.chooseSome(values, 1);
      assert.ok(chosen !== undefined);
      return chosen;
    };
    const text = (): string => random.chooseSome(texts, random.between(1, 4)).join('');
    const orNull = <T>(value: () => T): T | null => (random() < 0.3 ? null : value());
    for (const code of ['USD', 'JPY', 'KWD']) {
      const currency = currencyOf(code);
      await using opened = await openStore(factory, { currency });
      const { storage, database, store } = opened;
      const count = 60;
      const statements: Statement[] = [];
      for (let issued = 0; issued < count; issued += 1) {
        const { card } = await opened.issue({ value: { minor: 100n, currency } });
        const [reference, note] = [orNull(text), orNull(text)];
        const [orderReference, externalId] = random() < 0.5 ? [null, null] : [orNull(text), orNull(text)];
        const hasText = [reference, note, orderReference, externalId].some((value) => value !== null);
        const values: readonly SqlValue[] = [
          text(),
          one(integers),
          one(integers),
          orNull(() => one(integers)),
        ];
        const [actor, amount, balance, order] = values;
        statements.push(sql`
          update transfers set actor = ${actor ?? null}, amount = ${(amount as bigint) || 1n}, balance_after = ${balance ?? 0n},
            order_id = ${order ?? null}, reference = ${reference}, note = ${note},
            order_reference = ${orderReference}, external_id = ${externalId},
            location_id = ${orNull(() => one(integers))},
            text_salt = ${hasText ? new Uint8Array(16).fill(7) : null}, text_digest = ${hasText ? new Uint8Array(32).fill(9) : null},
            issued_expires_on = ${orNull(text)}, issued_vat = ${orNull(text)}, created_at = ${one(integers)}
          where store_id = ${store.id} and card_id = ${card.id}`);
      }
      await database.tamper(...statements);
      const range = { after: -1, upTo: 2n ** 63n - 1n };
      const written = await storage.read(() => scanWritten(store, range, -1));
      const rows = await storage.read(() => walkChains(store.id, range));
      assert.equal(written.length, count);
      assert.equal(rows.length, count);
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const entry of written) {
        const row = byId.get(entry.id);
        assert.ok(row && entry.content !== null);
        const content = writtenContent(entry.content, entry);
        assert.equal(content, composedContent(store.id, currency, row));
        assert.equal(entry.texts, row.text_salt === null ? null : committedText(scannedTextsOf(row)));
        assert.equal(entry.hash, Buffer.from(row.hash).toString('hex'));
      }
    }
  });

  test('a row with another currency, a text without a digest or terms without a salt has no composed text', async () => {
    const tamperings = [
      sql`update transfers set currency = 'EUR'`,
      sql`update transfers set note = 'a note'`,
      sql`update transfers set order_reference = 'an order'`,
      sql`update transfers set external_id = 'an id'`,
      sql`update transfers set text_salt = ${new Uint8Array(16)}`,
      sql`update transfers set balance_after = -1`,
      sql`update transfers set salt = null`,
      sql`update transfers set kind = 'credit'`,
      sql`update transfers set sequence = 2`,
      sql`update transfers set salt = null, issued_vat = 'multi_purpose'`,
      sql`update transfers set salt = null, issued_expires_on = '2030-01-01'`,
    ];
    for (const tampering of tamperings) {
      await using opened = await openStore(factory);
      await opened.issue();
      await opened.database.tamper(tampering);
      const range = { after: -1, upTo: 2n ** 63n - 1n };
      const [entry] = await opened.storage.read(() => scanWritten(opened.store, range, -1));
      assert.equal(entry?.content, null, tampering.strings.join('?'));
    }
  });
}
