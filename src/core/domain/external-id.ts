/** External ids: a caller’s own ids of cards, transactions and holds, each of which is used only once. */

import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';

/** The kinds of objects, each with external ids of its own. No request names one of an online sale. */
export type ExternalKind = 'card' | 'transaction' | 'hold' | 'online_sale';

export const externalIdLengthMax = 255;

export const externalIdPattern = '^[\\x21-\\x7e]+$';

const visibleAscii = /^[\x21-\x7e]+$/;

/** Parses an external id, which is compared byte by byte. null: none. */
export function parseExternalId(value: unknown): Parsed<string | null> {
  if (value === null) return accepted(null);
  if (typeof value !== 'string') return rejected('must be a string');
  return value.length <= externalIdLengthMax && visibleAscii.test(value)
    ? accepted(value)
    : rejected(`must have 1 to ${externalIdLengthMax} visible ASCII characters`);
}
