/**
 * The document on verification is enough to write a verifier: this one reads the positions from its tables, and follows its
 * text for everything else. It shares no code with the service.
 */

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

async function get<T>(path: string): Promise<T> {
  const response = await shop.ask(`GET ${path}`);
  assert.equal(response.status, 200, response.text);
  return JSON.parse(response.text) as T;
}

const document = readFileSync(join(import.meta.dirname, '../../docs/verification.md'), 'utf8');

/** The values of a table by their positions. */
function positionsIn(start: string): readonly string[] {
  const section = document.slice(document.indexOf(start)).split('\n\n', 2).join('\n');
  const rows = [...section.matchAll(/^\| +(\d+) \| `(\w+)` /gm)];
  assert.ok(rows.length > 0, start);
  for (const [place, [, position]] of rows.entries()) assert.equal(Number(position), place);
  return rows.map(([, , name = '']) => name);
}

type Content = Readonly<Record<string, unknown>>;

function namedBy(positions: readonly string[], content: string): Content {
  const values = JSON.parse(content) as readonly unknown[];
  const length = values[0] === 'transfer/2' ? positions.indexOf('location') : positions.length;
  assert.equal(values.length, length, content);
  return Object.fromEntries(positions.map((name, place) => [name, values[place]]));
}

const [ofTransaction, ofChange] = ['transaction', 'change'].map((name) =>
  positionsIn(`The content of a ${name} is an array:`),
);
assert.ok(ofTransaction && ofChange);

function sha256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves;
  if (leaves.length <= 1) return only ?? sha256('');
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return sha256(Uint8Array.of(1), rootOf(leaves.slice(0, left)), rootOf(leaves.slice(left)));
}

/** Hashes a chain as the document says. @returns its leaves in base64. */
function leavesOf(chain: readonly { readonly content: string }[]): readonly string[] {
  let hash: Uint8Array = new Uint8Array(32);
  return chain.map(({ content }) => {
    hash = sha256(hash, Buffer.from(content, 'utf8'));
    return sha256(Uint8Array.of(0), hash).toString('base64');
  });
}

/** The size and the root of a signed note. */
function readNote(note: string, key: string): { readonly size: number; readonly root: string } {
  const [name = '', size = '', root = '', empty, ...signatures] = note.split('\n');
  assert.equal(empty, '');
  const [keyName = '', hash = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(key)?.slice(1) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  assert.deepEqual([keyName, bytes.length, bytes[0]], [name, 33, 1]);
  assert.equal(sha256(`${name}\n`, bytes).toString('hex', 0, 4), hash);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') };
  const line = signatures.find((one) => one.startsWith(`— ${name} `)) ?? '';
  const signed = Buffer.from(line.slice(`— ${name} `.length), 'base64');
  assert.equal(signed.length, 68);
  assert.equal(signed.toString('hex', 0, 4), hash);
  const text = `${name}\n${size}\n${root}\n`;
  assert.ok(
    verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: 'jwk' }), signed.subarray(4)),
  );
  return { size: Number(size), root };
}

/** All leaves of the log, in pages. */
async function fetchLeaves(limit: number): Promise<readonly string[]> {
  const leaves: string[] = [];
  for (;;) {
    const from = leaves.length === 0 ? '' : `&after=${leaves.length}`;
    const { leaf_range: page } = await get<{ leaf_range: { after: number; size: number; hashes: string[] } }>(
      `/checkpoints/leaves?limit=${limit}${from}`,
    );
    assert.equal(page.after, leaves.length);
    leaves.push(...page.hashes);
    if (leaves.length === page.size) return leaves;
    assert.equal(page.hashes.length, limit);
  }
}

