/**
 * Computes the state of a folder after a power failure, from the trace of a faulty disk (`faulty-disk.ts`).
 *
 * The model is as adverse as a disk and a file system can be:
 * - A sync makes the writes before it durable. Later writes survive sector by sector, in any order.
 * - The name of a file survives when its folder was synced.
 * - After a failed sync, programs still read the pages, but they are not on the disk. A later sync writes
 *   them only if a program writes to them again. Linux does this with most file systems.
 */

import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Seeded } from './seeded.ts';

const kinds = [
  'none',
  'write',
  'truncate',
  'sync begins',
  'sync ends',
  'sync fails',
  'create',
  'unlink',
  'rename',
  'link',
  'mkdir',
] as const;

export type TraceRecord = {
  readonly kind: (typeof kinds)[number];
  /** Relative to the folder; '' is the folder itself. Empty if the inode identifies the file. */
  readonly name: string;
  readonly inode: bigint;
  /** The number of a sync, in its record. */
  readonly offset: bigint;
  /** The written bytes, or the new name. */
  readonly data: Buffer;
  /** The position in the trace after the record. */
  readonly end: number;
};

const headBytes = 32;

/** Reads the records of a trace, in their order. */
export function* recordsOf(trace: string): Generator<TraceRecord> {
  const file = openSync(trace, 'r');
  try {
    const head = Buffer.alloc(headBytes);
    for (let at = 0; readSync(file, head, 0, headBytes, at) === headBytes;) {
      const nameBytes = head.readUInt32LE(4);
      const dataBytes = Number(head.readBigUInt64LE(24));
      const rest = Buffer.alloc(nameBytes + dataBytes);
      const end = at + headBytes + rest.length;
      // A killed process can leave a partial record.
      if (readSync(file, rest, 0, rest.length, at + headBytes) < rest.length) return;
      const kind = kinds[head.readUInt32LE(0)];
      assert(kind !== undefined && kind !== 'none', `unknown kind of record at ${at} of ${trace}`);
      const name = rest.toString('utf8', 0, nameBytes);
      const data = rest.subarray(nameBytes);
      yield { kind, name, inode: head.readBigUInt64LE(8), offset: head.readBigUInt64LE(16), data, end };
      at = end;
    }
  } finally {
    closeSync(file);
  }
}

