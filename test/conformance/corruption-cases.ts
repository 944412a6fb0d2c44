/** The expected report of `verify` for each column of each table, or why there is none. A new column needs a line here. */

/** The check that finds a changed value of a column. */
export type Decision =
  | {
      /** A problem that `verify` reports. */
      readonly finds: RegExp;
      /** False: the problem names the store or no store, but not the card. */
      readonly namesCard?: false;
      /** Whether null is an erased text, which is accepted. */
      readonly isErasable?: true;
      /** The value instead of null. Default: a null is not replaced. */
      readonly insteadOfNull?: string | bigint | Uint8Array;
      /** The value instead of another one. Default: the next integer, or another first letter or byte. */
      readonly changed?: string | bigint | Uint8Array;
    }
  /** Only someone who kept a checkpoint of an earlier time notices it. */
  | { readonly checkpoint: string }
  /** It is not verified, for this reason. */
  | { readonly unverified: string };

export type TableCase = {
  /** The column with the id of the card. */
  readonly card: string;
  /** The columns that a duplicate of a row must change. */
  readonly key: readonly string[];
  /** The problem of a deleted row. */
  readonly deleted: RegExp;
  /** The problem of a duplicated row, or why it is not a problem. */
  readonly duplicated: RegExp | { readonly unverified: string };
  readonly columns: Readonly<Record<string, Decision>>;
};

const bytes = (length: number, fill = 7): Uint8Array => new Uint8Array(length).fill(fill);
const hash = /^the hash of transfer \d+ does not match its content$/;
const ofRecord = /^event \d+ has a record that differs from the card's$/;
const noStore = /: has rows of this store, but there is no such store$/;
const ofChange = /^the hash of change \d+ does not match its content$/;
const suspension = /^(?:is suspended, but has no change of|differs from what was issued|has another suspend)/;
const lastChange = /^has another last change than the end of its chain$/;
const unchangedField =
  'A recorded change of it is compared with the card. One that never changed is not repeated anywhere.';
const orderOfCommits = 'It is the order of the commits on this server, and is not copied.';
const ofHold = /^has holds that differ from their events$/;