test('a verifier that knows only the document recomputes a checkpoint, every chain and its balances', async () => {
  const ids: number[] = [];
  for (const note of ['Für "Grace" \\ 😀', 'plain']) {
    const { id } = await shop.issue({ note, initial_value: '25.00' });
    ids.push(id);
    await shop.debits(id, '4.50');
    await shop.accepts(`PUT /gift_card/${id}`, { json: { note: `${note}!` } }, { events: ['gift_card.updated note'] }); // prettier-ignore
  }
  const [first] = ids;
  assert.ok(first);
  for (let count = 0; count < 300; count += 1) await shop.debits(first, '0.01');
  const entries = 306;
  let note = '';
  await until(async () => {
    const made = await shop.ask('POST /checkpoints');
    const { checkpoint } = JSON.parse(made.text) as { checkpoint: { size: number; note: string } };
    ({ note } = checkpoint);
    return checkpoint.size === entries;
  });
  const { log } = await get<{ log: { keys: { key: string }[] } }>('/checkpoints/key');
  const { size, root } = readNote(note, log.keys[0]?.key ?? '');
  const leaves = await fetchLeaves(100);
  assert.deepEqual([size, leaves.length, new Set(leaves).size], [entries, entries, entries]);
  assert.equal(
    Buffer.from(rootOf(leaves.map((leaf) => Buffer.from(leaf, 'base64')))).toString('base64'),
    root,
  );

  const proven: string[] = [];
  for (const id of ids) {
    const chains: { entries: { content: string }[]; changes: { content: string }[] } = {
      entries: [],
      changes: [],
    };
    for (;;) {
      const from =
        chains.entries.length === 0
          ? ''
          : `&after=${chains.entries.length}&changes_after=${chains.changes.length}`;
      const { gift_card_proof: page } = await get<{ gift_card_proof: typeof chains & { length: number } }>(
        `/gift_card/${id}/proof?limit=250${from}`,
      );
      chains.entries.push(...page.entries);
      if (chains.changes.length === 0) chains.changes.push(...page.changes);
      if (chains.entries.length === page.length) break;
    }
    proven.push(...leavesOf(chains.entries), ...leavesOf(chains.changes));
    let balance = 0;
    const cents = (amount: unknown): number => Number(String(amount).replace('.', ''));
    const contents: readonly Content[] = chains.entries.map(({ content }) => namedBy(ofTransaction, content));
    for (const [place, entry] of contents.entries()) {
      balance += entry['credit'] === 'card' ? cents(entry['amount']) : -cents(entry['amount']);
      assert.equal(cents(entry['balance_after']), balance);
      assert.deepEqual([entry['format'], entry['sequence'], entry['card']], ['transfer/2', place + 1, contents[0]?.['card']]); // prettier-ignore
      assert.equal(entry['kind'] === 'issue', place === 0);
      assert.equal(entry['salt'] === null, place > 0);
      assert.equal(Array.isArray(entry['terms']), place === 0);
      const { text } = entry;
      assert.ok(text === null || (typeof text === 'string' && Buffer.from(text, 'base64').length === 32));
    }
    const { gift_card: card } = await get<{ gift_card: { balance: string } }>(`/gift_card/${id}`);
    assert.equal(balance, cents(card.balance));
    const { transactions } = await get<{ transactions: Content[] }>(`/gift_card/${id}/transactions?limit=1`);
    const last = contents.at(-1);
    for (const field of ['kind', 'currency', 'balance_after', 'actor'])
      assert.equal(transactions[0]?.[field], last?.[field], field);
    for (const [place, { content }] of chains.changes.entries()) {
      const change = namedBy(ofChange, content);
      assert.deepEqual([change['format'], change['sequence'], change['card']], ['change/1', place + 1, contents[0]?.['card']]); // prettier-ignore
      assert.deepEqual(
        (change['fields'] as readonly (readonly unknown[])[]).map(([field]) => field),
        ['note'],
      );
    }
  }
  assert.deepEqual(
    proven.toSorted(),
    leaves.toSorted(),
    'the log contains the entries of all cards, and no other',
  );
});

test('leaves after the end of the log, and pages of another size, are rejected', async () => {
  const { leaf_range: leaves } = await get<{ leaf_range: { size: number } }>('/checkpoints/leaves?limit=1');
  const end = await get<{ leaf_range: { hashes: string[] } }>(`/checkpoints/leaves?after=${leaves.size}`);
  assert.deepEqual(end.leaf_range.hashes, []);
  for (const query of [
    `after=${leaves.size + 1_000}`,
    'after=0',
    'after=x',
    'limit=0',
    'limit=251',
    'from=1',
  ])
    assert.equal((await shop.ask(`GET /checkpoints/leaves?${query}`)).status, 400, query);
});
