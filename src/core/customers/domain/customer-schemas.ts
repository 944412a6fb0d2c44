/** Schemas of customers, their erasures and their emails. */

import Type, { type Static } from 'typebox';
import { deliveryStates, emailKinds } from '../../emails/domain/email.ts';
import { closedObject, nullable, id, publicIdSchema, timestamp } from '../../cards/domain/schemas.ts';

export const customerSchema = closedObject(
  {
    id: publicIdSchema(),
    email: Type.String({ description: 'The email address, as first received.' }),
    storefront_customer_id: nullable(id, 'The customer’s id on the storefront.', 7103421190),
    created_at: timestamp(),
  },
  'A customer of the store.',
);

export type CustomerRecord = Readonly<Static<typeof customerSchema>>;

export const erasureSchema = closedObject(
  {
    customer_id: publicIdSchema(),
    status: Type.Enum(['running', 'complete'], {
      description: '`running`: the personal data is being erased, in small steps.',
    }),
    erase_notes: Type.Boolean({ description: 'Whether notes and references are erased.' }),
    requested_at: timestamp(),
    completed_at: nullable(timestamp()),
    gift_cards: Type.Integer({ minimum: 0, description: 'Gift cards from which the customer was removed.' }),
    emails: Type.Integer({ minimum: 0, description: 'Emails from which the address was removed.' }),
    events: Type.Integer({ minimum: 0, description: 'Events that were redacted.' }),
    texts_erased: Type.Integer({ minimum: 0, description: 'Notes and references that were erased.' }),
    texts_left: Type.Integer({
      minimum: 0,
      description:
        'Without `erase_notes`: records with a note or reference that contains the address, which was not erased.',
    }),
    unsent_gift_cards: Type.Integer({
      minimum: 0,
      description: 'Gift cards whose email with the code was cancelled: their codes were not sent.',
    }),
    unsent_gift_card_ids: Type.Array(publicIdSchema(), { description: 'The first 100 of them.' }),
  },
  'The erasure of a customer.',
);

export type ErasureRecord = Readonly<Static<typeof erasureSchema>>;

const emailAttempt = closedObject(
  {
    attempted_at: timestamp(),
    response: nullable(Type.String(), 'The mail server’s last response, on one line; null if it sent none.'),
    failure: Type.Union([
      closedObject(
        { reason: Type.Enum(['no-response']), detail: Type.String() },
        'Why the mail server did not respond.',
      ),
      Type.Null(),
    ]),
  },
  'An attempt to send.',
);

export const emailDeliverySchema = closedObject(
  {
    id,
    gift_card_id: publicIdSchema(),
    kind: Type.Enum([...emailKinds], {
      description:
        '`gift_card`: the card itself. `receipt`: for a customer who bought the card for another recipient. `top_up`: for the holder of a card to which money was added. `expiry_reminder`, `balance_reminder`: reminders. `delivery_failed`: a notice to the customer that the email to the recipient did not arrive.',
    }),
    recipient: nullable(
      Type.String(),
      'The email address that it is sent to; null if the person was erased.',
    ),
    status: Type.Enum([...deliveryStates]),
    message_id: Type.String({ description: 'Its Message-ID, the same on every attempt.' }),
    send_at: timestamp({ description: 'When it is or was due.' }),
    created_at: timestamp(),
    attempts: Type.Integer({ minimum: 0, description: 'The number of attempts started.' }),
    next_attempt_at: nullable(timestamp(), 'null after the last attempt.'),
    last_attempt: Type.Union([emailAttempt, Type.Null()]),
    cancel_reason: nullable(Type.String(), 'Why it was cancelled; null if it was not.'),
    ended_at: nullable(timestamp()),
  },
  'An email about a gift card, and its delivery.',
);

export type EmailRecord = Readonly<Static<typeof emailDeliverySchema>>;