export const tables: Readonly<Record<string, TableCase>> = {
  transfers: {
    card: 'card_id',
    key: ['id'],
    deleted: /^has another last transfer than|^transfer \d+ has the sequence number/,
    duplicated: /^transfer \d+ is not part of its chain$/,
    columns: {
      store_id: { finds: /^transfers: has rows of this store/, namesCard: false },
      id: { finds: /^has another last transfer than the end of its chain$/ },
      card_id: { finds: /^transfer \d+ is a transfer of another card$|is not part of its chain$/ },
      sequence: { finds: /^transfer \d+ has the sequence number/ },
      previous_id: { finds: hash, insteadOfNull: 1n },
      kind: { finds: hash, changed: 'credit' },
      amount: { finds: /^transfer \d+ has a balance that is not the sum up to it$/ },
      currency: { finds: /^transfer \d+ is in another currency$/, changed: 'EUR' },
      debit_account: { finds: hash, changed: 'promotions' },
      credit_account: { finds: hash, changed: 'breakage' },
      balance_after: { finds: /^transfer \d+ has a balance that is not the sum up to it$/ },
      actor: { finds: hash },
      reference: { finds: /^a text of transfer \d+ was changed$/, insteadOfNull: 'x' },
      note: { finds: /^a text of transfer \d+ was changed$/, insteadOfNull: 'x' },
      order_id: { finds: hash, insteadOfNull: 7n },
      order_reference: { finds: /^a text of transfer \d+ was changed$/, insteadOfNull: 'x' },
      external_id: { finds: /^a text of transfer \d+ was changed$/, insteadOfNull: 'x' },
      location_id: { finds: hash, insteadOfNull: 7n },
      hold_id: { finds: hash, insteadOfNull: 7n },
      reverses: { finds: hash, insteadOfNull: 7n },
      created_at: { finds: hash },
      salt: { finds: hash, insteadOfNull: bytes(16) },
      issued_expires_on: { finds: hash, insteadOfNull: '2030-01-01' },
      issued_vat: { finds: hash, insteadOfNull: 'multi_purpose' },
      text_salt: { finds: /^a text of transfer \d+ was changed$/, insteadOfNull: bytes(16) },
      text_digest: { finds: hash, insteadOfNull: bytes(32) },
      hash: { finds: hash },
      transaction_id: { unverified: orderOfCommits },
    },
  },
  gift_cards: {
    card: 'id',
    key: ['id'],
    deleted: /^has (?:transfers|events), but the card does not exist$/,
    duplicated: /^transfer \d+ is a transfer of another card$/,
    columns: {
      store_id: { finds: /^gift_cards: has rows of this store/, namesCard: false },
      id: { finds: /^has events, but the card does not exist$/ },
      version: { finds: /^has no event of version \d+$/ },
      currency: { finds: /^is in another currency$/, changed: 'EUR' },
      initial_value: { finds: /^was not issued for its initial value$/ },
      balance: { finds: /^has a balance that is not the sum of its transfers$/ },
      held: { finds: /^has a held amount that is not the sum of its open holds$/ },
      redeemed: { finds: /^has a redeemed amount that is not the sum of its redemptions$/ },
      batch_id: {
        finds: /^names a batch that does not exist$|^is of another batch than the one that issued it$/,
        insteadOfNull: 7n,
      },
      viewed_at: { unverified: 'It is not repeated anywhere, and moves no money.' },
      last_characters: { finds: ofRecord },
      code_lookup: {
        finds: /^refers to a code that does not exist$|^has several codes and refers to none$/,
        insteadOfNull: 7n,
      },
      customer_id: { finds: /^names a customer that does not exist$|record that differs/, insteadOfNull: 7n },
      recipient_id: {
        finds: /^names a recipient that does not exist$|record that differs/,
        insteadOfNull: 7n,
      },
      note: { finds: ofRecord, insteadOfNull: 'x' },
      message: { finds: ofRecord, insteadOfNull: 'x' },
      expires_on: { finds: ofRecord, insteadOfNull: '2030-01-01' },
      disabled_at: { finds: ofRecord, insteadOfNull: 1_800_000_000_000n, changed: 1_800_000_000_000n },
      suspended_at: { finds: suspension, insteadOfNull: 1_800_000_000_000n },
      suspend_reason: { finds: suspension, insteadOfNull: 'x' },
      created_at: { finds: /^was not created at the time of its first transfer$/ },
      line_item_id: { finds: ofRecord, insteadOfNull: 7n },
      order_id: { finds: ofRecord, insteadOfNull: 7n },
      user_id: { finds: ofRecord, insteadOfNull: 7n },
      api_client_id: { finds: ofRecord, insteadOfNull: 7n },
      vat: { finds: /^was not issued with its VAT$/, insteadOfNull: 'multi_purpose' },
      last_transfer_id: { finds: /^has another last transfer than the end of its chain$/ },
      chain_length: { finds: /^has another last transfer than the end of its chain$/ },
      chain_hash: { finds: /^has another last transfer than the end of its chain$/ },
      sender_name: { unverified: unchangedField },
      design: { unverified: unchangedField },
      recipient_name: { unverified: unchangedField },
      tags: { unverified: unchangedField },
      external_id: {
        finds: /^has another external id than was used for |^has an external id that is not recorded as used/,
        insteadOfNull: 'x',
      },
      last_change_id: { finds: lastChange, insteadOfNull: 7n },
      change_count: { finds: lastChange },
      change_hash: { finds: lastChange, insteadOfNull: bytes(32) },
      expired_event_day: {
        finds: /^has another day than its last event gift_card.expired$/,
        insteadOfNull: '2030-01-01',
      },
      expiring_soon_event_day: {
        finds: /^has another day than its last event gift_card.expiring_soon$/,
        insteadOfNull: '2030-01-01',
      },
      erased_event_version: {
        finds: /^has erased events up to version 1000, which it never had$/,
        insteadOfNull: 1_000n,
      },
    },
  },
  card_changes: {
    card: 'card_id',
    key: ['id'],
    deleted: lastChange,
    duplicated: /^change \d+ is not part of its chain$/,
    columns: {
      store_id: { finds: /^card_changes: has rows of this store/, namesCard: false },
      id: { finds: lastChange },
      card_id: { finds: /^change \d+ is a change of another card$/ },
      sequence: { finds: /^change \d+ has the sequence number/ },
      previous_id: { finds: ofChange, insteadOfNull: 7n },
      created_at: { finds: ofChange },
      actor: { finds: ofChange },
      fields: { finds: ofChange },
      texts: {
        finds: /^the note of change \d+ was changed$|^change \d+ cannot be read$/,
        isErasable: true,
        changed: '{"note":["AAAA","x","y"]}',
        insteadOfNull: '{"note":["AAAA","x","y"]}',
      },
      salt: { finds: ofChange, insteadOfNull: bytes(16) },
      hash: { finds: ofChange },
      transaction_id: { unverified: orderOfCommits },
    },
  },
  holds: {
    card: 'card_id',
    key: ['id'],
    deleted: ofHold,
    duplicated: ofHold,
    columns: {
      store_id: { finds: noStore, namesCard: false },
      id: { finds: ofHold },
      card_id: { finds: ofHold },
      status: { finds: ofHold, changed: 'captured' },
      amount: { finds: ofHold },
      captured: { finds: ofHold },
      actor: { finds: ofHold },
      reference: { finds: ofHold, insteadOfNull: 'x' },
      note: { finds: ofHold, insteadOfNull: 'x' },
      order_id: { finds: ofHold, insteadOfNull: 7n },
      order_reference: { finds: ofHold, insteadOfNull: 'x' },
      external_id: { finds: ofHold, insteadOfNull: 'x' },
      location_id: { finds: ofHold, insteadOfNull: 7n },
      created_at: { finds: ofHold, changed: 1_700_000_000_000n },
      expires_at: { finds: ofHold, changed: 1_900_000_000_000n },
      closed_at: { finds: ofHold, changed: 1_900_000_000_000n, insteadOfNull: 1_900_000_000_000n },
    },
  },
  gift_card_codes: {
    card: 'card_id',
    key: ['lookup'],
    deleted: /^has no code$|^refers to a code|^has another number of codes/,
    duplicated: /^has a code that is stored with a wrong digest$/,
    columns: {
      store_id: { finds: noStore, namesCard: false },
      lookup: { finds: /^has a code that is stored with a wrong digest$/ },
      digest: { finds: /^has a code that is stored with a wrong digest$/ },
      card_id: {
        finds: /^has no code$|^refers to a code that|^has another number of codes than its events$/,
      },
    },
  },
  events: {
    card: 'subject_id',
    key: ['id'],
    deleted:
      /^has no event of version|^has another number of codes|^has holds that differ|^has another day than/,
    duplicated: {
      unverified: 'Receivers accept an event twice, and events of one version repeat the record.',
    },
    columns: {
      store_id: { finds: noStore, namesCard: false },
      id: {
        unverified:
          'An id is random and only gives the order. Deliveries that refer to it are verified as references.',
      },
      type: { finds: /^event \d+ cannot be read$/ },
      subject_id: { finds: /^has no event of version|^has another day than its last event/ },
      subject_version: { finds: /^has no event of version \d+$|^event \d+ has version/ },
      created_at: {
        unverified: 'It is the time of a message to receivers. The time of an entry is in its chain.',
      },
      data: { finds: /^event \d+ cannot be read$/ },
      transaction_id: { unverified: orderOfCommits },
      trace_context: { unverified: 'It is for traces, and no record of the ledger.' },
    },
  },
};

