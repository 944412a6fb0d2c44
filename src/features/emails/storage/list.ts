/** Lists of all emails of a store, newest first, and single emails by their id. */

import {
  deliveryStates,
  emailKinds,
  type EmailDelivery,
  type EmailKind,
  type EmailState,
} from '../../../core/emails/domain/email.ts';
import { emailColumns, toEmailDelivery, type DeliveryRow } from '../../../core/emails/storage/email.ts';
import {
  all,
  first,
  one,
  parallel,
  part,
  sql,
  type Part,
  toNumber,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';
import { indexedBy, position } from '../../../database/sql/fragments.ts';

/** Emails of these states and kinds. */
export type EmailFilter = { readonly states: readonly EmailState[]; readonly kinds: readonly EmailKind[] };

export type EmailRange = {
  /** The id before or after which the emails are; null: the newest ones. */
  readonly from: number | null;
  /** Whether the emails after the id are read, oldest first, instead of those before it, newest first. */
  readonly isBackwards: boolean;
  readonly limit: number;
};

const idMax = Number.MAX_SAFE_INTEGER;

const byId = indexedBy('email_deliveries_by_id');
const byState = indexedBy('email_deliveries_by_state');
const byBatch = indexedBy('email_deliveries_by_batch');

function* listAny(storeId: number, { from, isBackwards, limit }: EmailRange): Script<readonly DeliveryRow[]> {
  return yield* all(
    isBackwards
      ? sql<DeliveryRow>`
          select ${emailColumns} from email_deliveries ${byId}
          where store_id = ${storeId} and id > ${from ?? 0} order by id limit ${limit}`
      : sql<DeliveryRow>`
          select ${emailColumns} from email_deliveries ${byId}
          where store_id = ${storeId} and id < ${from ?? idMax} order by id desc limit ${limit}`,
  );
}

/** @param batchId only the emails of the cards of a batch; null: of all cards. */
type Stretch = { readonly state: EmailState; readonly kind: EmailKind; readonly batchId: number | null };

function* listStretch(
  storeId: number,
  { state, kind, batchId }: Stretch,
  { from, isBackwards, limit }: EmailRange,
): Script<readonly DeliveryRow[]> {
  if (batchId !== null) {
    const own = part`
      select ${emailColumns} from email_deliveries ${byBatch}
      where store_id = ${storeId} and batch_id = ${batchId} and state = ${state} and kind = ${kind}`;
    return yield* all(
      isBackwards
        ? sql<DeliveryRow>`${own} and id > ${from ?? 0} order by id limit ${limit}`
        : sql<DeliveryRow>`${own} and id < ${from ?? idMax} order by id desc limit ${limit}`,
    );
  }
  return yield* all(
    isBackwards
      ? sql<DeliveryRow>`
          select ${emailColumns} from email_deliveries ${byState}
          where store_id = ${storeId} and state = ${state} and kind = ${kind} and id > ${from ?? 0}
          order by id limit ${limit}`
      : sql<DeliveryRow>`
          select ${emailColumns} from email_deliveries ${byState}
          where store_id = ${storeId} and state = ${state} and kind = ${kind}
            and id < ${from ?? idMax}
          order by id desc limit ${limit}`,
  );
}

/**
 * Returns the emails of a filter in the order of the range. Each state and kind is one stretch of an index, of which at
 * most `limit` rows are read.
 * @param filter null: all emails. @param batchId only the emails of the cards of a batch, with a filter; null: of all cards.
 */
export function* listEmails(
  storeId: number,
  filter: EmailFilter | null,
  range: EmailRange,
  batchId: number | null = null,
): Script<readonly EmailDelivery[]> {
  const rows = filter
    ? (yield* parallel(
        ...filter.states.flatMap((state) =>
          filter.kinds.map((kind) => listStretch(storeId, { state, kind, batchId }, range)),
        ),
      )).flat()
    : yield* listAny(storeId, range);
  const direction = range.isBackwards ? 1 : -1;
  return rows
    .map(toEmailDelivery)
    .toSorted((left, right) => direction * (left.id - right.id))
    .slice(0, range.limit);
}

/** The emails about the cards of a customer or recipient, or about one card. */
export type EmailSubject = { readonly customerId: number } | { readonly cardId: number };

/** So many cards of which a person is the customer, and of which the recipient, are searched. */
export const searchedCardsMax = 1_000;

/** Lists the emails of a subject as `listEmails` does. The emails of its cards are sorted, so their cards are limited. */
export function* listEmailsOf(
  storeId: number,
  subject: EmailSubject,
  filter: EmailFilter,
  range: EmailRange,
): Script<readonly EmailDelivery[]> {
  const { isBackwards, limit } = range;
  const direction = isBackwards ? 1 : -1;
  const rows =
    'cardId' in subject
      ? yield* all(sql<DeliveryRow>`
          ${emailsOfCards(storeId, oneCard(subject), filter, range)} order by id * ${direction} limit ${limit}`)
      : yield* all(sql<DeliveryRow>`
          ${emailsOfCards(storeId, cardsOf(storeId, subject), filter, range)} order by id * ${direction} limit ${limit}`);
  return rows.map(toEmailDelivery);
}

function oneCard({ cardId }: { readonly cardId: number }): Part {
  return part`select cast(${cardId} as bigint) as of_card`;
}

function cardsOf(storeId: number, { customerId }: { readonly customerId: number }): Part {
  return part`
    select of_card from (
      select id as of_card from gift_cards
      where store_id = ${storeId} and customer_id = ${customerId} limit ${searchedCardsMax}) bought
    union
    select of_card from (
      select id as of_card from gift_cards
      where store_id = ${storeId} and recipient_id = ${customerId} limit ${searchedCardsMax}) received`;
}

/** Materialized, so that the planner reads the emails by card, and not all emails in the order of their ids. */
function emailsOfCards(
  storeId: number,
  cards: Part,
  { states, kinds }: EmailFilter,
  { from, isBackwards }: EmailRange,
): Part {
  const [after, before] = isBackwards ? [from ?? 0, null] : [0, from];
  // Lists of one length, because the statement is prepared once.
  const wantedStates = new ValueList(deliveryStates.map((_, place) => states[place] ?? ''));
  const wantedKinds = new ValueList(emailKinds.map((_, place) => kinds[place] ?? ''));
  return part`
    with found as materialized (
      select ${emailColumns} from (${cards}) c cross join email_deliveries
      where store_id = ${storeId} and card_id = c.of_card
        and id > ${after} and id < ${before ?? idMax}
        and state in (${wantedStates}) and kind in (${wantedKinds}))
    select * from found`;
}

/** Part of an address, of a recipient's name, or all of the last characters of a code; letters of ASCII in lower case. */
export type SearchedText = { readonly text: string };

export type WalkedEmails = {
  /** The emails of the stretch that meet the filter, at most `limit`, in the order of the range. */
  readonly found: readonly EmailDelivery[];
  /** The last email of the stretch; null: it is the end of the list. */
  readonly end: number | null;
};

/** Searches a stretch of the emails in the order of a range, of which `rowsMax` are read with their cards. */
export function* walkEmails(
  storeId: number,
  { text, states, kinds }: SearchedText & EmailFilter,
  { from, isBackwards, limit }: EmailRange,
  rowsMax: number,
): Script<WalkedEmails> {
  const [after, before] = isBackwards ? [from ?? 0, idMax] : [0, from ?? idMax];
  const beyond = yield* first(
    isBackwards
      ? sql<{ id: bigint }>`
          select id from email_deliveries ${byId} where store_id = ${storeId} and id > ${after}
          order by id limit 1 offset ${rowsMax - 1}`
      : sql<{ id: bigint }>`
          select id from email_deliveries ${byId} where store_id = ${storeId} and id < ${before}
          order by id desc limit 1 offset ${rowsMax - 1}`,
  );
  const end = beyond ? toNumber(beyond.id) : null;
  const [low, high] = isBackwards ? [after + 1, end ?? idMax] : [end ?? 0, before - 1];
  // Lists of one length, because the statement is prepared once.
  const wantedStates = new ValueList(deliveryStates.map((_, place) => states[place] ?? ''));
  const wantedKinds = new ValueList(emailKinds.map((_, place) => kinds[place] ?? ''));
  const found = part`
    select ${emailColumns} from email_deliveries ${byId}
    where store_id = ${storeId} and id between ${low} and ${high}
      and state in (${wantedStates}) and kind in (${wantedKinds})
      and case when ${position}(lower(address), ${text}) > 0 then 1 else (
        select case when ${position}(lower(g.recipient_name), ${text}) > 0 or g.last_characters = ${text} then 1 else 0 end
        from gift_cards g where g.store_id = ${storeId} and g.id = card_id) end = 1`;
  const rows = yield* all(
    isBackwards
      ? sql<DeliveryRow>`${found} order by id limit ${limit}`
      : sql<DeliveryRow>`${found} order by id desc limit ${limit}`,
  );
  return { found: rows.map(toEmailDelivery), end };
}

/** The columns of an email’s card that a list shows. */
export type EmailCard = {
  /** The last characters of the card's present code. */
  readonly lastCharacters: string;
  readonly recipientName: string | null;
  /** In minor units. */
  readonly initialValue: bigint;
};

/** The cards of up to 50 emails, by their ids. */
export function* listEmailCards(
  storeId: number,
  cardIds: readonly number[],
): Script<ReadonlyMap<number, EmailCard>> {
  if (cardIds.length === 0) return new Map();
  const ids = new ValueList(Array.from({ length: cardsMax }, (_, place) => cardIds[place] ?? 0));
  const rows = yield* all(sql<{
    id: bigint;
    last_characters: string;
    recipient_name: string | null;
    initial_value: bigint;
  }>`
    select id, last_characters, recipient_name, initial_value from gift_cards
    where store_id = ${storeId} and id in (${ids})`);
  return new Map(
    rows.map((row) => [
      toNumber(row.id),
      {
        lastCharacters: row.last_characters,
        recipientName: row.recipient_name,
        initialValue: row.initial_value,
      },
    ]),
  );
}

export function* findEmailById(storeId: number, id: number): Script<EmailDelivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries ${byId} where store_id = ${storeId} and id = ${id} limit 1`);
  return row && toEmailDelivery(row);
}

/** More cards than a page of emails has. */
const cardsMax = 50;

/** The id of the newest `gift_card` email of each of up to 50 cards, by the ids of the cards. */
export function* findNewestCodeEmails(
  storeId: number,
  cardIds: readonly number[],
): Script<ReadonlyMap<number, number>> {
  if (cardIds.length === 0) return new Map();
  const ids = new ValueList(Array.from({ length: cardsMax }, (_, place) => cardIds[place] ?? 0));
  const rows = yield* all(sql<{ card_id: bigint; id: bigint | null }>`
    select g.id as card_id, (
      select e.id from email_deliveries e
      where e.store_id = ${storeId} and e.card_id = g.id and e.kind = 'gift_card' order by e.id desc limit 1) as id
    from gift_cards g where g.store_id = ${storeId} and g.id in (${ids})`);
  return new Map(rows.flatMap((row) => (row.id === null ? [] : [[toNumber(row.card_id), toNumber(row.id)]])));
}

/** Counts the emails of some states, at most `max` of each state. */
export function* countEmailsIn(storeId: number, states: readonly EmailState[], max: number): Script<number> {
  const counts = yield* parallel(
    ...states.map((state) =>
      one(sql<{ emails: bigint }>`
        select count(*) as emails from (
          select 1 as one from email_deliveries ${byState}
          where store_id = ${storeId} and state = ${state} limit ${max}) counted`),
    ),
  );
  return counts.reduce((sum, { emails }) => sum + toNumber(emails), 0);
}

/**
 * Counts usable cards whose newest email with the code could not be delivered, among at most `max` such emails of each
 * state.
 */
export function* countUndelivered(
  storeId: number,
  { today, max }: { readonly today: string; readonly max: number },
): Script<{ readonly count: number; readonly isExact: boolean }> {
  const states: readonly EmailState[] = ['bounced', 'dead'];
  const counts = yield* parallel(
    ...states.map((state) =>
      one(sql<{ found: bigint; emails: bigint }>`
        select count(*) as found, cast(coalesce(sum(
          case when g.disabled_at is null and (g.expires_on is null or g.expires_on >= ${today})
            and not exists (
              select 1 from email_deliveries later
              where later.store_id = ${storeId} and later.card_id = f.card_id and later.id > f.id
                and later.kind = 'gift_card')
          then 1 else 0 end), 0) as bigint) as emails
        from (
          select card_id, id from email_deliveries ${byState}
          where store_id = ${storeId} and state = ${state} and kind = 'gift_card' order by id desc limit ${max}
        ) f join gift_cards g on g.store_id = ${storeId} and g.id = f.card_id`),
    ),
  );
  return {
    count: counts.reduce((sum, { emails }) => sum + toNumber(emails), 0),
    isExact: counts.every(({ found }) => toNumber(found) < max),
  };
}

/** Cancels an email that is scheduled. @returns false if it is no longer scheduled. */
export function* cancelScheduled(
  { storeId, cardId, id }: Pick<EmailDelivery, 'storeId' | 'cardId' | 'id'>,
  { now, response }: { readonly now: number; readonly response: string },
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update email_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      response = ${response}
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and state = 'scheduled'
    returning id`);
  return row !== undefined;
}
