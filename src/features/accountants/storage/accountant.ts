/**
 * The accountants of stores, and the emails to them. An email is a row without content: its figures are read, and its link
 * is signed, when it is sent. A process owns a claimed email until the lease expires.
 */

import {
  accountantsMax,
  type Accountant,
  type AccountantEmail,
  type AccountantEmailKind,
  type AccountantFormat,
} from '../domain/accountant.ts';
import {
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  unchanged,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { all, execute, first, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

const accountants = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  address: text('address'),
  address_key: text('addressKey'),
  language: text('language'),
  format: unchanged<AccountantFormat>()('format'),
  created_at: integer('createdAt'),
});

type AccountantRow = RowOf<typeof accountants>;

const emails = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  accountant_id: integer('accountantId'),
  kind: unchanged<AccountantEmailKind>()('kind'),
  month: text('month'),
  format: unchanged<AccountantFormat>()('format'),
  link_until: integer('linkUntil'),
  state: unchanged<AccountantEmail['state']>()('state'),
  created_at: integer('createdAt'),
  next_at: integerOrNull('nextAt'),
  attempts: integer('attempts'),
  first_at: integerOrNull('firstAt'),
  response: textOrNull('response'),
  ended_at: integerOrNull('endedAt'),
  opened_at: integerOrNull('openedAt'),
  downloaded_at: integerOrNull('downloadedAt'),
});

type EmailRow = RowOf<typeof emails>;

export type AccountantKey = Pick<Accountant, 'storeId' | 'id'>;
export type AccountantEmailKey = Pick<AccountantEmail, 'storeId' | 'id'>;

/** The accountants of a store, the first one that was added first. */
export function* listAccountants(storeId: number): Script<readonly Accountant[]> {
  const rows = yield* all(sql<AccountantRow>`
    select ${accountants.names} from accountants where store_id = ${storeId} order by id limit ${accountantsMax}`);
  return rows.map(accountants.read);
}

export function* findAccountant({ storeId, id }: AccountantKey): Script<Accountant | undefined> {
  const row = yield* first(sql<AccountantRow>`
    select ${accountants.names} from accountants where store_id = ${storeId} and id = ${id}`);
  return row && accountants.read(row);
}

export function* insertAccountant(accountant: Accountant): Script<void> {
  yield* execute(
    sql`insert into accountants (${accountants.names}) values (${accountants.values(accountant)})`,
  );
}

/** Emails that are written from now on have the new language and format. */
export function* updateAccountant({
  storeId,
  id,
  language,
  format,
}: AccountantKey & Pick<Accountant, 'language' | 'format'>): Script<void> {
  yield* execute(sql`
    update accountants set language = ${language}, format = ${format} where store_id = ${storeId} and id = ${id}`);
}

/** Removes an accountant with the emails, whose links then end. */
export function* deleteAccountant({ storeId, id }: AccountantKey): Script<void> {
  yield* execute(
    sql`delete from accountant_emails where store_id = ${storeId} and accountant_id = ${id}`,
    sql`delete from accountants where store_id = ${storeId} and id = ${id}`,
  );
}

// A restored copy sends nothing until an owner has confirmed it: the other machine may have sent it.

/** The ids of the stores with emails that are due. */
export function* listStoresToReport(now: number, limit: number): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select distinct store_id from accountant_emails e where next_at <= ${now} and ${ofOpenStore}
      and not exists (select 1 from setup_steps t where t.store_id = e.store_id and t.step = 'restored_copy')
    limit ${limit}`);
  return rows.map((row) => toNumber(row.store_id));
}

/** An email of which the rest is as in a new one. */
export type NewAccountantEmail = Pick<
  AccountantEmail,
  'storeId' | 'id' | 'accountantId' | 'kind' | 'month' | 'format' | 'linkUntil' | 'createdAt'
>;

/** Enqueues an email; one of the kind `month` only once. @returns whether it was. */
export function* insertAccountantEmail({
  storeId,
  id,
  accountantId,
  kind,
  month,
  format,
  linkUntil,
  createdAt,
}: NewAccountantEmail): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into accountant_emails
      (store_id, id, accountant_id, kind, month, format, link_until, state, created_at, next_at)
    values (${storeId}, ${id}, ${accountantId}, ${kind}, ${month}, ${format}, ${linkUntil}, 'queued', ${createdAt},
      ${createdAt})
    on conflict (store_id, accountant_id, month) where kind = 'month' do nothing returning id`);
  return row !== undefined;
}

/** The months from one on about which emails were enqueued, each with its accountant. */
export function* listReportedMonths(
  storeId: number,
  from: string,
): Script<readonly Pick<AccountantEmail, 'accountantId' | 'month'>[]> {
  const rows = yield* all(sql<{ accountant_id: bigint; month: string }>`
    select accountant_id, month from accountant_emails
    where store_id = ${storeId} and kind = 'month' and month >= ${from} limit 1000`);
  return rows.map((row) => ({ accountantId: toNumber(row.accountant_id), month: row.month }));
}

