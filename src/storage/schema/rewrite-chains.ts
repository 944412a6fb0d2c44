/**
 * The script of migration 7: verifies every chain of transfers in format 1, and computes it again in format 2, in pages.
 *
 * It contains both formats as they were at that migration. Nothing else may be changed here, because databases of
 * any age are migrated with it.
 */

import { hash } from 'node:crypto';
import type { Random } from '../../platform/random.ts';
import { findCurrency } from '../../domain/money/currency.ts';
import { formatMoney } from '../../domain/money/money.ts';
import { sameBytes } from '../../platform/keys.ts';
import { MigrationError } from './migration-error.ts';
import {
  all,
  fragment,
  one,
  execute,
  sql,
  Statement,
  toNumber,
  toNumberOrNull,
  type Script,
  type SqlValue,
} from '../sql/sql.ts';

/** A transfer as it was before the migration. */
type OldRow = {
  readonly store_id: bigint;
  readonly card_id: bigint;
  readonly sequence: bigint;
  readonly id: bigint;
  readonly kind: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly debit_account: string;
  readonly credit_account: string;
  readonly balance_after: bigint;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly order_id: bigint | null;
  readonly hold_id: bigint | null;
  readonly reverses: bigint | null;
  readonly created_at: bigint;
  readonly hash: Uint8Array;
  readonly issued_expires_on: string | null;
};

/** The state of a card's chain after a transfer. */
type Chain = {
  readonly last: OldRow;
  readonly oldHash: Uint8Array;
  readonly newHash: Uint8Array;
};

const noHash = new Uint8Array(32);
const saltLength = 16;
/** Rows of one insert. */
const manyRows = 50;

const entryColumns = [
  'store_id', 'id', 'card_id', 'sequence', 'previous_id', 'salt', 'issued_expires_on', 'text_salt', 'text_digest',
  'hash',
] as const; // prettier-ignore
const endColumns = ['store_id', 'card_id', 'transfer_id', 'sequence', 'hash'] as const;

/** @throws MigrationError if a chain is wrong, or a card has none. */
export function* rewriteChains(random: Pick<Random, 'bytes'>): Script<void> {
  const addEntry = inserter('chain_entries', entryColumns);
  const addEnd = inserter('chain_ends', endColumns);
  let chain: Chain | undefined;
  let rows = yield* firstPage();
  for (let last = rows.at(-1); last; last = rows.at(-1)) {
    for (const row of rows) {
      if (chain && !isSameCard(chain.last, row)) {
        yield* addEnd.add(endOf(chain));
        chain = undefined;
      }
      const { next, entry } = rewritten(row, chain, random);
      yield* addEntry.add(entry);
      chain = next;
    }
    rows = yield* nextPage(last);
  }
  if (chain) yield* addEnd.add(endOf(chain));
  yield* addEntry.finish();
  yield* addEnd.finish();
  const { cards } = yield* one(sql<{ cards: bigint }>`
    select (select count(*) from gift_cards) - (select count(*) from chain_ends) as cards`);
  if (cards !== 0n) throw damaged(`${cards} gift cards have no transfers`);
}

const oldColumns = fragment`
  t.store_id, t.card_id, t.sequence, t.id, t.kind, t.amount, t.currency, t.debit_account, t.credit_account,
  t.balance_after, t.actor, t.reference, t.note, t.order_id, t.hold_id, t.reverses, t.created_at, t.hash,
  case when i.card_id is null then g.expires_on else i.expires_on end as issued_expires_on`;
const withTerms = fragment`
  left join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
  left join issued_terms i on i.store_id = t.store_id and i.card_id = t.card_id
  order by t.store_id, t.card_id, t.sequence`;

/** Pages of 1,000: with a constant, every planner reads the primary key. */
function* firstPage(): Script<readonly OldRow[]> {
  return yield* all(sql<OldRow>`
    select ${oldColumns}
    from (select * from transfers order by store_id, card_id, sequence limit 1000) t ${withTerms}`);
}

function* nextPage(after: OldRow): Script<readonly OldRow[]> {
  return yield* all(sql<OldRow>`
    select ${oldColumns}
    from (
      select * from transfers
      where (store_id, card_id, sequence) > (${after.store_id}, ${after.card_id}, ${after.sequence})
      order by store_id, card_id, sequence limit 1000
    ) t ${withTerms}`);
}

function isSameCard(left: OldRow, right: OldRow): boolean {
  return left.store_id === right.store_id && left.card_id === right.card_id;
}

function endOf({ last, newHash }: Chain): readonly SqlValue[] {
  return [last.store_id, last.card_id, last.id, last.sequence, newHash];
}