class Content {
  #bytes: Buffer;
  size: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  write(offset: number, data: Buffer): void {
    const end = offset + data.length;
    if (end > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(end, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.size);
      this.#bytes = grown;
    }
    data.copy(this.#bytes, offset);
    this.size = Math.max(this.size, end);
  }

  truncate(size: number): void {
    if (size > this.size) this.write(size - 1, Buffer.alloc(1));
    this.#bytes.fill(0, size, this.size);
    this.size = size;
  }

  read(from: number, to: number): Buffer {
    return Buffer.from(this.#bytes.subarray(from, Math.min(to, this.size)));
  }

  copy(): Content {
    return new Content(this.read(0, this.size));
  }
}

/** A change that is not synced yet. */
type Change =
  | { readonly kind: 'write'; readonly offset: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly size: number };

const pageBytes = 4_096;

/** The damage of a file: the shares of its sectors that have all changes and none. The rest have some. */
type Tearing = { readonly sectorBytes: number; readonly all: number; readonly none: number };

function tearing(random: Seeded): Tearing {
  const sectorBytes = random() < 0.5 ? 512 : pageBytes;
  const kind = random();
  if (kind < 0.1) return { sectorBytes, all: 1, none: 0 };
  if (kind < 0.2) return { sectorBytes, all: 0, none: 1 };
  const all = random();
  return { sectorBytes, all, none: (1 - all) * random() };
}

/**
 * Applies the changes that survive: for each sector, those before a random point, independently of other
 * sectors.
 */
function makeSome(content: Content, changes: readonly Change[], random: Seeded): void {
  const { sectorBytes, all, none } = tearing(random);
  const moment = (): number => {
    const draw = random();
    if (draw < all) return changes.length;
    return draw < all + none ? 0 : random.between(0, changes.length);
  };
  const moments = new Map<number, number>();
  const sizeMoment = moment();
  for (const [index, change] of changes.entries()) {
    if (change.kind === 'truncate') {
      if (index < sizeMoment) content.truncate(change.size);
      continue;
    }
    const { offset, data } = change;
    for (let at = 0; at < data.length;) {
      const sector = Math.floor((offset + at) / sectorBytes);
      const end = Math.min(data.length, (sector + 1) * sectorBytes - offset);
      let until = moments.get(sector);
      if (until === undefined) moments.set(sector, (until = moment()));
      if (index < until) content.write(offset + at, data.subarray(at, end));
      at = end;
    }
  }
}

class TracedFile {
  readonly #durable: Content;
  /** The content that programs see. */
  readonly #seen: Content;
  /** Pages whose content for programs differs from the disk, and which a sync does not write. */
  readonly #lost = new Set<number>();
  #changes: Change[] = [];
  /** The number of changes that were dropped because they are durable or lost. */
  #past = 0;

  constructor(bytes: Buffer) {
    this.#durable = new Content(bytes);
    this.#seen = new Content(Buffer.from(bytes));
  }

  /** The number of changes so far. */
  get count(): number {
    return this.#past + this.#changes.length;
  }

  write(offset: number, data: Buffer): void {
    // A page is written as a whole, including the lost parts.
    for (let page = Math.floor(offset / pageBytes); page * pageBytes < offset + data.length; page += 1) {
      if (!this.#lost.delete(page)) continue;
      const seen = this.#seen.read(page * pageBytes, (page + 1) * pageBytes);
      this.#changes.push({ kind: 'write', offset: page * pageBytes, data: seen });
    }
    this.#seen.write(offset, data);
    this.#changes.push({ kind: 'write', offset, data });
  }

  truncate(size: number): void {
    this.#seen.truncate(size);
    for (const page of this.#lost) if (page * pageBytes >= size) this.#lost.delete(page);
    this.#changes.push({ kind: 'truncate', size });
  }

  /** Removes and returns the changes before a number. */
  #take(until: number): readonly Change[] {
    const taken = this.#changes.splice(0, Math.max(0, until - this.#past));
    this.#past += taken.length;
    return taken;
  }

  sync(until: number): void {
    for (const change of this.#take(until)) {
      if (change.kind === 'write') this.#durable.write(change.offset, change.data);
      else this.#durable.truncate(change.size);
    }
  }

  failSync(until: number, random: Seeded): void {
    const changes = this.#take(until);
    makeSome(this.#durable, changes, random);
    for (const change of changes) {
      if (change.kind !== 'write') continue;
      const { offset, data } = change;
      const last = Math.floor((offset + data.length - 1) / pageBytes);
      for (let page = Math.floor(offset / pageBytes); page <= last; page += 1)
        if (page * pageBytes < this.#seen.size) this.#lost.add(page);
    }
  }

  /** Returns the file as a power failure leaves it. */
  torn(random: Seeded): Buffer {
    const content = this.#durable.copy();
    makeSome(content, this.#changes, random);
    return content.read(0, content.size);
  }
}

type Names = Map<string, TracedFile>;
type NameChange = {
  readonly number: number;
  readonly folder: string;
  readonly make: (names: Names) => void;
};

/** A folder on a disk, changed by a trace. */
export class TracedFolder {
  readonly #inodes = new Map<bigint, TracedFile>();
  readonly #seen: Names = new Map();
  readonly #durable: Names;
  readonly #random: Seeded;
  readonly #syncs = new Map<bigint, number>();
  #nameChanges: NameChange[] = [];
  #nameChangesSoFar = 0;
  /** Folders whose entries were synced. */
  readonly folderSyncs: string[] = [];

  /** Reads a folder. Everything in it is durable. */
  constructor(folder: string, random: Seeded) {
    this.#random = random;
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const status = statSync(path, { bigint: true });
      if (!status.isFile() || name.endsWith('-shm')) continue;
      const file = new TracedFile(readFileSync(path));
      this.#inodes.set(status.ino, file);
      this.#seen.set(name, file);
    }
    this.#durable = new Map(this.#seen);
  }

  apply(record: TraceRecord): void {
    const { kind, name, inode, offset, data } = record;
    switch (kind) {
      case 'write':
        return this.#fileOf(inode).write(Number(offset), data);
      case 'truncate':
        return this.#fileOf(inode).truncate(Number(offset));
      case 'create': {
        const file = new TracedFile(Buffer.alloc(0));
        this.#inodes.set(inode, file);
        return this.#rename(name, (names) => void names.set(name, file));
      }
      case 'unlink':
        return this.#rename(name, (names) => void names.delete(name));
      case 'rename':
      case 'link': {
        const file = this.#seen.get(name);
        assert(file, `${name} does not exist and cannot be renamed`);
        return this.#rename(name, (names) => {
          if (kind === 'rename') names.delete(name);
          names.set(data.toString(), file);
        });
      }
      case 'sync begins':
        this.#syncs.set(offset, this.#inodes.get(inode)?.count ?? this.#nameChangesSoFar);
        return undefined;
      case 'sync ends':
      case 'sync fails':
        return this.#endSync(record);
      case 'mkdir':
      case 'none':
        return undefined;
    }
  }

  #fileOf(inode: bigint): TracedFile {
    const file = this.#inodes.get(inode);
    assert(file, `no file has the inode ${inode}`);
    return file;
  }

  #rename(name: string, make: (names: Names) => void): void {
    make(this.#seen);
    const folder = dirname(name);
    this.#nameChanges.push({ number: this.#nameChangesSoFar, folder: folder === '.' ? '' : folder, make });
    this.#nameChangesSoFar += 1;
  }

  #endSync({ kind, name, inode, offset }: TraceRecord): void {
    const until = this.#syncs.get(offset);
    assert(until !== undefined, 'a sync ended that did not begin');
    this.#syncs.delete(offset);
    const file = this.#inodes.get(inode);
    if (file) {
      if (kind === 'sync ends') file.sync(until);
      else file.failSync(until, this.#random);
      return;
    }
    this.folderSyncs.push(name);
    const rest: NameChange[] = [];
    for (const change of this.#nameChanges) {
      if (change.folder === name && change.number < until) change.make(this.#durable);
      else rest.push(change);
    }
    this.#nameChanges = rest;
  }

  /** Writes the folder as a power failure at this point leaves it. */
  writeTorn(target: string): void {
    const names: Names = new Map(this.#durable);
    // A file system applies name changes in order, and can lose the last ones.
    const done = this.#random.between(0, this.#nameChanges.length);
    for (const { make } of this.#nameChanges.slice(0, done)) make(names);
    for (const [name, file] of names) {
      const path = join(target, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file.torn(this.#random));
    }
  }
}
