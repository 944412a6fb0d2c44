/** Generated from the OpenAPI document by `npm run client:generate`. A test compares it. */

/** A gift card. */
export interface GiftCard {
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** When the card was issued, UTC. */
  created_at: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** Value at creation; never changes. */
  initial_value: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at: string | null;
  /** The order line that the card was sold with. */
  line_item_id: number | null;
  /** The API client that created the card. */
  api_client_id: number | null;
  /** The staff user who created the card. */
  user_id: number | null;
  /** The customer assigned through `email`. */
  customer_id: number | null;
  /** The email address of that customer. */
  customer_email: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id: number | null;
  /** The email address of that customer. */
  recipient_email: string | null;
  /** A note for the store, never visible to customers. */
  note: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The message in the gift card email. */
  message: string | null;
  /** The last four characters of the code. */
  last_characters: string;
  /** The order that the card was sold with. */
  order_id: number | null;
}

/** A new gift card, with its code. */
export interface IssuedGiftCard {
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** When the card was issued, UTC. */
  created_at: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** Value at creation; never changes. */
  initial_value: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at: string | null;
  /** The order line that the card was sold with. */
  line_item_id: number | null;
  /** The API client that created the card. */
  api_client_id: number | null;
  /** The staff user who created the card. */
  user_id: number | null;
  /** The customer assigned through `email`. */
  customer_id: number | null;
  /** The email address of that customer. */
  customer_email: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id: number | null;
  /** The email address of that customer. */
  recipient_email: string | null;
  /** A note for the store, never visible to customers. */
  note: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The message in the gift card email. */
  message: string | null;
  /** The last four characters of the code. */
  last_characters: string;
  /** The order that the card was sold with. */
  order_id: number | null;
  /** The full code. It is returned only once. */
  code: string;
}

/** A gift card, with the amount that can be spent. */
export interface SpendableGiftCard {
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** When the card was issued, UTC. */
  created_at: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** Value at creation; never changes. */
  initial_value: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at: string | null;
  /** The order line that the card was sold with. */
  line_item_id: number | null;
  /** The API client that created the card. */
  api_client_id: number | null;
  /** The staff user who created the card. */
  user_id: number | null;
  /** The customer assigned through `email`. */
  customer_id: number | null;
  /** The email address of that customer. */
  customer_email: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id: number | null;
  /** The email address of that customer. */
  recipient_email: string | null;
  /** A note for the store, never visible to customers. */
  note: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The message in the gift card email. */
  message: string | null;
  /** The last four characters of the code. */
  last_characters: string;
  /** The order that the card was sold with. */
  order_id: number | null;
  /** The part of the balance that open holds reserve. */
  held: string;
  /** The amount that can be spent: the balance minus open holds; 0 unless the card can be spent. */
  available: string;
  /** The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`. Operations on money return `active` for an empty or scheduled card: only an `active` card can be spent. */
  state: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
}

/** A gift card with everything that the store can read, except its code. */
export interface DetailedGiftCard {
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** When the card was issued, UTC. */
  created_at: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** Value at creation; never changes. */
  initial_value: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at: string | null;
  /** The order line that the card was sold with. */
  line_item_id: number | null;
  /** The API client that created the card. */
  api_client_id: number | null;
  /** The staff user who created the card. */
  user_id: number | null;
  /** The customer assigned through `email`. */
  customer_id: number | null;
  /** The email address of that customer. */
  customer_email: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id: number | null;
  /** The email address of that customer. */
  recipient_email: string | null;
  /** A note for the store, never visible to customers. */
  note: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The message in the gift card email. */
  message: string | null;
  /** The last four characters of the code. */
  last_characters: string;
  /** The order that the card was sold with. */
  order_id: number | null;
  /** The part of the balance that open holds reserve. */
  held: string;
  /** The amount that can be spent: the balance minus open holds; 0 unless the card can be spent. */
  available: string;
  /** The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`. An empty or scheduled card can be used like an `active` one. */
  state: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
  /** When the card was suspended; null if it is not suspended. */
  suspended_at: string | null;
  /** Why the card is suspended, for the store only; null: no reason, or it is not suspended. */
  suspend_reason: string | null;
  /** The status of the newest email with the card’s code. `none`: there is no such email. `scheduled` until it is due, `queued` until the first attempt, `deferred` until the next one. `sent`: a mail server accepted it. `kept`: the service has no mail server, so the email is on its machine and was not sent. `bounced`: rejected permanently. `dead`: not delivered in 72 hours. `cancelled`: obsolete. */
  email_status:
    'none' | 'scheduled' | 'queued' | 'deferred' | 'sent' | 'kept' | 'bounced' | 'dead' | 'cancelled';
  /** The name of the person who gives the card. */
  sender_name: string | null;
  /** The name of the person who receives the card. */
  recipient_name: string | null;
  /** The store’s own tags, in the order in which they were sent. */
  tags: string[];
  /** The caller’s own id of the card, of visible ASCII characters. */
  external_id: string | null;
  /** The design of the card; null: the store’s default. */
  design: string | null;
}

/** A gift card in a list: all fields, or those that `fields` lists. */
export interface ListedGiftCard {
  /** Identifier of the gift card, below 2^53. */
  id?: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance?: string;
  /** When the card was issued, UTC. */
  created_at?: string;
  /** ISO 4217 code: the store’s currency. */
  currency?: string;
  /** Value at creation; never changes. */
  initial_value?: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at?: string | null;
  /** The order line that the card was sold with. */
  line_item_id?: number | null;
  /** The API client that created the card. */
  api_client_id?: number | null;
  /** The staff user who created the card. */
  user_id?: number | null;
  /** The customer assigned through `email`. */
  customer_id?: number | null;
  /** The email address of that customer. */
  customer_email?: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id?: number | null;
  /** The email address of that customer. */
  recipient_email?: string | null;
  /** A note for the store, never visible to customers. */
  note?: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on?: string | null;
  /** The message in the gift card email. */
  message?: string | null;
  /** The last four characters of the code. */
  last_characters?: string;
  /** The order that the card was sold with. */
  order_id?: number | null;
  /** The part of the balance that open holds reserve. */
  held?: string;
  /** The amount that can be spent: the balance minus open holds; 0 unless the card can be spent. */
  available?: string;
  /** The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`. An empty or scheduled card can be used like an `active` one. */
  state?: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
  /** When the card was suspended; null if it is not suspended. */
  suspended_at?: string | null;
  /** Why the card is suspended, for the store only; null: no reason, or it is not suspended. */
  suspend_reason?: string | null;
  /** The status of the newest email with the card’s code. `none`: there is no such email. `scheduled` until it is due, `queued` until the first attempt, `deferred` until the next one. `sent`: a mail server accepted it. `kept`: the service has no mail server, so the email is on its machine and was not sent. `bounced`: rejected permanently. `dead`: not delivered in 72 hours. `cancelled`: obsolete. */
  email_status?:
    'none' | 'scheduled' | 'queued' | 'deferred' | 'sent' | 'kept' | 'bounced' | 'dead' | 'cancelled';
  /** The name of the person who gives the card. */
  sender_name?: string | null;
  /** The name of the person who receives the card. */
  recipient_name?: string | null;
  /** The store’s own tags, in the order in which they were sent. */
  tags?: string[];
  /** The caller’s own id of the card, of visible ASCII characters. */
  external_id?: string | null;
  /** The design of the card; null: the store’s default. */
  design?: string | null;
}

/** A gift card for a caller without `read_gift_cards`. */
export interface TillGiftCard {
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** The part of the balance that open holds reserve. */
  held: string;
  /** The amount that can be spent: the balance minus open holds; 0 unless the card can be spent. */
  available: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`. Operations on money return `active` for an empty or scheduled card: only an `active` card can be spent. */
  state: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
  /** The last four characters of the code. */
  last_characters: string;
}

/** The amount of a gift card that can be spent. */
export interface GiftCardBalance {
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** The part of the balance that open holds reserve. */
  held: string;
  /** The amount that can be spent: the balance minus open holds; 0 unless the card can be spent. */
  available: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`. Operations on money return `active` for an empty or scheduled card: only an `active` card can be spent. */
  state: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
}

/** One entry of the ledger. */
export interface Transaction {
  id: number;
  gift_card_id: number;
  /** `adjustment`: an update of the balance. `capture`: a debit of an amount that a hold reserved. `top_up`: a credit that is a sale. */
  kind: 'issue' | 'adjustment' | 'debit' | 'credit' | 'top_up' | 'capture' | 'reversal';
  /** The change of the balance: negative if it decreased. */
  amount: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  balance_after: string;
  /** The caller: `api_client:<id>`, `mcp:<id>` (an agent of that client), or `development`. */
  actor: string;
  reference: string | null;
  note: string | null;
  order_id: number | null;
  /** The order, as text. */
  order_reference: string | null;
  /** The caller’s own id of it. */
  external_id: string | null;
  /** The location where it took place. */
  location_id: number | null;
  hold_id: number | null;
  /** The transaction that this one reverses, in whole or in part. */
  reverses: number | null;
  created_at: string;
}

