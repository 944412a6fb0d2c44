/** A card's chain as texts and hashes, from which a client recomputes it. */

import { entryContent } from '../domain/ledger.ts';
import type { CardKey } from './card.ts';
import type { EntryId } from './log.ts';
import { parallel, type Script } from './sql.ts';
import { listChainAfter, listTransfersBefore } from './transfer.ts';

export type ChainText = {
  /** The text that was hashed. */
  readonly content: string;
  readonly hash: Uint8Array;
};

export type Chain = {
  readonly entries: readonly ChainText[];
  /** The number of entries of the whole chain. */
  readonly length: number;
  /** The newest entries, newest first. */
  readonly newest: readonly (EntryId & { readonly number: number })[];
};

/** Returns entries of the chain of a card's transfers after a number, and the newest ones. */
export function* listChain(
  key: CardKey,
  {
    after,
    limit,
    newest: newestMax,
  }: { readonly after: number; readonly limit: number; readonly newest: number },
): Script<Chain> {
  const [listed, newest] = yield* parallel(
    listChainAfter(key, { after, limit }),
    listTransfersBefore(key, { before: null, limit: newestMax }),
  );
  return {
    entries: listed.map(({ transfer, salt, issuedExpiresOn, textDigest, hash }) => ({
      content: entryContent(transfer, {
        opening: salt && { salt, expiresOn: issuedExpiresOn },
        textDigest,
      }),
      hash,
    })),
    length: newest[0]?.sequence ?? 0,
    newest: newest.map(({ id, sequence }) => ({ source: 'transfers', id, number: sequence })),
  };
}