/** Verifies a transfer, and returns its new entry and the state of the chain after it. */
function rewritten(
  row: OldRow,
  chain: Chain | undefined,
  random: Pick<Random, 'bytes'>,
): { readonly next: Chain; readonly entry: readonly SqlValue[] } {
  const isFirst = chain === undefined;
  const oldHash = linked(chain?.oldHash ?? noHash, contentInFormat1(row));
  if (!sameBytes(oldHash, row.hash)) throw damaged(`the hash of ${nameOf(row)} does not match its content`);
  if (row.sequence !== (chain?.last.sequence ?? 0n) + 1n)
    throw damaged(`${nameOf(row)} has another sequence number than its place in the chain`);
  const salt = isFirst ? random.bytes(saltLength) : null;
  const textSalt = row.reference === null && row.note === null ? null : random.bytes(saltLength);
  const textDigest = textSalt && linked(textSalt, JSON.stringify([row.reference, row.note]));
  const terms = isFirst ? [row.issued_expires_on, null] : null;
  const content = contentInFormat2(row, {
    text: textDigest && textDigest.toBase64(),
    salt: salt && salt.toBase64(),
    terms,
  });
  const newHash = linked(chain?.newHash ?? noHash, content);
  const entry = [
    row.store_id, row.id, row.card_id, row.sequence, chain?.last.id ?? null, salt,
    isFirst ? row.issued_expires_on : null, textSalt, textDigest, newHash,
  ]; // prettier-ignore
  return { next: { last: row, oldHash, newHash }, entry };
}

function linked(before: Uint8Array, content: string): Uint8Array {
  return hash('sha256', Buffer.concat([before, Buffer.from(content)]), 'buffer');
}

function contentInFormat1(row: OldRow): string {
  const { amount, balanceAfter, ids } = valuesOf(row);
  return JSON.stringify([
    ids.store, ids.card, ids.sequence, ids.id, row.kind, amount, row.currency, row.debit_account, row.credit_account,
    balanceAfter, row.actor, row.reference, row.note, ids.order, ids.hold, ids.reverses, ids.createdAt,
  ]); // prettier-ignore
}

function contentInFormat2(
  row: OldRow,
  {
    text,
    salt,
    terms,
  }: {
    readonly text: string | null;
    readonly salt: string | null;
    readonly terms: readonly (string | null)[] | null;
  },
): string {
  const { amount, balanceAfter, ids } = valuesOf(row);
  return JSON.stringify([
    'transfer/2', ids.store, ids.card, ids.sequence, ids.id, row.kind, amount, row.currency, row.debit_account,
    row.credit_account, balanceAfter, row.actor, text, ids.order, ids.hold, ids.reverses, ids.createdAt, salt, terms,
  ]); // prettier-ignore
}

function valuesOf(row: OldRow) {
  const currency = findCurrency(row.currency);
  if (!currency) throw damaged(`${nameOf(row)} is in the currency ${row.currency}, which does not exist`);
  return {
    amount: formatMoney({ minor: row.amount, currency }),
    balanceAfter: formatMoney({ minor: row.balance_after, currency }),
    ids: {
      store: toNumber(row.store_id),
      card: toNumber(row.card_id),
      sequence: toNumber(row.sequence),
      id: toNumber(row.id),
      order: toNumberOrNull(row.order_id),
      hold: toNumberOrNull(row.hold_id),
      reverses: toNumberOrNull(row.reverses),
      createdAt: toNumber(row.created_at),
    },
  };
}

function nameOf({ id, card_id: cardId }: OldRow): string {
  return `transfer ${id} of the gift card ${cardId}`;
}

function damaged(problem: string): MigrationError {
  return new MigrationError(
    `${problem}: the database was not changed; run "largesse verify" of the version that wrote it`,
  );
}

/** Collects rows and inserts many with one statement. */
function inserter(table: string, columns: readonly string[]) {
  const [insertOne, insertMany] = [1, manyRows].map((rows) => insertion(table, columns, rows));
  let waiting: SqlValue[] = [];
  return {
    *add(row: readonly SqlValue[]): Script<void> {
      waiting.push(...row);
      if (waiting.length < manyRows * columns.length || !insertMany) return;
      yield* execute(new Statement(insertMany, waiting));
      waiting = [];
    },
    *finish(): Script<void> {
      for (let from = 0; from < waiting.length && insertOne; from += columns.length)
        yield* execute(new Statement(insertOne, waiting.slice(from, from + columns.length)));
      waiting = [];
    },
  };
}

function insertion(table: string, columns: readonly string[], rows: number): readonly string[] {
  const row = columns.slice(1).map(() => ', ');
  return [
    `insert into ${table} (${columns.join(', ')}) values (`,
    ...row,
    ...Array.from({ length: rows - 1 }, () => ['), (', ...row]).flat(),
    ')',
  ];
}
