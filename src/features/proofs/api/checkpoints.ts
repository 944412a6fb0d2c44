/** Checkpoints of the store's log, and proofs. */

import Type from 'typebox';
import { checkpointRecordOf } from '../domain/checkpoint.ts';
import { formatInstantOrNull } from '../../../core/domain/day.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import {
  checkpointSchema,
  consistencySchema,
  giftCardProofSchema,
  leafRangeSchema,
  logSchema,
  type ChainEntryRecord,
} from '../domain/proof-schemas.ts';
import * as service from '../service/checkpoint.ts';
import type { ChainText } from '../storage/chain.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import { field, integerFromForm, required } from '../../../api/field.ts';
import { limit, limitDefault, list, recordsOf } from '../../../api/list.ts';
import { read, write } from '../../../api/operation.ts';

export const listCheckpoints = list({
  id: 'listCheckpoints',
  path: '/checkpoints',
  scopes: ['read_reports'],
  tag: 'Verification',
  summary: 'List checkpoints',
  description:
    'Returns the checkpoints of the store’s log, newest first. The service creates one after the end of each day in the store’s time zone, unless nothing was added to the log since the last one. The event `checkpoint.created` publishes each of them. `Link` has the neighboring pages.',
  member: 'checkpoints',
  record: checkpointSchema,
  example: examples.checkpoint,
  responseDescription: 'A page of checkpoints.',
  cursor: { isPublic: false, of: ({ id }) => id },
  errors: [],
  sample: { query: 'limit=50' },
  *page({ store }, page) {
    return recordsOf(yield* service.listStoreCheckpoints(store.id, page), checkpointRecordOf);
  },
});

export const createCheckpoint = write({
  id: 'createCheckpoint',
  method: 'POST',
  path: '/checkpoints',
  scopes: ['read_reports'],
  tag: 'Verification',
  summary: 'Create a checkpoint',
  description:
    'Adds new entries to the log, at most 2,000, and signs its size and root. The background job adds entries about a second after their commit, so a checkpoint seldom lacks one. If nothing was added since the last checkpoint, the operation returns that one.',
  body: noFields('checkpoint'),
  response: {
    status: 201,
    description: 'The checkpoint.',
    members: { checkpoint: checkpointSchema },
    example: { checkpoint: examples.checkpoint },
  },
  errors: [],
  sample: { body: null },
  *run({ ctx, store }) {
    return { body: { checkpoint: checkpointRecordOf(yield* service.addCheckpoint(ctx, store)) } };
  },
});

function sizeField(description: string) {
  return required(
    field(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description }),
      (value) =>
        typeof value === 'number' && value <= Number.MAX_SAFE_INTEGER
          ? accepted(value)
          : rejected('must be the size of a checkpoint'),
      integerFromForm,
    ),
  );
}

export const proveConsistency = read({
  id: 'proveConsistency',
  path: '/checkpoints/consistency',
  scopes: ['read_reports'],
  tag: 'Verification',
  summary: 'Prove that a checkpoint continues another',
  description:
    'Returns a consistency proof (RFC 9162, section 2.1.4). With it and the roots of both checkpoints, a client verifies that the log still begins with the entries that it had at the earlier checkpoint.',
  query: {
    from: sizeField('The size of the earlier checkpoint.'),
    to: sizeField('The size of the later checkpoint, at most the present size of the log.'),
  },
  response: {
    description: 'The proof.',
    members: { consistency: consistencySchema },
    example: { consistency: { from: 4, to: 7, hashes: [examples.checkpoint.root] } },
  },
  errors: [],
  sample: { query: 'from=4&to=7' },
  *run({ store, query: { from, to } }) {
    const hashes = yield* service.consistencyHashes(store.id, { from, to });
    return { body: { consistency: { from, to, hashes: hashes.map((hash) => hash.toBase64()) } } };
  },
});