/** An entry of a gift card’s history. */
export interface HistoryEntry {
  /** The id of the change, or of the first transaction for `created`. */
  id: number;
  /** `expired`: the last valid day has passed. `recording_began`: the card is older than the record of changes, so changes between its creation and this entry are unknown. */
  kind: 'created' | 'changed' | 'expired' | 'recording_began';
  created_at: string;
  /** The caller: `api_client:<id>`, `mcp:<id>` (an agent of that client), or `development`; null if it was not a request. */
  actor: string | null;
  /** The state of the card after the entry; `active` for an empty or scheduled card. */
  state: 'disabled' | 'expired' | 'suspended' | 'empty' | 'scheduled' | 'active';
  changes: {
    /** `code`: the card has another code. The values are the last characters of both. */
    field:
      | 'expires_on'
      | 'disabled_at'
      | 'note'
      | 'message'
      | 'sender_name'
      | 'recipient_name'
      | 'tags'
      | 'external_id'
      | 'design'
      | 'code'
      | 'suspended_at'
      | 'suspend_reason';
    old: string | string[] | null;
    new: string | string[] | null;
    /** Whether the values were erased for privacy, and are null for that reason. */
    is_erased: boolean;
  }[];
}

/** A reserved amount of a gift card. */
export interface Hold {
  id: number;
  gift_card_id: number;
  status: 'open' | 'captured' | 'voided' | 'expired';
  amount: string;
  captured_amount: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** The caller: `api_client:<id>`, `mcp:<id>` (an agent of that client), or `development`. */
  actor: string;
  reference: string | null;
  note: string | null;
  order_id: number | null;
  /** The order, as text. */
  order_reference: string | null;
  /** The caller’s own id of it. */
  external_id: string | null;
  /** The location where it took place. */
  location_id: number | null;
  created_at: string;
  expires_at: string;
  closed_at: string | null;
}

/** A customer of the store. */
export interface Customer {
  id: number;
  /** The email address, as first received. */
  email: string;
  /** The customer’s id on the storefront. */
  storefront_customer_id: number | null;
  created_at: string;
}

/** The erasure of a customer. */
export interface Erasure {
  customer_id: number;
  /** `running`: the personal data is being erased, in small steps. */
  status: 'running' | 'complete';
  /** Whether notes and references are erased. */
  erase_notes: boolean;
  requested_at: string;
  completed_at: string | null;
  /** Gift cards from which the customer was removed. */
  gift_cards: number;
  /** Emails from which the address was removed. */
  emails: number;
  /** Events that were redacted. */
  events: number;
  /** Notes and references that were erased. */
  texts_erased: number;
  /** Without `erase_notes`: records with a note or reference that contains the address, which was not erased. */
  texts_left: number;
  /** Gift cards whose email with the code was cancelled: their codes were not sent. */
  unsent_gift_cards: number;
  /** The first 100 of them. */
  unsent_gift_card_ids: number[];
}

/** Gift cards that are issued with one request. */
export interface Batch {
  id: number;
  /** The caller’s name of the batch. */
  name: string | null;
  /** `running`: its gift cards are being issued. `complete`: all of them were issued, except `failed`. */
  state: 'running' | 'complete';
  /** The number of gift cards. */
  count: number;
  /** Gift cards that were issued so far. */
  issued: number;
  /** Gift cards that could not be issued, because a parameter became invalid after the request, such as a code that another request used first. */
  failed: number;
  /** The store’s currency. */
  currency: string;
  /** The sum of the values of all gift cards. */
  total: string;
  /** The sum of the values of those that were issued so far. */
  issued_total: string;
  created_at: string;
  completed_at: string | null;
  /** Until when the codes can be read. null: the batch is running, and they can be read; or they were erased; or all gift cards were emailed. */
  codes_until: string | null;
}

/** Why a gift card of a batch was not issued. */
export interface BatchFailure {
  /** The place of the gift card in the batch, from 0. */
  index: number;
  /** The parameter that the error concerns. */
  field: string | null;
  /** Reads after the name of the parameter. */
  message: string;
}

/** A gift card of a batch. */
export interface BatchGiftCard {
  /** The place of the gift card in the batch, from 0. */
  index: number;
  /** Identifier of the gift card, below 2^53. */
  id: number;
  /** Current balance, with exactly the currency’s decimals. */
  balance: string;
  /** When the card was issued, UTC. */
  created_at: string;
  /** ISO 4217 code: the store’s currency. */
  currency: string;
  /** Value at creation; never changes. */
  initial_value: string;
  /** When the card was disabled; null if it is not disabled. */
  disabled_at: string | null;
  /** The order line that the card was sold with. */
  line_item_id: number | null;
  /** The API client that created the card. */
  api_client_id: number | null;
  /** The staff user who created the card. */
  user_id: number | null;
  /** The customer assigned through `email`. */
  customer_id: number | null;
  /** The email address of that customer. */
  customer_email: string | null;
  /** The customer assigned through `recipient_email`. */
  recipient_id: number | null;
  /** The email address of that customer. */
  recipient_email: string | null;
  /** A note for the store, never visible to customers. */
  note: string | null;
  /** The last day on which the card is valid, in the store’s time zone; null: never expires. */
  expires_on: string | null;
  /** The message in the gift card email. */
  message: string | null;
  /** The last four characters of the code. */
  last_characters: string;
  /** The order that the card was sold with. */
  order_id: number | null;
  /** The full code. null: the gift card was emailed, `codes_until` has passed, or the caller lacks `write_gift_cards`. */
  code: string | null;
}

/** Printed codes without money. */
export interface Stock {
  id: number;
  /** The caller’s name of the stock. */
  name: string | null;
  /** `running`: its codes are being added. `complete`: all of them were added, except `failed`. */
  state: 'running' | 'complete';
  /** The number of codes. */
  count: number;
  /** Codes that were added so far: the sum of the next three. */
  printed: number;
  /** Codes that were activated. */
  sold: number;
  /** Codes that can be activated. */
  left: number;
  /** Codes that were voided. */
  voided: number;
  /** Codes that could not be added, because the store used them after the request. */
  failed: number;
  /** The store’s currency. */
  currency: string;
  /** The value of each gift card. null: it is open. */
  fixed_value: string | null;
  /** The lowest value of a gift card. null: the value is fixed. */
  minimum_value: string | null;
  /** The highest value of a gift card. null: the value is fixed. */
  maximum_value: string | null;
  /** How many months a gift card is valid after its activation. null: it never expires. */
  valid_months: number | null;
  created_at: string;
  completed_at: string | null;
  /** Until when the codes can be downloaded. null: they are being added, and can be downloaded; or they were erased. */
  codes_until: string | null;
}

/** Why a code was not added to its stock. */
export interface StockFailure {
  /** The place of the code in the stock, from 0. */
  index: number;
  /** Reads after the name of the parameter. */
  message: string;
}

/** A code that is left. */
export interface StockCode {
  /** The place of the code in the stock, from 0. */
  index: number;
  /** The code. */
  code: string;
}

/** An email about a gift card, and its delivery. */
export interface EmailDelivery {
  id: number;
  gift_card_id: number;
  /** `gift_card`: the card itself. `receipt`: for a customer who bought the card for another recipient. `top_up`: for the holder of a card to which money was added. `expiry_reminder`, `balance_reminder`: reminders. `delivery_failed`: a notice to the customer that the email to the recipient did not arrive. */
  kind: 'gift_card' | 'receipt' | 'top_up' | 'expiry_reminder' | 'balance_reminder' | 'delivery_failed';
  /** The email address that it is sent to; null if the person was erased. */
  recipient: string | null;
  status: 'scheduled' | 'queued' | 'deferred' | 'sent' | 'kept' | 'bounced' | 'dead' | 'cancelled';
  /** Its Message-ID, the same on every attempt. */
  message_id: string;
  /** When it is or was due. */
  send_at: string;
  created_at: string;
  /** The number of attempts started. */
  attempts: number;
  /** null after the last attempt. */
  next_attempt_at: string | null;
  last_attempt: {
    attempted_at: string;
    /** The mail server’s last response, on one line; null if it sent none. */
    response: string | null;
    failure: {
      reason: 'no-response';
      detail: string;
    } | null;
  } | null;
  /** Why it was cancelled; null if it was not. */
  cancel_reason: string | null;
  ended_at: string | null;
}

/** A signed statement of the size and the root of the store’s log. A client that keeps it detects a later change of an entry that it covers. */
export interface Checkpoint {
  id: number;
  /** The number of entries in the log. */
  size: number;
  /** The root of the log’s tree, base64. */
  root: string;
  created_at: string;
  /** The day that ended before a daily checkpoint, in the store’s time zone; null: created on demand. */
  day: string | null;
  /** The checkpoint as a signed note (c2sp.org/tlog-checkpoint): name of the log, size, root, and signatures. */
  note: string;
}

