/** The interface of the checks that `verify.ts` lists. Each is a script that reads rows and reports what is wrong. */

import type { Store } from '../../../core/stores/domain/store.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** A problem of a card or, if `cardId` is null, of other rows. The text follows the name of the card or store. */
export type Finding = { readonly cardId: number | null; readonly problem: string };

/** The verification that a check is part of. */
export type Verifying = {
  /** Undefined: encrypted ids are not compared. */
  readonly publicIds: PublicIds | undefined;
  /** The keyed digests of an external id under every key; undefined: external ids are not compared. */
  readonly externalDigests: ((text: string) => readonly Uint8Array[]) | undefined;
  /** The number of findings that can still be recorded. A check can stop at 0. */
  readonly left: () => number;
  /** Counts rows that were read, for the progress. */
  readonly read: (rows: number) => void;
};

export type StoreVerifying = Verifying & { readonly found: (finding: Finding) => void };

/** A check of one store. */
export type StoreCheck = (store: Store, verifying: StoreVerifying) => Script<void>;

type DatabaseVerifying = Verifying & {
  /** @param storeId null: the problem is not of one store. */
  readonly found: (storeId: number | null, finding: Finding) => void;
};

/** A check of all stores at once. */
export type DatabaseCheck = (verifying: DatabaseVerifying) => Script<void>;
