/** Cards of the import: a response must be a complete card, because the import proves what the service has stored. */
import { ApiError, responseOf, type GiftCard } from '../packages/client/src/index.ts';

/** One row is wrong; the others continue. */
export class RowProblem extends Error {}

export interface CheckedCard {
  card: GiftCard & { code?: string };
  etag: string;
  /** The service replayed the stored response of this Idempotency-Key and changed nothing. */
  isReplayed: boolean;
}

/**
 * The card of a request.
 * @throws RowProblem if the service rejects the row, has another status, or returns something that is not a complete card.
 */
export async function checkedCard(
  request: Promise<{ gift_card: unknown }>,
  { status }: { status: 200 | 201 },
): Promise<CheckedCard> {
  const result = await request.catch((error: unknown) => {
    const isOfRow = error instanceof ApiError && [404, 412, 422].includes(error.status);
    throw isOfRow ? new RowProblem(error.message) : error;
  });
  const { gift_card: card } = result;
  const { etag, isReplayed, status: returned } = responseOf(result);
  if (returned !== status) throw new RowProblem(`expected ${status}, got ${returned}`);
  if (!isGiftCard(card)) throw new RowProblem(`not a gift card: ${JSON.stringify(card)}`);
  if ((card.code !== undefined) !== (status === 201)) {
    throw new RowProblem(`the code must be in the response to the creation and in no other`);
  }
  if (etag === null) throw new RowProblem('a response without an ETag');
  return { card, etag, isReplayed };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const textOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
const idOrNull = (value: unknown): boolean => value === null || Number.isSafeInteger(value);
const matches = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
const amount = matches(/^\d+(\.\d+)?$/);
const instant = matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

const fields: Record<keyof CheckedCard['card'], (value: unknown) => boolean> = {
  id: Number.isSafeInteger,
  balance: amount,
  created_at: instant,
  currency: matches(/^[A-Z]{3}$/),
  initial_value: amount,
  disabled_at: (value) => value === null || instant(value),
  line_item_id: idOrNull,
  api_client_id: idOrNull,
  user_id: idOrNull,
  customer_id: idOrNull,
  customer_email: textOrNull,
  recipient_id: idOrNull,
  recipient_email: textOrNull,
  note: textOrNull,
  expires_on: textOrNull,
  message: textOrNull,
  last_characters: matches(/^[a-z0-9]{4}$/),
  order_id: idOrNull,
  code: (value) => value === undefined || typeof value === 'string',
};

function isGiftCard(value: unknown): value is CheckedCard['card'] {
  return isRecord(value) && Object.entries(fields).every(([name, holds]) => holds(value[name]));
}