/** The clock of a sandbox. */
export interface TestClock {
  /** The time of the sandbox. */
  now: string;
  /** The end of the advance in progress; null: there is none. */
  advancing_to: string | null;
  /** The counts of the last advance, in all stores of the sandbox. */
  done: {
    /** Holds that have expired. */
    holds_expired: number;
    /** Cards that have expired. */
    cards_expired: number;
    /** Cards whose expiry was announced. */
    cards_expiring_soon: number;
    /** Emails that were kept or cancelled. */
    emails: number;
    /** Attempts to deliver an event, retries included. */
    webhook_attempts: number;
    /** Days of the books that were closed. */
    days_closed: number;
  };
}

/** The store’s log and its public keys. */
export interface Log {
  /** The first line of each checkpoint. */
  name: string;
  /** The number of entries at present. */
  size: number;
  /** The current key, and then those before it. */
  keys: {
    /** The verifier key (c2sp.org/signed-note): name of the log, key id and public key. */
    key: string;
    /** When it first signed a checkpoint; null: it has signed none yet. */
    created_at: string | null;
    /** Whether new checkpoints are signed with it. */
    is_current: boolean;
  }[];
}

/** A proof that the log with `to` entries begins with the log with `from` entries (RFC 9162, section 2.1.4). */
export interface Consistency {
  from: number;
  to: number;
  /** The hashes of the proof, base64. */
  hashes: string[];
}

/** A part of the leaves of the log. */
export interface LeafRange {
  /** The number of leaves before these. */
  after: number;
  /** The present number of entries in the log. */
  size: number;
  /** The leaves in their order: SHA-256 of a zero byte and the hash of the entry, base64. */
  hashes: string[];
}

/** The two chains of a gift card, and proofs that the log contains them. */
export interface GiftCardProof {
  /** The card’s transactions, oldest first. */
  entries: {
    /** The text that was hashed. */
    content: string;
    /** SHA-256 of the hash of the entry before (32 zero bytes before the first) and the content, base64. */
    hash: string;
  }[];
  /** The number of entries of the whole chain. */
  length: number;
  /** The number of the proven entry in the chain, from 1; 0: none. */
  proven: number;
  /** Proves that the log contains the entry that `proven` counts (c2sp.org/tlog-proof@v1), with a checkpoint of the log as it is now. The leaf is SHA-256 of a zero byte and the hash of the entry. null: the log contains none of the newest entries yet, or there are none. */
  proof: string | null;
  /** The card’s other changes, oldest first. */
  changes: {
    /** The text that was hashed. */
    content: string;
    /** SHA-256 of the hash of the entry before (32 zero bytes before the first) and the content, base64. */
    hash: string;
  }[];
  /** The number of entries of the whole chain. */
  changes_length: number;
  /** The number of the proven entry in the chain, from 1; 0: none. */
  changes_proven: number;
  /** Proves that the log contains the entry that `proven` counts (c2sp.org/tlog-proof@v1), with a checkpoint of the log as it is now. The leaf is SHA-256 of a zero byte and the hash of the entry. null: the log contains none of the newest entries yet, or there are none. */
  changes_proof: string | null;
}

/** A change in the store. */
export interface Event {
  id: number;
  type:
    | 'gift_card.created'
    | 'gift_card.updated'
    | 'gift_card.disabled'
    | 'gift_card.suspended'
    | 'gift_card.resumed'
    | 'gift_card.redeemed'
    | 'gift_card.credited'
    | 'gift_card.reversed'
    | 'gift_card.held'
    | 'gift_card.hold_extended'
    | 'gift_card.hold_released'
    | 'gift_card.expired'
    | 'gift_card.expiring_soon'
    | 'gift_card.code_rotated'
    | 'gift_card.retired_code_used'
    | 'gift_card.delivery_failed'
    | 'customer.created'
    | 'checkpoint.created'
    | 'customer.erased'
    | 'batch.completed'
    | 'stock.completed'
    | 'stock.codes_read'
    | 'stock.voided'
    | 'stock.code_tried'
    | 'webhook.test'
    | 'webhook.paused';
  /** The store’s domain. */
  store: string;
  created_at: string;
  /** The version of the card after the event; 0 for an event that is not about a card. */
  sequence: number;
  /** The records concerned, as they were at that time. */
  data: {
    /** A gift card. */
    gift_card?: GiftCard;
    /** The fields of the record that changed. */
    changed?: string[];
    /** One entry of the ledger. */
    transaction?: Transaction;
    /** A reserved amount of a gift card. */
    hold?: Hold;
    /** A customer, with the email address as first received; null if the customer was erased. */
    customer?: {
      id: number;
      email: string | null;
      storefront_customer_id: number | null;
    };
    /** A URL that receives events. */
    webhook?: Webhook;
    /** An email about a gift card, and its delivery. */
    delivery?: EmailDelivery;
    /** A signed statement of the size and the root of the store’s log. A client that keeps it detects a later change of an entry that it covers. */
    checkpoint?: Checkpoint;
    /** Gift cards that are issued with one request. */
    batch?: Batch;
    /** Printed codes without money. */
    stock?: Stock;
    /** The caller that read or voided the codes of a stock. */
    actor?: string;
    /** How many codes of a stock were voided. */
    codes?: number;
  };
}

/** A URL that receives events. */
export interface Webhook {
  id: number;
  /** The URL that events are posted to, normalized. */
  url: string;
  /** The events that are sent. */
  events: string[];
  status: 'active' | 'paused';
  paused_at: string | null;
  /** `requested`: by the store. `failures`: every attempt failed for 72 hours. `gone`: the receiver responded with 410. null: not paused. */
  pause_reason: 'requested' | 'failures' | 'gone' | null;
  /** The time of the first failure since the last success; null if there is none. */
  failing_since: string | null;
  /** How that attempt failed. */
  failure: string | null;
  /** Until when messages also carry a signature of the previous secret. */
  previous_secret_until: string | null;
  created_at: string;
  updated_at: string;
}

/** A shop of the store. */
export interface Location {
  id: number;
  name: string;
  address: string | null;
  /** The time zone of its receipts; null: the store’s. */
  time_zone: string | null;
  /** Whether it accepts no new movements. */
  closed: boolean;
  closed_at: string | null;
  created_at: string;
}

/** A webhook with its secret. */
export interface WebhookWithSecret {
  id: number;
  /** The URL that events are posted to, normalized. */
  url: string;
  /** The events that are sent. */
  events: string[];
  status: 'active' | 'paused';
  paused_at: string | null;
  /** `requested`: by the store. `failures`: every attempt failed for 72 hours. `gone`: the receiver responded with 410. null: not paused. */
  pause_reason: 'requested' | 'failures' | 'gone' | null;
  /** The time of the first failure since the last success; null if there is none. */
  failing_since: string | null;
  /** How that attempt failed. */
  failure: string | null;
  /** Until when messages also carry a signature of the previous secret. */
  previous_secret_until: string | null;
  created_at: string;
  updated_at: string;
  /** The signing secret. It is returned only once. */
  secret: string;
}

/** One event for one webhook. */
export interface Delivery {
  event_id: number;
  event_type: string;
  webhook_id: number;
  status: 'queued' | 'retrying' | 'delivered' | 'dead';
  created_at: string;
  attempts: number;
  /** When the next attempt is due. During an attempt: when another process retries if this one does not finish. null after the last attempt. */
  next_attempt_at: string | null;
  last_attempt: {
    attempted_at: string;
    duration_ms: number;
    response: {
      status: number;
      /** The first 4 KiB. */
      body: string;
    } | null;
    failure: {
      reason: string;
      detail: string;
    } | null;
  } | null;
}

/** A delivery with all its attempts. */
export interface LoggedDelivery {
  event_id: number;
  event_type: string;
  webhook_id: number;
  status: 'queued' | 'retrying' | 'delivered' | 'dead';
  created_at: string;
  attempts: number;
  /** When the next attempt is due. During an attempt: when another process retries if this one does not finish. null after the last attempt. */
  next_attempt_at: string | null;
  last_attempt: {
    attempted_at: string;
    duration_ms: number;
    response: {
      status: number;
      /** The first 4 KiB. */
      body: string;
    } | null;
    failure: {
      reason: string;
      detail: string;
    } | null;
  } | null;
  /** Every attempt, oldest first. */
  log: {
    attempted_at: string;
    duration_ms: number;
    response: {
      status: number;
      /** The first 4 KiB. */
      body: string;
    } | null;
    failure: {
      reason: string;
      detail: string;
    } | null;
  }[];
}

