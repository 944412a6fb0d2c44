/** A version of a card as a text, which differs from the versions of all other states that the card can have had. */

import { crc32 } from 'node:zlib';
import type { Card } from '../domain/card.ts';

/**
 * The number of a card's version, after a checksum of what a change can change. After a restore to an earlier time, a
 * card continues from its earlier version and repeats its numbers; the checksum differs if the card does.
 */
export function versionTagOf(card: Card): string {
  const state = [
    String(card.balance.minor),
    String(card.held.minor),
    card.disabledAt,
    card.recipient?.id,
    // Both can only be erased.
    card.customer === null,
    card.message === null,
    card.lastCharacters,
    card.expiresOn,
    card.note,
    card.senderName,
    card.recipientName,
    card.tags,
  ];
  return `${crc32(JSON.stringify(state))}-${card.version}`;
}
