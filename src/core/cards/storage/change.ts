/** Changes of cards that are not money. Each card's changes form a hash chain. */

import { hash as digest } from 'node:crypto';
import type { Context } from '../../storage/context.ts';
import { isErasable } from '../domain/fields.ts';
import type { Card } from '../domain/card.ts';
import {
  changeContent,
  changesBetween,
  committedValue,
  isFieldName,
  type CardChange,
  type FieldChange,
  type FieldName,
  type FieldValue,
} from '../domain/change.ts';
import { chainStart } from '../../money/domain/ledger.ts';
import type { CardKey } from './card.ts';
import {
  bytes,
  bytesOrNull,
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  type RowOf,
} from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';

/** A change as its row has it. */
export type StoredChange = Omit<CardChange, 'fields'> & {
  /** The card's change before this one; null: this is the first. */
  readonly previousId: number | null;
  /** JSON: `[[field, old, new], …]`, with commitments instead of personal values. */
  readonly fields: string;
  /** JSON: `{field: [salt, old, new], …}` of the personal values; null: there are none, or they were erased. */
  readonly texts: string | null;
  /** The salt of the chain, in its first entry only: 16 random bytes. */
  readonly salt: Uint8Array | null;
  readonly hash: Uint8Array;
};

function columnsOfChanges(toInteger: (value: bigint) => number) {
  const nullable = (value: bigint | null): number | null => (value === null ? null : toInteger(value));
  return columns({
    store_id: integer('storeId', toInteger),
    id: integer('id', toInteger),
    card_id: integer('cardId', toInteger),
    sequence: integer('sequence', toInteger),
    previous_id: integerOrNull('previousId', nullable),
    created_at: integer('createdAt', toInteger),
    actor: text('actor'),
    fields: text('fields'),
    texts: textOrNull('texts'),
    salt: bytesOrNull('salt'),
    hash: bytes('hash'),
  });
}

const changes = columnsOfChanges(toNumber);

/** The verification also accepts values that this program does not write: an inexact number does not match the hash. */
const scannedChanges = columnsOfChanges(Number);

export type ChangeRow = RowOf<typeof changes>;

/** `c.id, c.fields, …`: the columns of `ChangeRow`. */
export const changeColumnsOf = changes.of;

/** The last change of a card's chain; `changeId` and `hash` are null and `count` is 0 if the card was never changed. */
export type ChangeEnd = {
  readonly changeId: number | null;
  readonly count: number;
  readonly hash: Uint8Array | null;
};

const saltLength = 16;

/** Returns the hash of a change after one with the hash `previous`: SHA-256, 32 bytes. */
export function changeHash(
  previous: Uint8Array | null,
  change: Omit<StoredChange, 'previousId' | 'texts' | 'hash'>,
): Uint8Array {
  const content = Buffer.from(changeContent(change, change));
  return digest('sha256', Buffer.concat([previous ?? chainStart, content]), 'buffer');
}

/** Returns what the hash covers of a personal value, in base64; null if there is no value. */
export function commitmentOf(salt: string, value: FieldValue): string | null {
  if (value === null) return null;
  const salted = Buffer.concat([Buffer.from(salt, 'base64'), Buffer.from(committedValue(value))]);
  return digest('sha256', salted, 'base64');
}

/** The end of the chain of a card that was never changed. */
export const noChanges: ChangeEnd = Object.freeze({ changeId: null, count: 0, hash: null });

/** Returns the end of a card's chain, after the same transaction has locked the card. */
export function* findChangeEnd({ storeId, cardId }: CardKey): Script<ChangeEnd> {
  const row = yield* first(sql<{
    last_change_id: bigint | null;
    change_count: bigint;
    change_hash: Uint8Array | null;
  }>`
    select last_change_id, change_count, change_hash from gift_cards
    where store_id = ${storeId} and id = ${cardId}`);
  return {
    changeId: toNumberOrNull(row?.last_change_id ?? null),
    count: toNumber(row?.change_count ?? 0n),
    hash: row?.change_hash ?? null,
  };
}

/** A change of a card, before it is recorded. */
export type NewChange = {
  readonly before: Card;
  readonly after: Card;
  /** The end of the card's chain, which the same transaction has read after it has locked the card. */
  readonly end: ChangeEnd;
  readonly actor: string;
  /** Default: now. */
  readonly createdAt?: number;
  /** Whether the card has another code. Default: false. */
  readonly isCodeReplaced?: boolean;
  /** Whether the personal values are not stored, only their commitments. Default: false. */
  readonly isErased?: boolean;
};

/**
 * Records what differs between two states of a card in its chain, or nothing if no tracked field differs. The database
 * rejects a change that does not follow the last one, and updates the end.
 */