/** The liability of a store to the holders of its cards. */
export interface Liability {
  /** The moment of the report, as it was requested. */
  as_of: string;
  currency: string;
  /** An amount with exactly the currency’s decimals. */
  issued: string;
  /** An amount with exactly the currency’s decimals. */
  topped_up: string;
  /** An amount with exactly the currency’s decimals. */
  redeemed: string;
  /** An amount with exactly the currency’s decimals. */
  refunded: string;
  /** An amount with exactly the currency’s decimals. */
  adjusted: string;
  /** An amount with exactly the currency’s decimals. */
  outstanding: string;
  /** The VAT in `outstanding` that was due at the sale of single-purpose cards. */
  outstanding_vat: string;
  /** `outstanding` − `outstanding_vat`: the contract liability (deferred revenue), the sum of the liability accounts of the journal. */
  outstanding_net: string;
  /** The balances of cards that are neither disabled nor expired, minus `on_hold`. */
  available: string;
  /** The amount that open holds reserve on these cards. */
  on_hold: string;
  /** How much of `available` and `on_hold` is on suspended cards. */
  suspended: string;
  /** An amount with exactly the currency’s decimals. */
  expired: string;
  /** An amount with exactly the currency’s decimals. */
  disabled: string;
  /** Without the VAT that was due at the sale: the balance of the account in the journal. */
  active_net: string;
  /** Without the VAT that was due at the sale: the balance of the account in the journal. */
  expired_net: string;
  /** Without the VAT that was due at the sale: the balance of the account in the journal. */
  disabled_net: string;
  cards: number;
  cards_active: number;
  /** How many of `cards_active` are suspended. */
  cards_suspended: number;
  cards_expired: number;
  cards_disabled: number;
}

/** The double-entry lines of a period. */
export interface Journal {
  from: string;
  to: string;
  currency: string;
  /** An amount with exactly the currency’s decimals. */
  opening: string;
  /** An amount with exactly the currency’s decimals. */
  change: string;
  /** The balance of the liability accounts, without the VAT that was due at the sale. */
  closing: string;
  /** The sum of the cards’ balances, with VAT. */
  closing_gross: string;
  /** An amount with exactly the currency’s decimals. */
  debits: string;
  /** An amount with exactly the currency’s decimals. */
  credits: string;
  lines: {
    day: string;
    /** The kind of the transactions, `cancellation` for reversals of issues, or `expire`, `unexpire`, `disable` or `enable` for cards whose state changed. */
    kind: string;
    /** The store’s name of the account. */
    account: string;
    /** An amount with exactly the currency’s decimals. */
    debit: string;
    /** An amount with exactly the currency’s decimals. */
    credit: string;
    vat_kind: string | null;
    vat_rate: string | null;
    /** When the tax on the line is due; null: the line is not the counterpart of a taxable supply. */
    vat_due: 'at_sale' | 'at_redemption' | null;
    /** `gross_amount` − `vat_amount`. */
    net_amount: string;
    /** The VAT in `gross_amount` that is due at the sale; negative on `sales` and `top_ups` if it is to be returned. Null: no rate is recorded. */
    vat_amount: string | null;
    /** The change of the balances behind the line, with VAT; negative if it lowers them. The accounts of sales and top-ups are debited or credited with it, `vat_payable` with `vat_amount`, and all others with `net_amount`. */
    gross_amount: string;
    /** With `by=location`: where the transactions took place; null: at no location. */
    location_id: number | null;
    /** With `by=location`: the name of the location. */
    location: string | null;
  }[];
}

/** The liability by the month of issue. */
export interface Aging {
  as_of: string;
  currency: string;
  /** An amount with exactly the currency’s decimals. */
  outstanding: string;
  /** The VAT in `outstanding` that was due at the sale of single-purpose cards. */
  outstanding_vat: string;
  /** `outstanding` − `outstanding_vat`: the contract liability (deferred revenue), the sum of the liability accounts of the journal. */
  outstanding_net: string;
  months: {
    /** The month of issue. */
    issued: string;
    /** An amount with exactly the currency’s decimals. */
    outstanding: string;
    /** The VAT in `outstanding` that was due at the sale of single-purpose cards. */
    outstanding_vat: string;
    /** `outstanding` − `outstanding_vat`: the contract liability (deferred revenue), the sum of the liability accounts of the journal. */
    outstanding_net: string;
    /** An amount with exactly the currency’s decimals. */
    active: string;
    /** An amount with exactly the currency’s decimals. */
    expired: string;
    /** An amount with exactly the currency’s decimals. */
    disabled: string;
    /** Without the VAT that was due at the sale: the balance of the account in the journal. */
    active_net: string;
    /** Without the VAT that was due at the sale: the balance of the account in the journal. */
    expired_net: string;
    /** Without the VAT that was due at the sale: the balance of the account in the journal. */
    disabled_net: string;
    /** Issued and topped up until the moment of the report, without cancelled sales. */
    issued_to_date: string;
    /** Without the VAT that was due at the sale. */
    issued_to_date_net: string;
    /** Redeemed until the moment of the report, less refunds. */
    redeemed_to_date: string;
    /** Without the VAT that was due at the sale. */
    redeemed_to_date_net: string;
    /** `outstanding` is `issued_to_date` − `redeemed_to_date` + `adjusted_to_date`. */
    adjusted_to_date: string;
    cards: number;
    cards_active: number;
    cards_expired: number;
    cards_disabled: number;
  }[];
}

/** The transactions of a period, grouped. */
export interface Activity {
  by: 'day' | 'month' | 'actor' | 'location';
  from: string;
  to: string;
  currency: string;
  rows: {
    /** The day, month, actor or id of the location; null: the transactions at no location. */
    group: string | null;
    transactions: number;
    /** An amount with exactly the currency’s decimals. */
    issued: string;
    /** An amount with exactly the currency’s decimals. */
    topped_up: string;
    /** An amount with exactly the currency’s decimals. */
    redeemed: string;
    /** An amount with exactly the currency’s decimals. */
    refunded: string;
    /** An amount with exactly the currency’s decimals. */
    adjusted: string;
    /** An amount with exactly the currency’s decimals. */
    change: string;
    /** With `by=location`: the name of the location. */
    location: string | null;
  }[];
}

/** The expired balances of a period by month. */
export interface Breakage {
  from: string;
  to: string;
  currency: string;
  /** An amount with exactly the currency’s decimals. */
  opening: string;
  /** An amount with exactly the currency’s decimals. */
  closing: string;
  /** An amount with exactly the currency’s decimals. */
  closing_net: string;
  months: {
    month: string;
    /** An amount with exactly the currency’s decimals. */
    opening: string;
    /** An amount with exactly the currency’s decimals. */
    expired: string;
    /** An amount with exactly the currency’s decimals. */
    restored: string;
    /** An amount with exactly the currency’s decimals. */
    disabled: string;
    /** An amount with exactly the currency’s decimals. */
    adjusted: string;
    /** An amount with exactly the currency’s decimals. */
    closing: string;
    /** `expired` without the VAT that was due at the sale. */
    expired_net: string;
    /** `closing` without the VAT that was due at the sale. */
    closing_net: string;
    /** The number of expired cards at the end. */
    cards: number;
  }[];
}

/** An error (RFC 9457). */
export interface Problem {
  /** Ends in the stable code of the error; its documentation is at this path. */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** For invalid parameters: their names and messages, each of which reads after the name. Otherwise the title. */
  errors: string | Record<string, string[]>;
  /** With `insufficient-balance`: the amount that can be spent. */
  available?: string;
  /** With `capture-exceeds-hold`: the amount that the hold reserves. */
  held?: string;
  /** With `reversal-exceeds-transaction`: the amount that can be reversed. */
  reversible?: string;
  /** The value that a printed card is sold for. */
  fixed_value?: string;
  /** The lowest value that a printed card is sold for. */
  minimum_value?: string;
  /** The highest value that a printed card is sold for. */
  maximum_value?: string;
  /** With `not-activated`: when a caller who cannot activate the code last looked for it. */
  tried_at?: string;
  /** With `already-activated`: when the printed card was activated. */
  activated_at?: string;
  /** The same as X-Request-Id: find the request in the log by it. */
  request_id: string;
}

