/** The retention periods of old rows. */

/** The time for which rows are stored after they are no longer needed (ms); null: forever. */
export type Retention = {
  readonly eventsMs: number | null;
  readonly emailsMs: number | null;
  readonly deliveriesMs: number;
  /** The retention of ended sessions, used links and revoked tills. */
  readonly sessionsMs: number;
  readonly idempotencyMs: number;
  readonly lookupsMs: number;
};