export function* recordChange(ctx: Context, written: NewChange): Script<void> {
  const { before, after, end, actor, isCodeReplaced = false, isErased = false } = written;
  const changed = changesBetween(before, after, { isCodeReplaced });
  if (changed.length === 0) return;
  const { fields, texts } = committed(ctx, changed);
  const change = {
    storeId: after.storeId,
    id: ctx.random.id(),
    cardId: after.id,
    sequence: end.count + 1,
    previousId: end.changeId,
    createdAt: written.createdAt ?? ctx.clock.now(),
    actor,
    fields,
    texts: isErased ? null : texts,
    salt: end.changeId === null ? ctx.random.bytes(saltLength) : null,
  };
  const added: StoredChange = { ...change, hash: changeHash(end.hash, change) };
  yield* execute(sql`insert into card_changes (${changes.names}) values (${changes.values(added)})`);
}

/** Each personal field has a salt of its own, so that it can be erased without the others. */
function committed(
  { random }: Context,
  changed: readonly FieldChange[],
): { readonly fields: string; readonly texts: string | null } {
  const texts: [FieldName, readonly FieldValue[]][] = [];
  const fields = changed.map((change) => {
    if (!isErasable(change.field)) return [change.field, change.old, change.new];
    const salt = random.bytes(saltLength).toBase64();
    texts.push([change.field, [salt, change.old, change.new]]);
    return [change.field, commitmentOf(salt, change.old), commitmentOf(salt, change.new)];
  });
  return {
    fields: JSON.stringify(fields),
    texts: texts.length > 0 ? JSON.stringify(Object.fromEntries(texts)) : null,
  };
}

/** The changed fields of a row, with the salt of those whose personal values are stored. */
export type ReadField = FieldChange & {
  readonly salt: string | null;
  /** The commitments to personal values, or the values of other fields. */
  readonly hashed: readonly [FieldValue, FieldValue];
};