export interface CreateGiftCard {
  /** Optional; must be null. */
  id?: null | undefined;
  /** Optional; must be null. */
  balance?: null | undefined;
  /** Optional; must be null. */
  created_at?: null | undefined;
  /** Optional; must be the store’s currency. */
  currency?: string | null | undefined;
  /** The value of the card, greater than 0. A JSON number or a string in plain decimal notation, in the store’s currency. No more decimals than the currency has (amounts are never rounded), at most 12 digits before the point, and at most the store’s own limit, if it has one. */
  initial_value: string;
  /** Optional; must be null. */
  disabled_at?: null | undefined;
  /** Optional; must be null. */
  line_item_id?: null | undefined;
  /** Optional; must be null. */
  api_client_id?: null | undefined;
  /** Optional; must be null. */
  user_id?: null | undefined;
  /** Optional; must be null. */
  customer_id?: null | undefined;
  /** Optional; must be null. */
  customer_email?: null | undefined;
  /** Optional; must be null. */
  recipient_id?: null | undefined;
  /** The recipient’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
  recipient_email?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The last day on which the card is valid, in the store’s time zone: today or later. null: never expires. */
  expires_on?: string | null | undefined;
  /** The message in the gift card email. Newlines and tabs are the only control characters. "" and null: none. */
  message?: string | null | undefined;
  /** Optional; must be null. */
  last_characters?: null | undefined;
  /** Optional; must be null. */
  order_id?: null | undefined;
  /** Optional; must be null. */
  held?: null | undefined;
  /** Optional; must be null. */
  available?: null | undefined;
  /** Optional; must be null. */
  state?: null | undefined;
  /** Optional; must be null. */
  suspended_at?: null | undefined;
  /** Optional; must be null. */
  suspend_reason?: null | undefined;
  /** Optional; must be null. */
  email_status?: null | undefined;
  /** The name of the person who gives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  sender_name?: string | null | undefined;
  /** The name of the person who receives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  recipient_name?: string | null | undefined;
  /** The store’s own tags: at most 20, each with at most 40 characters on one line, without commas; surrounding spaces do not count. A tag that occurs again is left out; the letters A to Z are compared without regard to case. Replaces all tags of the card; [] and null clear them. In a form, separated by commas. */
  tags?: readonly string[] | null | undefined;
  /** The caller’s own id of the card, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing card, without its code, for ever. */
  external_id?: string | null | undefined;
  /** The design of the card; null: the store’s default. */
  design?:
    | 'plain'
    | 'birthday'
    | 'thank_you'
    | 'wedding'
    | 'baby'
    | 'winter'
    | 'well_done'
    | 'love'
    | null
    | undefined;
  /** The customer’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
  email?: string | null | undefined;
  /** When the card is emailed: a date in the store’s time zone (sent at 9 o’clock, or immediately if it is later than that today), or a date and time with `Z` or an offset. Not in the past, at most a year ahead, and not after `expires_on`. null: immediately. */
  send_on?: string | null | undefined;
  /** false: no email is sent, neither the card nor a receipt. By default the card is emailed to its recipient, or to its customer if it has no recipient, if the store sends email. */
  notify?: boolean | null | undefined;
  /** true: the card is suspended until it is resumed, for example while a payment is checked. Its emails are sent when it is resumed. */
  suspend?: boolean | null | undefined;
  /** The store’s own code, or that of a printed card in stock: 8 to 20 letters or digits, case-insensitive; other characters are ignored. A code that the store has ever used is rejected, and as the code of a new card also a link, a masked code (`xxxx-xxxx-xxxx-9012`), one symbol repeated, a run such as `12345678`, fewer than 4 different symbols, and a code that can be read as that of a printed card. By default the server generates a random code of 16 characters. */
  code?: string | null | undefined;
  /** The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none. */
  storefront_customer_id?: number | null | undefined;
  /** When VAT is due. `single_purpose`: at the sale of the card, at the rate `vat_rate`. `multi_purpose`: when the card is redeemed. Absent: the store’s default. null: none is recorded. */
  vat_kind?: 'single_purpose' | 'multi_purpose' | null | undefined;
  /** The rate in percent of a `single_purpose` card, with at most 3 decimals: required with that kind, and not allowed without it. */
  vat_rate?: string | null | undefined;
  /** required: `code` must be the code of a printed card in stock. By default, and with null, a code in stock is activated, and any other unused code is the code of a new card. */
  stock?: 'required' | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
}

/** Absent fields keep their values. All other fields of a gift card in any response are accepted with their current values, so that a client can send back the record that it read; other values are rejected. */
export interface UpdateGiftCard {
  /** Optional; must equal the current value. A client can send back the record that it read. */
  id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  created_at?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  currency?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  initial_value?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  disabled_at?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  line_item_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  api_client_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  user_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  customer_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  customer_email?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  recipient_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  recipient_email?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  message?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  last_characters?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  order_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  held?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  available?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  state?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  suspended_at?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  suspend_reason?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  email_status?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  external_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  code?: string | null | undefined;
  /** true disables the card permanently. */
  disable?: boolean | undefined;
  /** The new balance, 0 or more; it may exceed the initial value. A JSON number or a string in plain decimal notation, in the store’s currency. No more decimals than the currency has (amounts are never rounded), at most 12 digits before the point, and at most the store’s own limit, if it has one. */
  balance?: string | undefined;
  /** The new last day on which the card is valid, in the store’s time zone. Any day: a past day expires the card now. null: never expires. */
  expires_on?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The name of the person who gives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  sender_name?: string | null | undefined;
  /** The name of the person who receives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  recipient_name?: string | null | undefined;
  /** The store’s own tags: at most 20, each with at most 40 characters on one line, without commas; surrounding spaces do not count. A tag that occurs again is left out; the letters A to Z are compared without regard to case. Replaces all tags of the card; [] and null clear them. In a form, separated by commas. */
  tags?: readonly string[] | null | undefined;
  /** The design of the card; null: the store’s default. */
  design?:
    | 'plain'
    | 'birthday'
    | 'thank_you'
    | 'wedding'
    | 'baby'
    | 'winter'
    | 'well_done'
    | 'love'
    | null
    | undefined;
  /** With `disable`: releases the card’s open holds. Without it, a card with open holds cannot be disabled. */
  release_holds?: boolean | undefined;
}

export interface CreateBatch {
  /** The caller’s name of the batch, on one line of at most 100 characters. */
  name?: string | null | undefined;
  /** The number of equal gift cards, with the other fields of this request. Not with `cards`. */
  count?: number | null | undefined;
  /** The gift cards, at most 10,000, each with the fields of `POST /gift_card`. An error has the place in the list in its name: `cards[12].initial_value`. */
  cards?:
    | readonly {
        /** The value of the card, greater than 0. A JSON number or a string in plain decimal notation, in the store’s currency. No more decimals than the currency has (amounts are never rounded), at most 12 digits before the point, and at most the store’s own limit, if it has one. */
        initial_value: string;
        /** The last day on which the card is valid, in the store’s time zone: today or later. null: never expires. */
        expires_on?: string | null | undefined;
        /** The customer’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
        email?: string | null | undefined;
        /** The recipient’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
        recipient_email?: string | null | undefined;
        /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
        note?: string | null | undefined;
        /** The name of the person who gives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
        sender_name?: string | null | undefined;
        /** The name of the person who receives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
        recipient_name?: string | null | undefined;
        /** The store’s own tags: at most 20, each with at most 40 characters on one line, without commas; surrounding spaces do not count. A tag that occurs again is left out; the letters A to Z are compared without regard to case. Replaces all tags of the card; [] and null clear them. In a form, separated by commas. */
        tags?: readonly string[] | null | undefined;
        /** The design of the card; null: the store’s default. */
        design?:
          | 'plain'
          | 'birthday'
          | 'thank_you'
          | 'wedding'
          | 'baby'
          | 'winter'
          | 'well_done'
          | 'love'
          | null
          | undefined;
        /** The message in the gift card email. Newlines and tabs are the only control characters. "" and null: none. */
        message?: string | null | undefined;
        /** The caller’s own id of the card, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing card, without its code, for ever. */
        external_id?: string | null | undefined;
        /** When the card is emailed: a date in the store’s time zone (sent at 9 o’clock, or immediately if it is later than that today), or a date and time with `Z` or an offset. Not in the past, at most a year ahead, and not after `expires_on`. null: immediately. */
        send_on?: string | null | undefined;
        /** false: no email is sent, neither the card nor a receipt. By default the card is emailed to its recipient, or to its customer if it has no recipient, if the store sends email. */
        notify?: boolean | null | undefined;
        /** true: the card is suspended until it is resumed, for example while a payment is checked. Its emails are sent when it is resumed. */
        suspend?: boolean | null | undefined;
        /** The store’s own code, or that of a printed card in stock: 8 to 20 letters or digits, case-insensitive; other characters are ignored. A code that the store has ever used is rejected, and as the code of a new card also a link, a masked code (`xxxx-xxxx-xxxx-9012`), one symbol repeated, a run such as `12345678`, fewer than 4 different symbols, and a code that can be read as that of a printed card. By default the server generates a random code of 16 characters. */
        code?: string | null | undefined;
        /** The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none. */
        storefront_customer_id?: number | null | undefined;
        /** When VAT is due. `single_purpose`: at the sale of the card, at the rate `vat_rate`. `multi_purpose`: when the card is redeemed. Absent: the store’s default. null: none is recorded. */
        vat_kind?: 'single_purpose' | 'multi_purpose' | null | undefined;
        /** The rate in percent of a `single_purpose` card, with at most 3 decimals: required with that kind, and not allowed without it. */
        vat_rate?: string | null | undefined;
        /** Optional; must be the store’s currency. */
        currency?: string | null | undefined;
      }[]
    | undefined;
  /** The number of gift cards that the caller expects. If it differs, nothing is issued. */
  expected_count?: number | null | undefined;
  /** The sum of the values that the caller expects. If it differs, nothing is issued. */
  expected_total?: string | null | undefined;
  /** The value of the card, greater than 0. A JSON number or a string in plain decimal notation, in the store’s currency. No more decimals than the currency has (amounts are never rounded), at most 12 digits before the point, and at most the store’s own limit, if it has one. */
  initial_value?: string | undefined;
  /** The last day on which the card is valid, in the store’s time zone: today or later. null: never expires. */
  expires_on?: string | null | undefined;
  /** The customer’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
  email?: string | null | undefined;
  /** The recipient’s email address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address. */
  recipient_email?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The name of the person who gives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  sender_name?: string | null | undefined;
  /** The name of the person who receives the card, for emails: at most 100 characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it. */
  recipient_name?: string | null | undefined;
  /** The store’s own tags: at most 20, each with at most 40 characters on one line, without commas; surrounding spaces do not count. A tag that occurs again is left out; the letters A to Z are compared without regard to case. Replaces all tags of the card; [] and null clear them. In a form, separated by commas. */
  tags?: readonly string[] | null | undefined;
  /** The design of the card; null: the store’s default. */
  design?:
    | 'plain'
    | 'birthday'
    | 'thank_you'
    | 'wedding'
    | 'baby'
    | 'winter'
    | 'well_done'
    | 'love'
    | null
    | undefined;
  /** The message in the gift card email. Newlines and tabs are the only control characters. "" and null: none. */
  message?: string | null | undefined;
  /** When the card is emailed: a date in the store’s time zone (sent at 9 o’clock, or immediately if it is later than that today), or a date and time with `Z` or an offset. Not in the past, at most a year ahead, and not after `expires_on`. null: immediately. */
  send_on?: string | null | undefined;
  /** false: no email is sent, neither the card nor a receipt. By default the card is emailed to its recipient, or to its customer if it has no recipient, if the store sends email. */
  notify?: boolean | null | undefined;
  /** true: the card is suspended until it is resumed, for example while a payment is checked. Its emails are sent when it is resumed. */
  suspend?: boolean | null | undefined;
  /** When VAT is due. `single_purpose`: at the sale of the card, at the rate `vat_rate`. `multi_purpose`: when the card is redeemed. Absent: the store’s default. null: none is recorded. */
  vat_kind?: 'single_purpose' | 'multi_purpose' | null | undefined;
  /** The rate in percent of a `single_purpose` card, with at most 3 decimals: required with that kind, and not allowed without it. */
  vat_rate?: string | null | undefined;
  /** Optional; must be the store’s currency. */
  currency?: string | null | undefined;
}

