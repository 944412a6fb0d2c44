/** The emails of a store that wait although they were due. */
export type LateEmails = {
  /** At most `lateEmailsMax`. */
  readonly count: number;
  /** When the first of them was to be sent, in ms. */
  readonly since: number;
  /** The last response of the mail server to one of them; null: none was tried. */
  readonly response: string | null;
};

/** The most late emails that are counted. */
export const lateEmailsMax = 1_000;
