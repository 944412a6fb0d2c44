/** The JSON Schema of the clock of a sandbox. */

import Type, { type Static } from 'typebox';
import { closedObject, nullable, timestamp } from '../../../core/cards/domain/schemas.ts';

function count(description: string) {
  return Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
}

export const testClockSchema = closedObject(
  {
    now: timestamp({ description: 'The time of the sandbox.' }),
    advancing_to: nullable(timestamp(), 'The end of the advance in progress; null: there is none.', null),
    done: closedObject(
      {
        holds_expired: count('Holds that have expired.'),
        cards_expired: count('Cards that have expired.'),
        cards_expiring_soon: count('Cards whose expiry was announced.'),
        emails: count('Emails that were kept or cancelled.'),
        webhook_attempts: count('Attempts to deliver an event, retries included.'),
        days_closed: count('Days of the books that were closed.'),
      },
      'The counts of the last advance, in all stores of the sandbox.',
    ),
  },
  'The clock of a sandbox.',
);

export type TestClockRecord = Static<typeof testClockSchema>;