export interface CreateStock {
  /** The caller’s name of the stock, on one line of at most 100 characters. */
  name?: string | null | undefined;
  /** The number of codes that the service generates. Not with `codes`. */
  count?: number | null | undefined;
  /** The store’s own codes, at most 10,000, each as `code` of `POST /gift_card`. An error has the place in the list in its name: `codes[12]`. */
  codes?: readonly string[] | null | undefined;
  /** The value of each gift card. By default, and with null, the value is open. */
  fixed_value?: string | null | undefined;
  /** The lowest value of a gift card whose value is open. By default the smallest amount. */
  minimum_value?: string | null | undefined;
  /** The highest value of a gift card whose value is open. By default the store’s limit. */
  maximum_value?: string | null | undefined;
  /** How many months a gift card is valid after its activation. By default it never expires. */
  valid_months?: number | null | undefined;
}

export interface VoidStock {
  /** The codes to void, at most 10,000: all of them or none. By default, and with null, all that are left. */
  codes?: readonly string[] | null | undefined;
}

export interface LookUp {
  /** The full code of 8 to 20 letters or digits, as a person typed or a scanner read it. A link to the page of the card is its code; what scanners and magnetic stripes add, quotation marks and a label such as `Code:` are removed, and all other characters are ignored. If the store has never used the code as it is, its other readings are tried in the same lookup, and the first that the store has used counts: O for 0, I and L for 1; the same keys on a German, Swiss, French or Belgian keyboard; of digits, one leading zero more or less. */
  code: string;
  /** The email address of the card’s customer or recipient. It is compared only while the failed lookups of all visitors are used up: then a code that the store chose is not found without it. */
  email?: string | null | undefined;
}

export interface Redeem {
  /** The full code of 8 to 20 letters or digits, as a person typed or a scanner read it. A link to the page of the card is its code; what scanners and magnetic stripes add, quotation marks and a label such as `Code:` are removed, and all other characters are ignored. If the store has never used the code as it is, its other readings are tried in the same lookup, and the first that the store has used counts: O for 0, I and L for 1; the same keys on a German, Swiss, French or Belgian keyboard; of digits, one leading zero more or less. */
  code: string;
  /** The email address of the card’s customer or recipient. It is compared only while the failed lookups of all visitors are used up: then a code that the store chose is not found without it. */
  email?: string | null | undefined;
  /** Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Amounts are never rounded. */
  amount: string;
  /** Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`. */
  currency?: string | null | undefined;
  /** The caller’s own name for the transaction, such as a receipt number; at most 255 characters. */
  reference?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The order that it belongs to: an integer below 2^53. */
  order_id?: number | null | undefined;
  /** The order that it belongs to, as text of 1 to 255 characters. */
  order_reference?: string | null | undefined;
  /** The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever. */
  external_id?: string | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
  /** Debit the available amount if it is less than `amount`. */
  partial?: boolean | undefined;
}

export interface Debit {
  /** Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Amounts are never rounded. */
  amount: string;
  /** Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`. */
  currency?: string | null | undefined;
  /** The caller’s own name for the transaction, such as a receipt number; at most 255 characters. */
  reference?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The order that it belongs to: an integer below 2^53. */
  order_id?: number | null | undefined;
  /** The order that it belongs to, as text of 1 to 255 characters. */
  order_reference?: string | null | undefined;
  /** The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever. */
  external_id?: string | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
  /** Debit the available amount if it is less than `amount`. */
  partial?: boolean | undefined;
}

export interface Credit {
  /** Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Amounts are never rounded. */
  amount: string;
  /** Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`. */
  currency?: string | null | undefined;
  /** The caller’s own name for the transaction, such as a receipt number; at most 255 characters. */
  reference?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The order that it belongs to: an integer below 2^53. */
  order_id?: number | null | undefined;
  /** The order that it belongs to, as text of 1 to 255 characters. */
  order_reference?: string | null | undefined;
  /** The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever. */
  external_id?: string | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
  /** `top_up`: more value is sold, in the account `top_ups`. By default, and with null, the kind of the transaction is `credit`. */
  kind?: 'top_up' | null | undefined;
  /** With the kind `top_up`: a later last day on which the card is valid, in the store’s time zone. By default, and with null, the day stays. */
  expires_on?: string | null | undefined;
  /** With the kind `top_up`: false sends no receipt. By default the card’s recipient, or its customer if it has no recipient, gets a receipt by email, if the store sends email. */
  notify?: boolean | null | undefined;
}

export interface Suspend {
  /** Why the card is suspended: for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null: none. */
  reason?: string | null | undefined;
}

export interface CreateHold {
  /** Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Amounts are never rounded. */
  amount: string;
  /** Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`. */
  currency?: string | null | undefined;
  /** The caller’s own name for the transaction, such as a receipt number; at most 255 characters. */
  reference?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The order that it belongs to: an integer below 2^53. */
  order_id?: number | null | undefined;
  /** The order that it belongs to, as text of 1 to 255 characters. */
  order_reference?: string | null | undefined;
  /** The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever. */
  external_id?: string | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
  /** The duration of the hold in seconds: 900 (15 minutes) by default, at most the store’s limit (7 days by default, at most 90). */
  expires_in?: number | null | undefined;
}

export interface ExtendHold {
  /** How long the hold lasts from now, in seconds. A shorter time than it has left changes nothing. */
  expires_in: number;
}

export interface Capture {
  /** Greater than 0, as a JSON number or a string in plain decimal notation. By default, and with null, the whole amount. */
  amount?: string | null | undefined;
  /** The caller’s own name for the transaction, such as a receipt number; at most 255 characters. */
  reference?: string | null | undefined;
  /** A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it. */
  note?: string | null | undefined;
  /** The order that it belongs to: an integer below 2^53. */
  order_id?: number | null | undefined;
  /** The order that it belongs to, as text of 1 to 255 characters. */
  order_reference?: string | null | undefined;
  /** The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever. */
  external_id?: string | null | undefined;
  /** The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default. */
  location_id?: number | null | undefined;
}

export type Reverse = Capture;

