/** Schemas of checkpoints and proofs. */

import Type, { type Static } from 'typebox';
import { closedObject, nullable, id, timestamp } from '../../../core/cards/domain/schemas.ts';

const base64Hash = '^[A-Za-z0-9+/]{43}=$';

export const checkpointSchema = closedObject(
  {
    id,
    size: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The number of entries in the log.',
    }),
    root: Type.String({ pattern: base64Hash, description: 'The root of the log’s tree, base64.' }),
    created_at: timestamp(),
    day: nullable(
      Type.String({ format: 'date' }),
      'The day that ended before a daily checkpoint, in the store’s time zone; null: created on demand.',
    ),
    note: Type.String({
      description:
        'The checkpoint as a signed note (c2sp.org/tlog-checkpoint): name of the log, size, root, and signatures.',
    }),
  },
  'A signed statement of the size and the root of the store’s log. A client that keeps it detects a later change of an entry that it covers.',
);

export type CheckpointRecord = Readonly<Static<typeof checkpointSchema>>;

const checkpointKey = closedObject(
  {
    key: Type.String({
      description: 'The verifier key (c2sp.org/signed-note): name of the log, key id and public key.',
    }),
    created_at: nullable(timestamp(), 'When it first signed a checkpoint; null: it has signed none yet.'),
    is_current: Type.Boolean({ description: 'Whether new checkpoints are signed with it.' }),
  },
  'A public key of the store’s checkpoints.',
);

export type CheckpointKeyRecord = Readonly<Static<typeof checkpointKey>>;

export const logSchema = closedObject(
  {
    name: Type.String({ description: 'The first line of each checkpoint.' }),
    size: Type.Integer({ minimum: 0, description: 'The number of entries at present.' }),
    keys: Type.Array(checkpointKey, { description: 'The current key, and then those before it.' }),
  },
  'The store’s log and its public keys.',
);

export type LogRecord = Readonly<Static<typeof logSchema>>;

const treeSize = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const consistencySchema = closedObject(
  {
    from: treeSize,
    to: treeSize,
    hashes: Type.Array(Type.String({ pattern: base64Hash }), {
      description: 'The hashes of the proof, base64.',
    }),
  },
  'A proof that the log with `to` entries begins with the log with `from` entries (RFC 9162, section 2.1.4).',
);

export const leafRangeSchema = closedObject(
  {
    after: Type.Integer({ minimum: 0, description: 'The number of leaves before these.' }),
    size: Type.Integer({ minimum: 0, description: 'The present number of entries in the log.' }),
    hashes: Type.Array(Type.String({ pattern: base64Hash }), {
      description: 'The leaves in their order: SHA-256 of a zero byte and the hash of the entry, base64.',
    }),
  },
  'A part of the leaves of the log.',
);

const chainEntry = closedObject(
  {
    content: Type.String({ description: 'The text that was hashed.' }),
    hash: Type.String({
      pattern: base64Hash,
      description:
        'SHA-256 of the hash of the entry before (32 zero bytes before the first) and the content, base64.',
    }),
  },
  'An entry of a card’s chain.',
);

export type ChainEntryRecord = Readonly<Static<typeof chainEntry>>;

const chainLength = Type.Integer({ minimum: 0, description: 'The number of entries of the whole chain.' });

const proven = Type.Integer({
  minimum: 0,
  description: 'The number of the proven entry in the chain, from 1; 0: none.',
});

const inclusionProof = nullable(
  Type.String(),
  'Proves that the log contains the entry that `proven` counts (c2sp.org/tlog-proof@v1), with a checkpoint of the log as it is now. The leaf is SHA-256 of a zero byte and the hash of the entry. null: the log contains none of the newest entries yet, or there are none.',
);

export const giftCardProofSchema = closedObject(
  {
    entries: Type.Array(chainEntry, { description: 'The card’s transactions, oldest first.' }),
    length: chainLength,
    proven,
    proof: inclusionProof,
    changes: Type.Array(chainEntry, { description: 'The card’s other changes, oldest first.' }),
    changes_length: chainLength,
    changes_proven: proven,
    changes_proof: inclusionProof,
  },
  'The two chains of a gift card, and proofs that the log contains them.',
);

export type GiftCardProofRecord = Readonly<Static<typeof giftCardProofSchema>>;