/** The emails of a store, newest first. */
export function* listAccountantEmails(storeId: number, limit: number): Script<readonly AccountantEmail[]> {
  const rows = yield* all(sql<EmailRow>`
    select ${emails.names} from accountant_emails where store_id = ${storeId} order by id desc limit ${limit}`);
  return rows.map(emails.read);
}

export function* findAccountantEmail({
  storeId,
  id,
}: AccountantEmailKey): Script<AccountantEmail | undefined> {
  const row = yield* first(sql<EmailRow>`
    select ${emails.names} from accountant_emails where store_id = ${storeId} and id = ${id}`);
  return row && emails.read(row);
}

/** A claim of due emails: its times in ms, and its name. */
export type AccountantClaim = { readonly now: number; readonly until: number; readonly lease: number };

/** Claims up to `limit` due emails of a store, the longest due first. */
export function* claimDueEmails(
  storeId: number,
  { now, until, lease }: AccountantClaim,
  limit: number,
): Script<readonly AccountantEmail[]> {
  const due = yield* all(sql<{ id: bigint }>`
    select id from accountant_emails where store_id = ${storeId} and next_at <= ${now}
    order by next_at, id limit ${limit} ${forUpdateSkipLocked}`);
  const claimed: AccountantEmail[] = [];
  for (const { id } of due) {
    const row = yield* one(sql<EmailRow>`
      update accountant_emails set next_at = ${until}, lease = ${lease}, attempts = attempts + 1,
        first_at = coalesce(first_at, ${now})
      where store_id = ${storeId} and id = ${id} returning ${emails.names}`);
    claimed.push(emails.read(row));
  }
  return claimed;
}

/** The end of an attempt. */
export type AccountantSettlement = Pick<AccountantEmail, 'state' | 'response' | 'nextAt'>;

/** Records the end of an attempt. Nothing happens if another process has claimed the email since. */
export function* settleAccountantEmail(
  { storeId, id }: AccountantEmailKey,
  lease: number,
  { state, response, nextAt, now }: AccountantSettlement & { readonly now: number },
): Script<void> {
  yield* execute(sql`
    update accountant_emails set state = ${state}, response = ${response}, next_at = ${nextAt}, lease = null,
      ended_at = ${nextAt === null ? now : null}
    where store_id = ${storeId} and id = ${id} and lease = ${lease}`);
}

/** Ends the links of an accountant. @param now the instant (ms). */
export function* endLinks({ storeId, id }: AccountantKey, now: number): Script<void> {
  yield* execute(sql`
    update accountant_emails set link_until = ${now}
    where store_id = ${storeId} and accountant_id = ${id} and link_until > ${now}`);
}

/** Records that a page was opened (ms). @returns whether it was the first time. */
export function* recordOpened({ storeId, id }: AccountantEmailKey, now: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update accountant_emails set opened_at = ${now}
    where store_id = ${storeId} and id = ${id} and opened_at is null returning id`);
  return row !== undefined;
}

/** Records that a file was downloaded (ms). @returns whether it was the first time. */
export function* recordDownloaded({ storeId, id }: AccountantEmailKey, now: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update accountant_emails set downloaded_at = ${now}, opened_at = coalesce(opened_at, ${now})
    where store_id = ${storeId} and id = ${id} and downloaded_at is null returning id`);
  return row !== undefined;
}

/** Deletes what has ended: emails about months before one, and those that owners requested before an instant (ms). */
export function* deleteOldAccountantEmails(
  storeId: number,
  { month, requestedBefore }: { readonly month: string; readonly requestedBefore: number },
): Script<void> {
  yield* execute(sql`
    delete from accountant_emails where store_id = ${storeId} and next_at is null
      and (month < ${month} or (kind <> 'month' and created_at < ${requestedBefore}))`);
}

export function* countWaitingAccountantEmails(storeId: number): Script<number> {
  const { waiting } = yield* one(sql<{ waiting: bigint }>`
    select count(*) as waiting from accountant_emails where store_id = ${storeId} and next_at is not null`);
  return toNumber(waiting);
}

/** @param response says why they were not sent. */
export function* dropWaitingAccountantEmails(
  storeId: number,
  { now, response }: { readonly now: number; readonly response: string },
): Script<void> {
  yield* execute(sql`
    update accountant_emails set state = 'cancelled', next_at = null, lease = null, ended_at = ${now},
      response = ${response}
    where store_id = ${storeId} and next_at is not null`);
}

/** The accountants who have not received an email about a month from one on, and none after it. */
export function* listFailedAccountants(storeId: number, from: string): Script<readonly Accountant[]> {
  const rows = yield* all(sql<AccountantRow>`
    select ${accountants.of('a')} from accountants a where a.store_id = ${storeId} and exists (
      select 1 from accountant_emails e
      where e.store_id = ${storeId} and e.accountant_id = a.id and e.month >= ${from}
        and (e.state = 'bounced' or e.state = 'dead')
        and not exists (
          select 1 from accountant_emails n
          where n.store_id = ${storeId} and n.accountant_id = a.id and n.id > e.id
            and (n.state = 'sent' or n.state = 'kept')))
    order by a.id`);
  return rows.map(accountants.read);
}