export interface CreateLocation {
  /** The name, on one line of at most 100 characters. */
  name: string;
  /** The address, as receipts show it; at most 500 characters. */
  address?: string | null | undefined;
  /** The time zone of its receipts, as an IANA name; null: the store’s. The days of reports are the store’s. */
  time_zone?: string | null | undefined;
}

export interface UpdateLocation {
  /** The name, on one line of at most 100 characters. */
  name?: string | undefined;
  /** The address, as receipts show it; at most 500 characters. */
  address?: string | null | undefined;
  /** The time zone of its receipts, as an IANA name; null: the store’s. The days of reports are the store’s. */
  time_zone?: string | null | undefined;
  /** Whether the location is closed. */
  closed?: boolean | undefined;
}

export interface UpdateCustomer {
  /** The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none. */
  storefront_customer_id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  id?: number | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  email?: string | null | undefined;
  /** Optional; must equal the current value. A client can send back the record that it read. */
  created_at?: string | null | undefined;
}

export interface EraseCustomer {
  /** Also erases every note and reference of the customer’s gift cards, and those of other gift cards that contain the address. A note for the store can name a person in words that the service does not recognize. */
  erase_notes?: boolean | undefined;
}

export interface Redeliver {
  /** Only this webhook, even if it does not subscribe to such events. By default every active webhook that subscribes to them. */
  webhook_id?: number | null | undefined;
}

export interface CreateWebhook {
  /** The URL that events are posted to: https, on a host on the public internet. Development mode also accepts http and https URLs on this machine, until the database has a real store. */
  url: string;
  /** The events that are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). In a form, separated by commas. */
  events: readonly (
    | '*'
    | 'gift_card.*'
    | 'customer.*'
    | 'checkpoint.*'
    | 'batch.*'
    | 'stock.*'
    | 'webhook.*'
    | 'gift_card.created'
    | 'gift_card.updated'
    | 'gift_card.disabled'
    | 'gift_card.suspended'
    | 'gift_card.resumed'
    | 'gift_card.redeemed'
    | 'gift_card.credited'
    | 'gift_card.reversed'
    | 'gift_card.held'
    | 'gift_card.hold_extended'
    | 'gift_card.hold_released'
    | 'gift_card.expired'
    | 'gift_card.expiring_soon'
    | 'gift_card.code_rotated'
    | 'gift_card.retired_code_used'
    | 'gift_card.delivery_failed'
    | 'customer.created'
    | 'checkpoint.created'
    | 'customer.erased'
    | 'batch.completed'
    | 'stock.completed'
    | 'stock.codes_read'
    | 'stock.voided'
    | 'stock.code_tried'
    | 'webhook.paused'
  )[];
}

export interface UpdateWebhook {
  /** The URL that events are posted to: https, on a host on the public internet. Development mode also accepts http and https URLs on this machine, until the database has a real store. */
  url?: string | undefined;
  /** The events that are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). In a form, separated by commas. */
  events?:
    | readonly (
        | '*'
        | 'gift_card.*'
        | 'customer.*'
        | 'checkpoint.*'
        | 'batch.*'
        | 'stock.*'
        | 'webhook.*'
        | 'gift_card.created'
        | 'gift_card.updated'
        | 'gift_card.disabled'
        | 'gift_card.suspended'
        | 'gift_card.resumed'
        | 'gift_card.redeemed'
        | 'gift_card.credited'
        | 'gift_card.reversed'
        | 'gift_card.held'
        | 'gift_card.hold_extended'
        | 'gift_card.hold_released'
        | 'gift_card.expired'
        | 'gift_card.expiring_soon'
        | 'gift_card.code_rotated'
        | 'gift_card.retired_code_used'
        | 'gift_card.delivery_failed'
        | 'customer.created'
        | 'checkpoint.created'
        | 'customer.erased'
        | 'batch.completed'
        | 'stock.completed'
        | 'stock.codes_read'
        | 'stock.voided'
        | 'stock.code_tried'
        | 'webhook.paused'
      )[]
    | undefined;
  /** true: nothing is sent, and new events are not queued for this webhook. false: resumes it and sends the deliveries that are queued. */
  paused?: boolean | undefined;
}

/** Either `advance_seconds` or `to`. */
export interface TestClockAdvance {
  /** By how many seconds the clock moves forward, at most 10 years. Either this or `to`. */
  advance_seconds?: number | undefined;
  /** The time to which the clock moves, with seconds, and `Z` or an offset: later than its time, at most 10 years. Either this or `advance_seconds`. */
  to?: string | undefined;
}

export interface CreateGiftCardResult {
  gift_card: IssuedGiftCard;
}

export interface CreateGiftCardRepetitionResult {
  gift_card: GiftCard;
}

export type SearchGiftCardResult = CreateGiftCardRepetitionResult;

export type RetrieveGiftCardResult = CreateGiftCardRepetitionResult;

export type UpdateGiftCardResult = CreateGiftCardRepetitionResult;

export interface ListGiftCardsResult {
  gift_cards: ListedGiftCard[];
  /** The `cursor` of the next page; null: this is the last page. */
  next_cursor: string | null;
}

export interface CountGiftCardsResult {
  /** The number of cards that were found. */
  count: number;
  /** `at_least`: there can be more cards than `count`. */
  precision: 'exact' | 'at_least';
}

export interface RetrieveGiftCardDetailsResult {
  gift_card: DetailedGiftCard;
}

export interface CreateBatchResult {
  batch: Batch;
}

export interface ListBatchesResult {
  batches: Batch[];
}

export interface RetrieveBatchResult {
  batch: Batch;
  failures: BatchFailure[];
}

export interface ListBatchCardsResult {
  cards: BatchGiftCard[];
}

export interface CreateStockResult {
  stock: Stock;
}

export interface ListStocksResult {
  stocks: Stock[];
}

export interface RetrieveStockResult {
  stock: Stock;
  failures: StockFailure[];
}

export type VoidStockResult = CreateStockResult;

export interface ListStockCodesResult {
  codes: StockCode[];
}

export interface LookUpGiftCardResult {
  gift_card: SpendableGiftCard | TillGiftCard;
}

export interface RetrieveBalanceResult {
  gift_card: GiftCardBalance;
}

export interface RedeemGiftCardResult {
  transaction: Transaction;
  gift_card: SpendableGiftCard | TillGiftCard;
}

export type DebitGiftCardResult = RedeemGiftCardResult;

export type CreditGiftCardResult = RedeemGiftCardResult;

export type ReenableGiftCardResult = CreateGiftCardRepetitionResult;

export interface SuspendGiftCardResult {
  gift_card: SpendableGiftCard;
}

export type ResumeGiftCardResult = SuspendGiftCardResult;

export interface CreateHoldResult {
  hold: Hold;
  gift_card: SpendableGiftCard | TillGiftCard;
}

export interface ListHoldsResult {
  holds: Hold[];
}

export interface ListStoreHoldsResult {
  holds: Hold[];
  /** The `cursor` of the next page; null: this is the last page. */
  next_cursor: string | null;
}

export type RetrieveHoldResult = CreateHoldResult;

export type ExtendHoldResult = CreateHoldResult;

export interface CaptureHoldResult {
  transaction: Transaction;
  hold: Hold;
  gift_card: SpendableGiftCard | TillGiftCard;
}

export type VoidHoldResult = CreateHoldResult;

export interface ListTransactionsResult {
  transactions: Transaction[];
}

export interface ListStoreTransactionsResult {
  transactions: Transaction[];
  /** The `cursor` of the next page; null: this is the last page. */
  next_cursor: string | null;
}

export interface RetrieveTransactionResult {
  transaction: Transaction;
}

export type ReverseTransactionResult = RedeemGiftCardResult;

export interface ListHistoryResult {
  history: HistoryEntry[];
}

export interface ListGiftCardEmailsResult {
  deliveries: EmailDelivery[];
}

export interface NotifyGiftCardHolderResult {
  delivery: EmailDelivery;
  gift_card: GiftCard;
}

export type RotateGiftCardCodeResult = CreateGiftCardResult;

export interface CreateLocationResult {
  location: Location;
}

export interface ListLocationsResult {
  locations: Location[];
}

export type RetrieveLocationResult = CreateLocationResult;

export type UpdateLocationResult = CreateLocationResult;

export interface ListCustomersResult {
  customers: Customer[];
  /** The `cursor` of the next page; null: this is the last page. */
  next_cursor: string | null;
}

export interface RetrieveCustomerResult {
  customer: Customer;
}

export type UpdateCustomerResult = RetrieveCustomerResult;

export type ExportCustomerResult = Record<string, unknown>;

export interface EraseCustomerResult {
  erasure: Erasure;
}

export type RetrieveErasureResult = EraseCustomerResult;

export type ListCustomerGiftCardsResult = ListGiftCardsResult;

export interface ListCheckpointsResult {
  checkpoints: Checkpoint[];
}

