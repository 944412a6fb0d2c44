/**
 * The steps of the import, each for one card of one store. A step throws a RowProblem if the service's response
 * differs from the row.
 */
import { ApiError, type GiftCard, type Largesse } from '../packages/client/src/index.ts';
import { RowProblem, checkedCard } from './checked-card.ts';
import type { IssuedFile } from './issued.ts';
import {
  addressesOf,
  changesTo,
  decimalsOf,
  differences,
  expectedAtIssue,
  hash,
  lastCharacters,
  parametersOf,
  parseUnits,
  sameAddress,
} from './rows.ts';
import type { Row } from './rows.ts';

const updateEvery = 7;
const disableEvery = 11;

/** One store's part of the import: what is known of the store, and what has been done. */
export interface StoreImport {
  domain: string;
  client: Largesse;
  issued: IssuedFile;
  /** The store's currency, read from its first card. */
  money: { currency: string; decimals: number } | undefined;
  rowOfCard: Map<number, number>;
  customerOf: Map<string, number>;
  count: Record<'issued' | 'replayed' | 'recorded' | 'found' | 'updated' | 'disabled', number>;
  outstanding: bigint;
}

interface Imported {
  row: Row;
  id: number;
  code: string;
  /** Issued by this very run, so nothing can have changed it yet. */
  fresh: boolean;
}

interface Known extends Imported {
  card: GiftCard;
  etag: string;
}

export function startStore(domain: string, client: Largesse, issued: IssuedFile): StoreImport {
  return {
    domain,
    client,
    issued,
    money: undefined,
    rowOfCard: new Map(),
    customerOf: new Map(),
    count: { issued: 0, replayed: 0, recorded: 0, found: 0, updated: 0, disabled: 0 },
    outstanding: 0n,
  };
}

/** Issues the row's card, unless an earlier run has, and writes its code down. */
export async function issue(store: StoreImport, { row }: { row: Row }): Promise<Imported> {
  const earlier = store.issued.recorded.get(row.key);
  if (earlier !== undefined) {
    store.count.recorded += 1;
    return { row, ...earlier, fresh: false };
  }
  const request = store.client.cards.create(parametersOf(row), { idempotencyKey: row.key });
  const { card, isReplayed } = await checkedCard(request, { status: 201 });
  const code = card.code ?? '';
  // Before anything is checked: whatever is wrong with the card, its code must not be lost.
  await store.issued.append({ row: row.number, store: store.domain, id: card.id, code, key: row.key });
  store.count[isReplayed ? 'replayed' : 'issued'] += 1;
  const wanted = row.code.replaceAll(/[\s-]/g, '').toLowerCase();
  if (wanted !== '' && wanted !== code) throw new RowProblem(`another code than the row's: ${code}`);
  const imported = { row, id: card.id, code, fresh: !isReplayed };
  // A replayed response is the first one, although the card may have changed since.
  const { decimals } = moneyOf(store, card);
  mustMatch(store, card, {
    imported,
    expected: { ...expectedAtIssue(row, { decimals }), disabled_at: null },
  });
  return imported;
}

/** The card must be what its row says: as issued, or as an earlier run of this example has left it. */
export async function retrieve(store: StoreImport, imported: Imported): Promise<Known> {
  const { row, id, fresh } = imported;
  const { card, etag } = await checkedCard(store.client.cards.retrieve(id), { status: 200 });
  const { decimals } = moneyOf(store, card);
  const changed =
    !fresh && row.number % updateEvery === 0 && card.balance === changesTo(row, { decimals }).balance;
  const expected = {
    ...expectedAtIssue(row, { decimals }),
    ...(changed ? changesTo(row, { decimals }) : {}),
  };
  mustMatch(store, card, { imported, expected });
  if (card.disabled_at !== null && (fresh || row.number % disableEvery !== 0)) {
    throw new RowProblem(`disabled since ${card.disabled_at}`);
  }
  return { ...imported, card, etag };
}

/** The card must be found by the end of its code and each address it has. */
export async function find(store: StoreImport, { row, code, card }: Known): Promise<void> {
  const addresses = addressesOf(row);
  for (const email of addresses) {
    const request = store.client.cards.search({ last_characters: lastCharacters(code), email });
    const { card: found } = await checkedCard(request, { status: 200 });
    if (found.id === card.id) {
      assertNone(differences(found, card));
      continue;
    }
    // If several cards of one address end alike, the service returns one of them.
    const belongs = sameAddress(found.customer_email, email) || sameAddress(found.recipient_email, email);
    if (!belongs || found.last_characters !== card.last_characters) {
      throw new RowProblem(`the search for ${email} found card ${found.id}, which does not match`);
    }
  }
  if (addresses.length > 0) store.count.found += 1;
}

