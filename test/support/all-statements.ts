/**
 * Every statement that the files of the storage layer can send, without a database: their exported functions run with any
 * values. `piecesMissing` names what they did not send; for that, `given` has values that fit.
 */

import { recordProviderHealth, saveProvider } from '../../src/features/online-sales/storage/provider.ts';
import { saveObject } from '../../src/features/wallets/storage/google.ts';
import { recordWalletHealth } from '../../src/features/wallets/storage/wallet.ts';
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { Secret } from '../../src/platform/secret.ts';
import { countUnreadableRecords } from '../../src/features/proofs/storage/references.ts';
import { eraseChangeTexts, recordChange } from '../../src/core/cards/storage/change.ts';
import { listByBalance, listFound } from '../../src/core/cards/storage/list.ts';
import {
  findByCode,
  findCardIdByCode,
  insertChosenCode,
  insertCode,
  insertUnsoldCode,
} from '../../src/core/cards/storage/code.ts';
import { enqueueEmail } from '../../src/core/emails/storage/email.ts';
import { findChosenCodes } from '../../src/core/stocks/storage/code.ts';
import { listEmailsOf } from '../../src/features/emails/storage/list.ts';
import { saveEmailText } from '../../src/features/emails/storage/wording.ts';
import { findLastId, findPageEnd, listWalkedTexts } from '../../src/features/privacy/storage/erasure-walk.ts';
import { findExternalUse } from '../../src/core/stores/storage/external-id.ts';
import { findIdempotencyRecords } from '../../src/core/stores/storage/idempotency.ts';
import { readEntryHashes } from '../../src/core/log/storage/log.ts';
import {
  countEntries,
  listAppended,
  listBackfilled,
  listNewEntries,
  beginCursor,
  beginCursors,
  lockCursors,
  moveBackfill,
} from '../../src/core/log/storage/log-cursor.ts';
import { entrySources } from '../../src/core/log/storage/log-entry.ts';
import { saveLogo } from '../../src/core/stores/storage/logo.ts';
import { heldAt } from '../../src/core/cards/storage/past-card.ts';
import { listCardsIssued } from '../../src/features/emails/storage/reminder.ts';
import { Statement, type Script } from '../../src/database/sql/sql.ts';
import type { Dialect } from '../../src/database/sql/fragments.ts';
import { anyValue } from './any-value.ts';
import { testContext } from './fixtures.ts';
import { seeded } from './seeded.ts';

/** The files of nouns, and not those of one engine. */
const files = globSync('src/{database,core/*/storage,core/storage,features/*/storage}/**/*.ts').filter(
  (file) =>
    !/\/(?:sqlite|postgres|schema)\/|\/(?:sql\/(?:by-store|sql|table)|database\/store-closing|moves\/storage\/moving-changes|stores\/storage\/table)\.ts$/.test(
      file,
    ),
);

const anyProvider = {
  kind: 'stripe',
  isTest: false,
  account: 'acct_1',
  isActive: true,
  hasHintSecret: false,
  keySetAt: 1,
  failingSince: null,
  failure: null,
  comparedUntil: null,
  copiedAt: null,
  hintsRejectedSince: null,
  hintsRejectedAt: null,
} as const;

/** Runs of each function, with other values each. */
const runs = 12;

type Sends = (...values: never[]) => unknown;