export interface CreateCheckpointResult {
  checkpoint: Checkpoint;
}

export interface ProveConsistencyResult {
  consistency: Consistency;
}

export interface ListLeavesResult {
  leaf_range: LeafRange;
}

export interface ListCheckpointKeysResult {
  log: Log;
}

export interface ProveGiftCardResult {
  gift_card_proof: GiftCardProof;
}

export interface ListEventsResult {
  events: Event[];
}

export interface RetrieveEventResult {
  event: Event;
}

export interface RedeliverEventResult {
  deliveries: Delivery[];
}

export interface ReportLiabilityResult {
  liability: Liability;
}

export interface ReportJournalResult {
  journal: Journal;
}

export interface ReportAgingResult {
  aging: Aging;
}

export interface ReportActivityResult {
  activity: Activity;
}

export interface ReportBreakageResult {
  breakage: Breakage;
}

export interface CreateWebhookResult {
  webhook: WebhookWithSecret;
}

export interface ListWebhooksResult {
  webhooks: Webhook[];
}

export interface RetrieveWebhookResult {
  webhook: Webhook;
}

export type UpdateWebhookResult = RetrieveWebhookResult;

export type DeleteWebhookResult = RetrieveWebhookResult;

export type RotateWebhookSecretResult = CreateWebhookResult;

export interface TestWebhookResult {
  delivery: Delivery;
}

export type ListDeliveriesResult = RedeliverEventResult;

export interface RetrieveDeliveryResult {
  delivery: LoggedDelivery;
}

export interface RetrieveTestClockResult {
  test_clock: TestClock;
}

export type AdvanceTestClockResult = RetrieveTestClockResult;

export interface HealthResult {
  status: 'ok';
}

export interface ReadinessResult {
  status: 'ready';
  details: {
    /** How email is sent. */
    mail: string;
  };
}

export interface OpenapiResult {
  openapi: string;
  info: Record<string, unknown>;
  paths: Record<string, unknown>;
  components: Record<string, unknown>;
}

/** The event `gift_card.created`. */
export type GiftCardCreatedEvent = Event & {
  type: 'gift_card.created';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.updated`. */
export type GiftCardUpdatedEvent = Event & {
  type: 'gift_card.updated';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.disabled`. */
export type GiftCardDisabledEvent = Event & {
  type: 'gift_card.disabled';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.suspended`. */
export type GiftCardSuspendedEvent = Event & {
  type: 'gift_card.suspended';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.resumed`. */
export type GiftCardResumedEvent = Event & {
  type: 'gift_card.resumed';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.redeemed`. */
export type GiftCardRedeemedEvent = Event & {
  type: 'gift_card.redeemed';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    transaction: Transaction;
  };
};

/** The event `gift_card.credited`. */
export type GiftCardCreditedEvent = Event & {
  type: 'gift_card.credited';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    transaction: Transaction;
  };
};

/** The event `gift_card.reversed`. */
export type GiftCardReversedEvent = Event & {
  type: 'gift_card.reversed';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    transaction: Transaction;
  };
};

/** The event `gift_card.held`. */
export type GiftCardHeldEvent = Event & {
  type: 'gift_card.held';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    hold: Hold;
  };
};

/** The event `gift_card.hold_extended`. */
export type GiftCardHoldExtendedEvent = Event & {
  type: 'gift_card.hold_extended';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    hold: Hold;
  };
};

/** The event `gift_card.hold_released`. */
export type GiftCardHoldReleasedEvent = Event & {
  type: 'gift_card.hold_released';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    hold: Hold;
  };
};

/** The event `gift_card.expired`. */
export type GiftCardExpiredEvent = Event & {
  type: 'gift_card.expired';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.expiring_soon`. */
export type GiftCardExpiringSoonEvent = Event & {
  type: 'gift_card.expiring_soon';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.code_rotated`. */
export type GiftCardCodeRotatedEvent = Event & {
  type: 'gift_card.code_rotated';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.retired_code_used`. */
export type GiftCardRetiredCodeUsedEvent = Event & {
  type: 'gift_card.retired_code_used';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
  };
};

/** The event `gift_card.delivery_failed`. */
export type GiftCardDeliveryFailedEvent = Event & {
  type: 'gift_card.delivery_failed';
  data: {
    gift_card: GiftCard;
    /** The fields of the record that changed. */
    changed: string[];
    delivery: EmailDelivery;
  };
};

/** The event `customer.created`. */
export type CustomerCreatedEvent = Event & {
  type: 'customer.created';
  data: {
    /** A customer, with the email address as first received; null if the customer was erased. */
    customer: {
      id: number;
      email: string | null;
      storefront_customer_id: number | null;
    };
  };
};

/** The event `checkpoint.created`. */
export type CheckpointCreatedEvent = Event & {
  type: 'checkpoint.created';
  data: CreateCheckpointResult;
};

/** The event `customer.erased`. */
export type CustomerErasedEvent = Event & {
  type: 'customer.erased';
  data: {
    /** A customer, with the email address as first received; null if the customer was erased. */
    customer: {
      id: number;
      email: string | null;
      storefront_customer_id: number | null;
    };
  };
};

/** The event `batch.completed`. */
export type BatchCompletedEvent = Event & {
  type: 'batch.completed';
  data: CreateBatchResult;
};

/** The event `stock.completed`. */
export type StockCompletedEvent = Event & {
  type: 'stock.completed';
  data: CreateStockResult;
};

/** The event `stock.codes_read`. */
export type StockCodesReadEvent = Event & {
  type: 'stock.codes_read';
  data: {
    stock: Stock;
    /** The caller that read or voided the codes of a stock. */
    actor: string;
  };
};

/** The event `stock.voided`. */
export type StockVoidedEvent = Event & {
  type: 'stock.voided';
  data: {
    stock: Stock;
    /** The caller that read or voided the codes of a stock. */
    actor: string;
    /** How many codes of a stock were voided. */
    codes: number;
  };
};

/** The event `stock.code_tried`. */
export type StockCodeTriedEvent = Event & {
  type: 'stock.code_tried';
  data: CreateStockResult;
};

/** The event `webhook.test`. */
export type WebhookTestEvent = Event & {
  type: 'webhook.test';
  data: RetrieveWebhookResult;
};

/** The event `webhook.paused`. */
export type WebhookPausedEvent = Event & {
  type: 'webhook.paused';
  data: RetrieveWebhookResult;
};

/** An event, by its type. */
export type WebhookEvent =
  | GiftCardCreatedEvent
  | GiftCardUpdatedEvent
  | GiftCardDisabledEvent
  | GiftCardSuspendedEvent
  | GiftCardResumedEvent
  | GiftCardRedeemedEvent
  | GiftCardCreditedEvent
  | GiftCardReversedEvent
  | GiftCardHeldEvent
  | GiftCardHoldExtendedEvent
  | GiftCardHoldReleasedEvent
  | GiftCardExpiredEvent
  | GiftCardExpiringSoonEvent
  | GiftCardCodeRotatedEvent
  | GiftCardRetiredCodeUsedEvent
  | GiftCardDeliveryFailedEvent
  | CustomerCreatedEvent
  | CheckpointCreatedEvent
  | CustomerErasedEvent
  | BatchCompletedEvent
  | StockCompletedEvent
  | StockCodesReadEvent
  | StockVoidedEvent
  | StockCodeTriedEvent
  | WebhookTestEvent
  | WebhookPausedEvent;

/** The codes of errors that are known. A later version of the service can return others. */
export type ErrorCode =
  | 'invalid-request'
  | 'invalid-body'
  | 'invalid-query'
  | 'invalid-idempotency-key'
  | 'invalid-visitor'
  | 'unauthenticated'
  | 'invalid-signature'
  | 'insufficient-scope'
  | 'cross-site-request'
  | 'not-found'
  | 'method-not-allowed'
  | 'request-timeout'
  | 'idempotency-key-in-use'
  | 'test-clock-in-use'
  | 'events-erased'
  | 'precondition-failed'
  | 'body-too-large'
  | 'unsupported-media-type'
  | 'expectation-failed'
  | 'invalid-parameter'
  | 'insufficient-balance'
  | 'currency-mismatch'
  | 'card-disabled'
  | 'card-expired'
  | 'not-activated'
  | 'already-activated'
  | 'card-suspended'
  | 'hold-closed'
  | 'hold-expired'
  | 'external-id-used'
  | 'capture-exceeds-hold'
  | 'not-reversible'
  | 'reversal-exceeds-transaction'
  | 'undo-window-closed'
  | 'no-address'
  | 'no-mail'
  | 'webhook-paused'
  | 'too-many-webhooks'
  | 'idempotency-key-reused'
  | 'too-many-requests'
  | 'too-many-misses'
  | 'headers-too-large'
  | 'internal-error'
  | 'overloaded'
  | 'unavailable'
  | 'not-writable'
  | 'store-closed'
  | 'closing';