/** Returns the fields of a row; undefined if its JSON does not have the documented form. */
export function readFields({
  fields,
  texts,
}: Pick<StoredChange, 'fields' | 'texts'>): readonly ReadField[] | undefined {
  const [list, stored] = [parseJson(fields), texts === null ? {} : parseJson(texts)];
  if (!Array.isArray(list) || !isObject(stored)) return undefined;
  const read: ReadField[] = [];
  for (const entry of list as readonly unknown[]) {
    if (!Array.isArray(entry) || entry.length !== 3) return undefined;
    const [field, old, next] = entry as readonly unknown[];
    if (!isFieldName(field) || !isFieldValue(old) || !isFieldValue(next)) return undefined;
    const hashed = [old, next] as const;
    const values = stored[field];
    if (!isErasable(field)) {
      if (values !== undefined) return undefined;
      read.push({ field, old, new: next, salt: null, hashed });
    } else if (values === undefined) {
      read.push({ field, old: null, new: null, isErased: true, salt: null, hashed });
    } else {
      if (!Array.isArray(values) || values.length !== 3) return undefined;
      const [salt, oldText, newText] = values as readonly unknown[];
      if (!isSalt(salt) || !isFieldValue(oldText) || !isFieldValue(newText)) return undefined;
      read.push({ field, old: oldText, new: newText, salt, hashed });
    }
  }
  const names = new Set<string>(read.map(({ field }) => field));
  return Object.keys(stored).every((name) => names.has(name)) ? read : undefined;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Bytes in base64 have one spelling here, so that a changed character is always found. */
function isSalt(value: unknown): value is string {
  return typeof value === 'string' && Buffer.from(value, 'base64').toString('base64') === value;
}

function isFieldValue(value: unknown): value is FieldValue {
  return value === null || typeof value === 'string' || typeof value === 'number';
}

/** @throws Error if the row does not have the documented form, which only tampering causes. */
export function toChange(row: ChangeRow): CardChange {
  const { storeId, cardId, sequence, id, createdAt, actor, ...stored } = changes.read(row);
  const read = readFields(stored);
  if (!read) throw new Error(`the change ${id} of the gift card ${cardId} cannot be read`);
  return {
    storeId,
    cardId,
    sequence,
    id,
    createdAt,
    actor,
    fields: read.map(({ field, old, new: next, isErased = false }) => ({ field, old, new: next, isErased })),
  };
}

// A cross join makes SQLite read the walk first, and find each change by its id.

/** Returns undefined if the store has no change with this id. */
export function* findChange(storeId: number, id: number): Script<CardChange | undefined> {
  const row = yield* first(sql<ChangeRow>`
    select ${changes.names} from card_changes where store_id = ${storeId} and id = ${id}`);
  return row && toChange(row);
}

/** Returns a card's newest changes, or those before the change with the id `before`, newest first. */
export function* listChangesBefore(
  { storeId, cardId }: CardKey,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Script<readonly CardChange[]> {
  const rows = yield* all(sql<ChangeRow>`
    with recursive listed (id, place) as (
      select case when cast(${before} as bigint) is null then g.last_change_id else (
          select b.previous_id from card_changes b
          where b.store_id = ${storeId} and b.id = ${before} and b.card_id = ${cardId}
        ) end, 1
      from gift_cards g where g.store_id = ${storeId} and g.id = ${cardId}
      union all
      select c.previous_id, l.place + 1 from listed l
      cross join card_changes c where c.store_id = ${storeId} and c.id = l.id and l.place < ${limit}
    )
    select ${changes.of('c')} from listed l cross join card_changes c where c.store_id = ${storeId} and c.id = l.id
    order by l.place`);
  return rows.map(toChange);
}

/** Returns a card's changes after a sequence number, oldest first, as `listTransfersAfter` does. */
export function* listChangesAfter(
  key: CardKey,
  page: { readonly after: number; readonly limit: number },
): Script<readonly CardChange[]> {
  return (yield* listChangeRowsAfter(key, page)).map(toChange);
}

/** Lists what `listChangesAfter` lists, as the rows have it. */
export function* listStoredChangesAfter(
  key: CardKey,
  page: { readonly after: number; readonly limit: number },
): Script<readonly StoredChange[]> {
  return (yield* listChangeRowsAfter(key, page)).map(changes.read);
}

function* listChangeRowsAfter(
  { storeId, cardId }: CardKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly ChangeRow[]> {
  return yield* all(sql<ChangeRow>`
    with recursive listed (id, previous_id, sequence) as (
      select s.id, s.previous_id, s.sequence from card_changes s
      where s.store_id = ${storeId} and s.sequence > ${after} and s.id = coalesce((
          select m.id from card_changes m
          where m.store_id = ${storeId} and m.card_id = ${cardId} and m.sequence % 32 = 0
            and m.sequence >= ${after + limit}
          order by m.sequence limit 1
        ), (select g.last_change_id from gift_cards g where g.store_id = ${storeId} and g.id = ${cardId}))
      union all
      select c.id, c.previous_id, c.sequence from listed l
      cross join card_changes c where c.store_id = ${storeId} and c.id = l.previous_id and c.sequence > ${after}
    )
    select ${changes.of('c')} from listed l cross join card_changes c where c.store_id = ${storeId} and c.id = l.id
    order by c.sequence limit ${limit}`);
}

/** The chains of cards, and the card whose chain an entry belongs to. */
export type WalkedChange = StoredChange & { readonly chainOf: number };

/** Returns the chains of changes of the cards with ids above `after` and at most `upTo`, as `listTransfers` does. */
export function* listChanges(
  storeId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Script<readonly WalkedChange[]> {
  const rows = yield* all(sql<ChangeRow & { readonly chain_of: bigint }>`
    with recursive chain (chain_of, id, previous_id, sequence) as (
      select g.id, c.id, c.previous_id, c.sequence from gift_cards g
      cross join card_changes c
      where c.store_id = ${storeId} and c.id = g.last_change_id and g.store_id = ${storeId} and g.id > ${after} and g.id <= ${upTo}
      union all
      select l.chain_of, c.id, c.previous_id, c.sequence from chain l
      cross join card_changes c where c.store_id = ${storeId} and c.id = l.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      and c.sequence < l.sequence
    )
    select l.chain_of, ${scannedChanges.of('c')} from chain l
    cross join card_changes c where c.store_id = ${storeId} and c.id = l.id
    order by l.chain_of, c.sequence`);
  return rows.map((row) => ({ chainOf: Number(row.chain_of), ...scannedChanges.read(row) }));
}

/** Erases the values of some personal fields of a change, with their salts. */
export function* eraseChangeTexts(
  { storeId, id }: { readonly storeId: number; readonly id: number },
  erased: readonly FieldName[],
): Script<void> {
  const row = yield* first(sql<{ texts: string | null }>`
    select texts from card_changes where store_id = ${storeId} and id = ${id}`);
  const stored = parseJson(row?.texts ?? 'null');
  if (!isObject(stored)) return;
  const names = new Set<string>(erased);
  const kept = Object.entries(stored).filter(([name]) => !names.has(name));
  if (kept.length === Object.keys(stored).length) return;
  const texts = kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : null;
  yield* execute(sql`
    update card_changes set texts = ${texts} where store_id = ${storeId} and id = ${id}`);
}