export const listLeaves = read({
  id: 'listLeaves',
  path: '/checkpoints/leaves',
  scopes: ['read_reports'],
  tag: 'Verification',
  summary: 'List the leaves of the log',
  description:
    'Returns the hashes of the log’s leaves in their order: continue with `after`. From all leaves up to the size of a checkpoint, a client computes its root, and finds the place of each entry whose content it has. A leaf reveals neither a card nor an amount.',
  query: { after: afterField('Only leaves after this number of leaves.'), limit },
  response: {
    description: 'The leaves.',
    members: { leaf_range: leafRangeSchema },
    example: { leaf_range: { after: 0, size: 1, hashes: [examples.checkpoint.root] } },
  },
  errors: [],
  sample: { query: 'after=250&limit=250' },
  *run({ store, query: { after = 0, limit: most = limitDefault } }) {
    const { size, hashes } = yield* service.readLeaves(store.id, { after, limit: most });
    return { body: { leaf_range: { after, size, hashes: hashes.map((hash) => hash.toBase64()) } } };
  },
});

export const listCheckpointKeys = read({
  id: 'listCheckpointKeys',
  path: '/checkpoints/key',
  scopes: ['read_reports'],
  tag: 'Verification',
  summary: 'Retrieve the public keys of checkpoints',
  description:
    'Returns the verifier keys (c2sp.org/signed-note) of the store’s log: the current one first, and those before it. The first checkpoint of a new key is also signed with the key before it. Keep the key of your first checkpoint: accept another key only if a key that you trust has signed a checkpoint together with it. Responds with 404 until the log has its first entry.',
  response: {
    description: 'The log and its keys.',
    members: { log: logSchema },
    example: { log: examples.log },
  },
  errors: ['not-found'],
  *run({ ctx, store }) {
    const { name, size, keys } = yield* service.showLog(ctx, store.id);
    const records = keys.map(({ key, createdAt, isCurrent }) => ({
      key,
      created_at: formatInstantOrNull(createdAt),
      is_current: isCurrent,
    }));
    return { body: { log: { name, size, keys: records } } };
  },
});

function afterField(description: string) {
  return field(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description }),
    (value) =>
      typeof value === 'number' && value <= Number.MAX_SAFE_INTEGER
        ? accepted(value)
        : rejected('must be the number of an entry'),
    integerFromForm,
  );
}

function entryRecordOf({ content, hash: entryHash }: ChainText): ChainEntryRecord {
  return { content, hash: entryHash.toBase64() };
}

export const proveGiftCard = read({
  id: 'proveGiftCard',
  path: '/gift_card/:gift_card_id/proof',
  scopes: ['read_gift_cards'],
  tag: 'Verification',
  summary: 'Prove a gift card’s chains',
  description:
    'Returns the card’s transactions and its other changes as two chains, oldest entry first, in a form that a client can recompute, and proofs that the store’s log contains them. Each hash covers the one before, so the proof of one entry is a proof of all entries before it. The proven entry is the newest one that the log contains. An entry reaches the log about a second after its commit; until then `proven` is lower than `length`: repeat the request to have it proven. Long chains have several pages: continue with `after` and `changes_after`.',
  query: {
    limit,
    after: afterField('Only transactions after the one with this number in the chain.'),
    changes_after: afterField('Only changes after the one with this number in the chain.'),
  },
  response: {
    description: 'The chains and the proofs.',
    members: { gift_card_proof: giftCardProofSchema },
    example: { gift_card_proof: examples.giftCardProof },
  },
  errors: ['not-found'],
  *run({ ctx, store, ids, query }) {
    const size = query.limit ?? limitDefault;
    const { transfers, changes } = yield* service.proveCard(
      ctx,
      { storeId: store.id, cardId: ids.gift_card_id },
      {
        transfers: { after: query.after ?? 0, limit: size },
        changes: { after: query.changes_after ?? 0, limit: size },
      },
    );
    const proof = {
      entries: transfers.entries.map(entryRecordOf),
      length: transfers.length,
      proven: transfers.proven,
      proof: transfers.proof,
      changes: changes.entries.map(entryRecordOf),
      changes_length: changes.length,
      changes_proven: changes.proven,
      changes_proof: changes.proof,
    };
    return { body: { gift_card_proof: proof } };
  },
});