/** Tables that are not the books: what is verified of them, and why not more. */
export const otherTables: Readonly<Record<string, string>> = {
  access_tokens: 'Credentials and the time of their last use. A changed hash only makes a token invalid.',
  customers: 'An address of a card is compared with the events of the card. Missing customers are found.',
  email_deliveries: 'A queue. Its cards must exist.',
  email_settings: 'Settings of a store.',
  email_texts: 'Settings of a store.',
  column_headings: 'What is suggested for the next file.',
  email_logos: 'Settings of a store.',
  email_servers: 'Settings of a store.',
  accountants: 'Settings of a store.',
  accountant_emails: 'Emails that were sent, or wait.',
  wallets: 'Settings of a store.',
  sale_pages: 'Settings of a store.',
  payment_providers: 'Settings of a store, with sealed keys.',
  online_sales:
    'Compared with the entries of their cards: `money/online-sales.test.ts`. The payments are at the provider, which is read each night.',
  online_sale_refunds: 'Compared each night with the refunds at the provider. Their sales must exist.',
  payment_movements: 'Copied from the provider. Their sales must exist.',
  wallet_cards: 'A queue, with the ids of objects at Google and sealed codes. Its cards must exist.',
  wallet_devices: 'Devices that receive pushes. Their cards must exist.',
  external_ids:
    'Compared with the external ids of its objects, in both directions. Its texts, which are only digests, say who used one and for what.',
  hold_extensions: 'Compared with the events of the holds. `conformance/verified-rows.ts` changes it.',
  idempotency_records:
    'Stored responses, which expire. Each must have been sealed with a key of this database.',
  key_checks: 'Each command compares it with the key file before it reads anything else.',
  lookup_throttle: 'Counters of failed lookups, which expire.',
  moving_changes: 'Which rows of a moving store have changed. Its copy is compared with all rows.',
  store_work: 'When background jobs read a store next. A lost row is late work, and no money.',
  batches: 'The progress of batches. Their cards are compared with the parts that issued them.',
  stock_codes: 'Compared with the codes as references, and a sold or voided one never changes.',
  stock_parts: 'Codes, which expire and are sealed for their row.',
  locations:
    'Names and addresses of shops, which can change. Those of entries, holds and batches must exist.',
  stocks: 'Terms of later sales; the number of its codes is verified.',
  batch_parts: 'Cards that are not issued yet, and codes, which expire. Both are sealed for their row.',
  request_blocks: 'Requests to the API, which expire.',
  customer_erasures: 'The progress of erasures. Its customers must exist.',
  customer_erasure_cards: 'Cards of unfinished erasures.',
  erased_events: 'How far a subscriber has missed events. The cards have the versions of erased events.',
  file_remains: 'Whether the file has to be rewritten once.',
  store_changes: 'Settings of a store at past times, which its checks compare with the settings.',
  stores: 'Settings of a store. Every row of another table must belong to one.',
  webhook_attempts: 'A log of deliveries, which expires. Its deliveries must exist.',
  webhook_deliveries: 'A queue. Its webhooks and events must exist.',
  webhooks: 'Settings of a store.',
  store_closings: 'Its days are compared with the sums of the transfers. `conformance/books.ts` changes it.',
  store_days: 'Compared with the sums of the transfers. `conformance/books.ts` changes it.',
  store_ages: 'Compared with the sums of the transfers. `conformance/books.ts` changes it.',
  late_entries: 'The day of a late transfer changes the sums of two days, which are compared.',
  logs: 'Compared with the entries. `conformance/log.ts` changes it.',
  log_pages: 'Compared with the entries. `conformance/log.ts` changes it.',
  log_subtrees: 'Compared with the entries. `conformance/log.ts` changes it.',
  checkpoints: 'Compared with the log. `conformance/log.ts` changes it.',
  checkpoint_keys: 'Compared with the signatures of checkpoints. `conformance/log.ts` changes it.',
  log_cursors: 'How far entries were appended on this server. A wrong one appends what is missing.',
  log_backfills: 'How far entries were appended again on this server.',
  log_turn: 'A lock.',
  staff: 'People and their roles. The ledger names who made a movement, and does not depend on this table.',
  passkeys: 'Credentials. A changed key only makes a passkey invalid.',
  staff_links: 'Credentials, which expire. A changed hash only makes a link invalid.',
  staff_sessions: 'Credentials, which expire. A changed hash only makes a session invalid.',
  tills: 'Devices. A changed hash only makes a device unknown.',
  staff_actions:
    'What people did. Triggers reject changes; movements and changes of cards are in chains of their own.',
  unknown_addresses: 'Digests of addresses, which expire. Entries of the audit log do not depend on them.',
  verifications: 'The record of the last verification itself.',
  setup_steps: 'What a person has ticked on the first page of the console.',
  backup_settings: 'The place of the backups, and the public half of a key.',
  backups: 'A list of files, which are compared when they are made.',
  version_check: 'A decision of an owner, and what a signed list said.',
  owner_notices: 'Emails that were sent, or wait.',
  heartbeat: 'The time of the last start.',
  sandbox: 'Empty in a live database.',
  sandbox_payments: 'No payment there moves money.',
  copies: 'The state of a copy.',
  store_copies: 'The state of the copies of stores.',
  schema_migrations: 'Each command compares it with its migrations.',
};