/** Changes every seventh row's card, if an earlier run has not, and only in the version that was read. */
export async function update(store: StoreImport, known: Known): Promise<Known> {
  const { row, card, etag } = known;
  const { decimals } = moneyOf(store, card);
  const changes = changesTo(row, { decimals });
  if (row.number % updateEvery !== 0 || card.balance === changes.balance) return known;
  const options = { idempotencyKey: hash('update', row.key, etag), ifMatch: etag };
  const request = store.client.cards.update(card.id, changes, options);
  const { card: after, etag: changed } = await checkedCard(request, { status: 200 });
  assertNone(differences(after, { ...card, ...changes }));
  if (changed === etag) throw new RowProblem('the card changed and its ETag did not');
  store.count.updated += 1;
  return { ...known, card: after, etag: changed };
}

/** Disables every eleventh row's card, and makes sure that its balance can no longer change. */
export async function disable(store: StoreImport, known: Known): Promise<Known> {
  const { row, card, etag } = known;
  if (row.number % disableEvery !== 0) return known;
  const options = { idempotencyKey: hash('disable', row.key, etag), ifMatch: etag };
  const request = store.client.cards.update(card.id, { disable: true }, options);
  const { card: after, etag: changed } = await checkedCard(request, { status: 200 });
  if (after.disabled_at === null) throw new RowProblem('disabled_at is still null');
  // A repeated disabling succeeds and keeps the first time.
  assertNone(differences(after, { ...card, disabled_at: card.disabled_at ?? after.disabled_at }));
  if (card.disabled_at === null) store.count.disabled += 1;

  const { balance: half } = changesTo(row, moneyOf(store, card));
  const otherBalance = card.balance === half ? card.initial_value : half;
  const rejected = await store.client.cards
    .update(card.id, { balance: otherBalance })
    .catch((error: unknown) => error);
  if (!(rejected instanceof ApiError) || rejected.status !== 422 || !('balance' in rejected.fields)) {
    throw new RowProblem(`a balance change of a disabled card: ${String(rejected)} instead of a rejection`);
  }
  return { ...known, card: after, etag: changed };
}

/** Checks at the end that every card equals its last response, and adds up the balances. */
export async function countOutstanding(store: StoreImport, { card }: Known): Promise<void> {
  const { card: now } = await checkedCard(store.client.cards.retrieve(card.id), { status: 200 });
  assertNone(differences(now, card));
  if (now.disabled_at === null) store.outstanding += parseUnits(now.balance, moneyOf(store, now));
}

function mustMatch(
  store: StoreImport,
  card: GiftCard,
  { imported, expected }: { imported: Imported; expected: Partial<GiftCard> },
): void {
  const { row, id, code } = imported;
  const { currency, decimals } = moneyOf(store, card);
  const problems = differences(card, { ...expected, id, currency, last_characters: lastCharacters(code) });
  if (decimalsOf(card.balance) !== decimals || decimalsOf(card.initial_value) !== decimals) {
    problems.push(`${card.balance} of ${card.initial_value} has not the ${decimals} decimals of ${currency}`);
  }
  const otherRow = store.rowOfCard.get(id) ?? row.number;
  if (otherRow !== row.number) problems.push(`card ${id} is that of row ${otherRow} already`);
  store.rowOfCard.set(id, row.number);
  problems.push(...customerProblems(store, row.email, card.customer_id));
  problems.push(...customerProblems(store, row.recipient_email, card.recipient_id));
  assertNone(problems);
}

/** An address is one customer, regardless of its spelling and of the number of cards. */
function customerProblems(store: StoreImport, email: string, id: number | null): string[] {
  const address = email.trim().toLowerCase();
  if (address === '') return id === null ? [] : [`customer ${id} without an address`];
  if (id === null) return [`no customer for ${email}`];
  const known = store.customerOf.get(address) ?? id;
  store.customerOf.set(address, known);
  return known === id ? [] : [`${email} is customer ${id} here and ${known} elsewhere`];
}

/** A store has one currency; the first card shows which, and with how many decimals it is written. */
function moneyOf(store: StoreImport, card: GiftCard): { currency: string; decimals: number } {
  store.money ??= { currency: card.currency, decimals: decimalsOf(card.initial_value) };
  return store.money;
}

function assertNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new RowProblem(problems.join('; '));
}
