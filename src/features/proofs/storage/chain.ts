/** A card's chains as texts and hashes, from which a client recomputes them. */

import { changeContent } from '../../../core/cards/domain/change.ts';
import { entryContent } from '../../../core/money/domain/ledger.ts';
import { listChangesBefore, listStoredChangesAfter } from '../../../core/cards/storage/change.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import type { EntryId } from '../../../core/log/storage/log-entry.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { EntryTable } from '../../../database/sql/fragments.ts';
import { listChainAfter, listTransfersBefore } from '../../../core/money/storage/transfer.ts';

export type ChainText = {
  /** The text that was hashed. */
  readonly content: string;
  readonly hash: Uint8Array;
};

export type Chain = {
  /** A part of the chain, oldest first. */
  readonly entries: readonly ChainText[];
  /** The number of entries of the whole chain. */
  readonly length: number;
  /** Its newest entries, newest first. `sequence` counts the entries of the chain, from 1. */
  readonly newest: readonly (EntryId & { readonly sequence: number })[];
};

type ChainRequest = {
  /** Only entries after the one with this sequence number. */
  readonly after: number;
  readonly limit: number;
  /** The maximum number of newest entries. */
  readonly newestMax: number;
};

/** Returns a part of one of a card's two chains. */
export function listChain(source: EntryTable, key: CardKey, request: ChainRequest): Script<Chain> {
  return source === 'transfers' ? transferChain(key, request) : changeChain(key, request);
}

function* transferChain(key: CardKey, { after, limit, newestMax }: ChainRequest): Script<Chain> {
  const [listed, newest] = yield* parallel(
    listChainAfter(key, { after, limit }),
    listTransfersBefore(key, { before: null, limit: newestMax }),
  );
  const entries = listed.map(({ transfer, salt, issuedExpiresOn, issuedVat, textDigest, hash }) => {
    const opening = salt && { salt, expiresOn: issuedExpiresOn, vat: issuedVat };
    return { content: entryContent(transfer, { opening, textDigest }), hash };
  });
  return chainOf('transfers', entries, newest);
}

function* changeChain(key: CardKey, { after, limit, newestMax }: ChainRequest): Script<Chain> {
  const [listed, newest] = yield* parallel(
    listStoredChangesAfter(key, { after, limit }),
    listChangesBefore(key, { before: null, limit: newestMax }),
  );
  const entries = listed.map((change) => ({ content: changeContent(change, change), hash: change.hash }));
  return chainOf('card_changes', entries, newest);
}

function chainOf(
  source: EntryTable,
  entries: readonly ChainText[],
  newest: readonly { readonly id: number; readonly sequence: number }[],
): Chain {
  return {
    entries,
    length: newest[0]?.sequence ?? 0,
    newest: newest.map(({ id, sequence }) => ({ source, id, sequence })),
  };
}