/** Functions whose statements depend on their values. */
function given(any: () => never): readonly (() => unknown)[] {
  const ctx = testContext();
  const code = new Secret('qyw7j8tjrj3pvkhh');
  const [storeId, cardId] = [1, 1];
  const digest = Uint8Array.of(1, 2, 3, 4);
  const range = { after: 0, upTo: 9, rows: 2 };
  const noChange = { changeId: null, count: 0, hash: null };
  const listed = { storeId, filter: any(), today: '2026-01-01', now: 1 };
  return [
    () => recordWalletHealth(any(), { failure: null, now: 0 }),
    () => recordProviderHealth({ storeId, kind: 'stripe', isTest: false }, { failure: null, now: 0 }),
    () => saveProvider(ctx, { ...anyProvider, storeId }, { key: code, hintSecret: null }),
    () => saveObject(ctx, { storeId, cardId }, { object: '3388.a', code, now: 1 }),
    () => countUnreadableRecords(['key']),
    () =>
      recordChange(ctx, { before: any(), after: any(), end: noChange, actor: 'test', isCodeReplaced: true }),
    function* erase(): Script<void> {
      const script = eraseChangeTexts({ storeId, id: 1 }, ['note']);
      for (let step = script.next([]); step.done !== true;) {
        yield step.value;
        step = script.next([[{ texts: '{"note":[]}' }]]);
      }
    },
    () => findCardIdByCode(ctx, storeId, code),
    () => findByCode(ctx, { storeId, codes: [code], now: 1 }),
    () => insertCode(ctx, { storeId, cardId, code }),
    () => insertChosenCode(ctx, { storeId, cardId, code }),
    () => insertUnsoldCode(ctx, { storeId, code, isGenerated: true }),
    () => findChosenCodes(ctx, storeId, [code]),
    () => findIdempotencyRecords({ storeId, digests: [digest, digest] }),
    () => findExternalUse({ storeId, kind: 'card', digests: [digest, digest] }),
    () => heldAt(storeId, [1, 2], 1),
    () => saveEmailText(ctx, storeId, { kind: 'gift_card', language: 'en', part: 'subject', text: null }),
    () => {
      const email = { storeId, cardId, kind: 'receipt', address: '', code: null, sendAt: null } as const;
      return enqueueEmail(ctx, { ...email, occasion: null });
    },
    () => saveLogo(ctx, storeId, null),
    () =>
      listEmailsOf(
        storeId,
        { cardId },
        { states: [], kinds: [] },
        { from: null, isBackwards: false, limit: 1 },
      ),
    () =>
      listCardsIssued(
        { id: storeId, timeZone: 'UTC' },
        { from: '2026-01-01', to: '2026-01-02', after: { day: '', id: 0 }, limit: 1 },
      ),
    ...[false, true].flatMap((isDescending) => {
      const page = {
        sort: { by: 'balance', isDescending },
        after: null,
        limit: 1,
        isBackwards: false,
      } as const;
      return [() => listFound(listed, 'customer', page), () => listByBalance(listed, page)];
    }),
    ...(['events', 'gift_cards', 'transfers', 'holds', 'card_changes'] as const).flatMap((table) => [
      () => findLastId(table, storeId),
      () => findPageEnd(table, storeId, range),
    ]),
    ...(['gift_cards', 'transfers', 'holds'] as const).map(
      (table) => () => listWalkedTexts(table, { storeId, customerId: 1 }, range),
    ),
    ...entrySources.flatMap((source) => {
      const cursor = { owner: 1, source, place: 1n, lastId: 1 };
      const backfill = { storeId, source, afterId: 1, untilPlace: 1n };
      return [
        () => lockCursors(source, [1]),
        () => beginCursor(source, 1),
        () => beginCursors(1),
        () => listNewEntries(cursor, 1),
        () => listBackfilled(backfill, 1),
        () => moveBackfill(backfill, null),
        () => moveBackfill(backfill, 1),
        () => countEntries(storeId, source),
        () => listAppended(storeId, { source, after: 0, limit: 1 }),
        () => readEntryHashes(storeId, [{ source, id: 1 }]),
        function* readByIds(): Script<void> {
          const script = readEntryHashes(storeId, [{ source, id: 1 }]);
          for (let step = script.next([]); step.done !== true;) {
            yield step.value;
            step = script.next([[{ ids: '1', hashes: 'a damaged hash' }]]);
          }
        },
      ];
    }),
  ];
}

/** Returns the texts of the statements, each with the file that it comes from. */
export async function allStatements(dialect: Dialect): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const add = (file: string, run: Sends, choose: () => number): void => {
    for (const statement of statementsOf(run, choose)) {
      const text = textOf(statement, dialect);
      if (text !== undefined && !texts.has(text)) texts.set(text, file);
    }
  };
  for (const file of files) {
    const module = (await import(`../../${file}`)) as Readonly<Record<string, unknown>>;
    for (const exported of Object.values(module)) {
      if (typeof exported !== 'function') continue;
      for (let run = 0; run < runs; run += 1) add(file, exported as Sends, run === 0 ? () => 0 : seeded(run));
    }
  }
  for (const value of [0, 0.75]) {
    for (const run of given(() => anyValue(() => value) as never)) {
      add('given', run, () => 0);
      add('given', run, () => 0.9);
    }
  }
  return texts;
}

/** Runs a function and what it returns, and collects the statements until it ends or fails. */
function statementsOf(run: Sends, choose: () => number): readonly Statement[] {
  const found: Statement[] = [];
  const rowsOf = (): unknown[] => (choose() < 0.8 ? [anyValue(choose)] : []);
  try {
    const values = Array.from({ length: Math.max(run.length, 3) }, () => anyValue(choose) as never);
    const script = run(...values);
    if (!isScript(script)) return found;
    let step = script.next([]);
    for (let steps = 0; step.done !== true && steps < stepsMax; steps += 1) {
      const statements = step.value.statements;
      found.push(...statements);
      step = script.next(statements.map(rowsOf));
    }
  } catch {
    // The values do not fit. Other ones may.
  }
  return found;
}

const stepsMax = 20;

type AnyScript = Iterator<{ readonly statements: readonly Statement[] }, unknown, unknown[][]>;

function isScript(value: unknown): value is AnyScript {
  return Object.prototype.toString.call(value) === '[object Generator]';
}

function textOf(statement: unknown, dialect: Dialect): string | undefined {
  if (!(statement instanceof Statement)) return undefined;
  try {
    return statement.text(dialect);
  } catch {
    return undefined;
  }
}

const tags = /^(?:sql|sqlFor|lock|scan|part|fragment)$/;

/** Returns the pieces of SQL in the source that no text contains, each with its file. */
export function piecesMissing(texts: Iterable<string>): readonly string[] {
  const all = [...texts].join('\n');
  return files
    .filter((file) => !file.endsWith('/sql.ts'))
    .flatMap((file) =>
      piecesIn(file)
        .filter((piece) => !all.includes(piece))
        .map((piece) => `${file}: ${piece.trim()}`),
    );
}

/** The pieces of the tagged templates of a file that identify them. */
function piecesIn(file: string): readonly string[] {
  const pieces: string[] = [];
  const visitor = new Visitor({
    TaggedTemplateExpression({ tag, quasi }) {
      if (tag.type !== 'Identifier' || !tags.test(tag.name)) return;
      for (const { value } of quasi.quasis)
        if (value.cooked !== null && /[a-z]/.test(value.cooked)) pieces.push(value.cooked);
    },
  });
  visitor.visit(parseSync(file, readFileSync(file, 'utf8')).program);
  return pieces;
}
