import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test, { after } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { Encrypter } from 'age-encryption';
import fc from 'fast-check';
import { SealedBackupError } from '../../src/features/backups/platform/error.ts';
import { headerOf, readMembers, writeMembers } from '../../src/features/backups/platform/members.ts';
import { backupHeadBytes, openBackup, readBackupTime } from '../../src/features/backups/platform/open.ts';
import {
  makeRecoveryKey,
  parseRecoveryKey,
  recoveryKeyLength,
  sheetIdOf,
} from '../../src/features/backups/platform/recovery-key.ts';
import { writeManifest, type Content } from '../../src/features/backups/platform/manifest.ts';
import { sealBackup } from '../../src/features/backups/platform/seal.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-backup-'));
after(() => rmSync(folder, { recursive: true }));

const { identity, recipient, macKey } = await makeRecoveryKey();
const source = join(folder, 'source.db');
const target = join(folder, 'target.db');
const keys = Buffer.from('{"keys": []}\n');
const at = Date.UTC(2026, 10, 23, 18);
const databaseBytesMax = 2 ** 20;

async function sealed(database: Uint8Array): Promise<Buffer> {
  writeFileSync(source, database);
  return Buffer.concat(
    await Readable.from(await sealBackup({ database: source, keys, at }, { recipient, macKey })).toArray(),
  );
}

async function opened(bytes: Uint8Array, options: Partial<Parameters<typeof openBackup>[1]> = {}) {
  rmSync(target, { force: true });
  return await openBackup(Readable.from([bytes]), {
    identity,
    database: target,
    databaseBytesMax,
    ...options,
  });
}

/** Encrypts any archive, as anyone with the recipient can. */
async function sealedArchive(archive: Uint8Array): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return await encrypter.encrypt(zstdCompressSync(archive));
}

/** Rejects with the problem, and leaves no file. */
async function assertRejects(
  opening: () => Promise<unknown>,
  problem: SealedBackupError['problem'],
  what?: string,
) {
  await assert.rejects(opening, (error: unknown) => {
    assert(error instanceof SealedBackupError, `${what ?? ''} ${String(error)}`);
    assert.equal(error.problem, problem, `${what ?? ''} ${error.message}`);
    return true;
  });
  assert(!existsSync(target), 'a rejected backup leaves no file');
}

const shake = (bytes: number): Buffer => createHash('shake256', { outputLength: bytes }).digest();
const padded = (content: Buffer): Buffer =>
  Buffer.concat([content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
const member = (name: string, content: Buffer, change: (header: Buffer) => void = () => {}): Buffer => {
  const header = headerOf({ name, bytes: content.length, at: at / 1_000 });
  change(header);
  return Buffer.concat([header, padded(content)]);
};
/** Makes the sum of a changed header right again. */
const summed =
  (change: (header: Buffer) => void) =>
  (header: Buffer): void => {
    change(header);
    header.fill(0x20, 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  };
const end = Buffer.alloc(1_024);
const keysMember = member('largesse.keys.json', keys);
const content = Buffer.from('SQLite format 3\0 and more');
const databaseMember = member('largesse.db', content);
const contentOf = (bytes: Uint8Array): Content => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const listed = { at: at / 1_000, keys: contentOf(keys), database: contentOf(content) };
const manifestMember = member('largesse.manifest', writeManifest(listed, macKey));

test('a sealed backup opens to the same database, key file and time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200_000, size: 'max' }), async (database) => {
      const result = await opened(await sealed(database));
      assert.deepEqual(result, { keys, databaseBytes: database.length, at });
      assert.deepEqual(readFileSync(target), Buffer.from(database));
      assert.equal(statSync(target).mode & 0o777, 0o600);
    }),
    { numRuns: 15 },
  );
});

test('a backup opens from pieces of any size', async () => {
  const bytes = await sealed(content);
  for (const size of [1, 7, 100, 511, 4_096]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, piece) =>
      bytes.subarray(piece * size, (piece + 1) * size),
    );
    rmSync(target, { force: true });
    await openBackup(Readable.from(pieces), { identity, database: target, databaseBytesMax });
    assert.deepEqual(readFileSync(target), content);
  }
});

test('a backup that is cut off anywhere is rejected', async () => {
  const bytes = await sealed(content);
  for (let length = 0; length < bytes.length; length++) {
    rmSync(target, { force: true });
    await assert.rejects(opened(bytes.subarray(0, length)), SealedBackupError, `at ${length}`);
    assert(!existsSync(target));
  }
});

test('a backup in which a byte was changed or added is rejected', async () => {
  const bytes = await sealed(content);
  for (let place = 0; place < bytes.length; place++) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    rmSync(target, { force: true });
    await assert.rejects(opened(changed), SealedBackupError, `at ${place}`);
    assert(!existsSync(target));
  }
  await assertRejects(async () => await opened(Buffer.concat([bytes, Buffer.of(0)])), 'damaged');
});

test('a large backup that lacks whole chunks of the encryption is rejected', async () => {
  // Bytes that zstd does not make shorter.
  const bytes = await sealed(shake(300_000));
  assert(bytes.length > 3 * 65_552);
  const header = bytes.length % 65_552;
  for (const cut of [header, header + 65_552, header + 2 * 65_552])
    await assertRejects(async () => await opened(bytes.subarray(0, cut)), 'damaged', `at ${cut}`);
});

test('an archive that someone without the key of the MAC made for the sheet is rejected before it is written', async () => {
  const otherKey = Buffer.alloc(32, 7);
  const forgeries = {
    'another MAC': member('largesse.manifest', writeManifest(listed, otherKey)),
    'no manifest': Buffer.alloc(0),
    'another time': member(
      'largesse.manifest',
      Buffer.from(
        writeManifest(listed, macKey)
          .toString()
          .replace(`at ${at / 1_000}`, `at ${at / 1_000 + 60}`),
      ),
    ),
    'another version': member(
      'largesse.manifest',
      Buffer.from(writeManifest(listed, macKey).toString().replace('backup 1', 'backup 2')),
    ),
    'an empty manifest': member('largesse.manifest', Buffer.alloc(0)),
    'more lines': member(
      'largesse.manifest',
      Buffer.concat([writeManifest(listed, macKey), Buffer.from('x')]),
    ),
  };
  for (const [what, first] of Object.entries(forgeries)) {
    const bytes = await sealedArchive(Buffer.concat([first, keysMember, databaseMember, end]));
    await assertRejects(async () => await opened(bytes), 'forged', what);
    await assert.rejects(readBackupTime(bytes, identity), { problem: 'forged' }, what);
  }
});

test('parts of two backups of one service are not put together', async () => {
  const others = {
    'other keys': [member('largesse.keys.json', Buffer.from('{"keys": [1]}\n')), databaseMember],
    'another database': [keysMember, member('largesse.db', Buffer.from('SQLite format 3\0 and less'))],
    'a longer database': [keysMember, member('largesse.db', Buffer.concat([content, content]))],
  };
  for (const [what, parts] of Object.entries(others)) {
    const bytes = await sealedArchive(Buffer.concat([manifestMember, ...parts, end]));
    await assertRejects(async () => await opened(bytes), 'forged', what);
  }
});

test('the time of a backup is read from its first bytes, also of a large one', async () => {
  for (const bytes of [await sealed(content), (await sealed(shake(3_000_000))).subarray(0, backupHeadBytes)])
    assert.equal(await readBackupTime(bytes, identity), at);
});

test('another recovery sheet does not open a backup', async () => {
  const other = await makeRecoveryKey();
  const bytes = await sealed(content);
  await assertRejects(async () => await opened(bytes, { identity: other.identity }), 'other-key');
});

test('other files are not backups', async () => {
  const files = {
    empty: Buffer.alloc(0),
    text: Buffer.from('hello'),
    database: Buffer.concat([content, Buffer.alloc(10_000)]),
    'a header without an end': Buffer.from(`age-encryption.org/v1\n-> ${'x'.repeat(100_000)}`),
  };
  for (const [what, bytes] of Object.entries(files))
    await assertRejects(async () => await opened(bytes), 'not-a-backup', what);
});

test('an archive with anything else than the three members is rejected', async () => {
  const archives = {
    empty: [end],
    'only keys': [keysMember, end],
    'the other order': [databaseMember, keysMember, end],
    'a third member': [keysMember, databaseMember, member('extra', content), end],
    'two databases': [keysMember, databaseMember, databaseMember, end],
    'another name': [keysMember, member('../largesse.db', content), end],
    'a folder before the name': [keysMember, member('./largesse.db', content), end],
    'a symbolic link': [
      keysMember,
      member(
        'largesse.db',
        content,
        summed((header) => header.write('2', 156)),
      ),
      end,
    ],
    'a wrong sum': [keysMember, member('largesse.db', content, (header) => header.write('7', 100)), end],
    'a size that is not a number': [
      keysMember,
      member(
        'largesse.db',
        content,
        summed((header) => header.write('-1', 124)),
      ),
      end,
    ],
    'a size beyond numbers': [
      keysMember,
      member(
        'largesse.db',
        content,
        summed((header) => header.fill(0xff, 125, 136).fill(0x80, 124, 125)),
      ),
      end,
    ],
    'a large key file': [member('largesse.keys.json', Buffer.alloc(65_537)), databaseMember, end],
    'bytes after the end': [keysMember, databaseMember, end, Buffer.from('more')],
    'too many empty blocks': [keysMember, databaseMember, Buffer.alloc(20_000)],
  };
  for (const [what, parts] of Object.entries(archives)) {
    const bytes = await sealedArchive(Buffer.concat([manifestMember, ...parts]));
    await assertRejects(async () => await opened(bytes), 'not-a-backup', what);
  }
  await opened(
    await sealedArchive(Buffer.concat([manifestMember, keysMember, databaseMember, Buffer.alloc(8 * 512)])),
  );
});

test('an archive that ends early is rejected, although its encryption is complete', async () => {
  const whole = Buffer.concat([manifestMember, keysMember, databaseMember, end]);
  const before = manifestMember.length;
  for (const length of [
    100,
    600,
    before + 10,
    before + 600,
    before + keysMember.length + 10,
    before + keysMember.length + 520,
    whole.length - 1_024,
  ])
    await assertRejects(
      async () => await opened(await sealedArchive(whole.subarray(0, length))),
      'damaged',
      `at ${length}`,
    );
});

test('a database above the limit is rejected before it is written', async () => {
  const bytes = await sealed(Buffer.alloc(50_000_000));
  assert(bytes.length < 20_000, 'a small file for a large database');
  await assertRejects(async () => await opened(bytes), 'too-large');
});

test('a window that needs much memory is rejected', async () => {
  const archive = Buffer.concat([
    manifestMember,
    keysMember,
    member('largesse.db', Buffer.alloc(2 ** 20)),
    end,
  ]);
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  // A zstd frame: no content size, a window of 128 MiB, one raw block.
  const block = Buffer.alloc(3);
  block.writeUIntLE((512 << 3) | 1, 0, 3);
  const frame = Buffer.concat([
    Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3),
    block,
    archive.subarray(0, 512),
  ]);
  const bytes = await encrypter.encrypt(frame);
  await assertRejects(async () => await opened(bytes), 'damaged');
});

test('an error of the source or the disk is not called damage', async () => {
  const bytes = await sealed(content);
  const broken = async function* () {
    yield bytes.subarray(0, 300);
    throw new Error('the connection was closed');
  };
  rmSync(target, { force: true });
  await assert.rejects(
    openBackup(broken(), { identity, database: target, databaseBytesMax }),
    /^Error: the connection was closed$/,
  );
  assert(!existsSync(target));
  await opened(bytes);
  await assert.rejects(
    openBackup(Readable.from([bytes]), { identity, database: target, databaseBytesMax }),
    /EEXIST/,
  );
  assert.deepEqual(readFileSync(target), content, 'an existing file is kept');
});

test('a copy that changes while it is sealed fails the backup', async () => {
  const parts = (text: string) =>
    writeMembers([{ name: 'largesse.db', bytes: 3, at: 0, content: Readable.from([Buffer.from(text)]) }]);
  await Readable.from(parts('abc')).toArray();
  for (const text of ['ab', 'abcd'])
    await assert.rejects(Readable.from(parts(text)).toArray(), /largesse\.db was changed while it was read/);
});

test('a database of more than 8 GiB has a binary size, which the reader understands', async () => {
  const bytes = 9 * 2 ** 30;
  const header = headerOf({ name: 'largesse.db', bytes, at: 0 });
  const large = { ...listed, database: { ...listed.database, bytes } };
  const start = [member('largesse.manifest', writeManifest(large, macKey)), keysMember, header];
  await assert.rejects(
    readMembers(Readable.from(start), {
      macKey,
      databaseBytesMax: bytes,
      write: () => Promise.resolve(),
    }),
    { problem: 'damaged' },
  );
  await assert.rejects(
    readMembers(Readable.from(start), {
      macKey,
      databaseBytesMax: bytes - 1,
      write: () => Promise.resolve(),
    }),
    { message: `the database has ${bytes} bytes, and at most ${bytes - 1} are accepted` },
  );
});

test('a typed recovery key may have spaces and small letters, and a wrong character is found', async () => {
  const text = identity.reveal();
  assert.equal(text.length, recoveryKeyLength);
  const groups =
    text
      .toLowerCase()
      .match(/.{1,4}/g)
      ?.join(' \n') ?? '';
  for (const typed of [text, groups, ` ${text}\t`]) {
    const parsed = await parseRecoveryKey(typed);
    assert(parsed.ok);
    assert.equal(parsed.value.recipient, recipient);
    assert.equal(parsed.value.identity.reveal(), text);
  }
  for (let place = 0; place < text.length; place++) {
    const other = text[place] === 'Q' ? 'P' : 'Q';
    const parsed = await parseRecoveryKey(`${text.slice(0, place)}${other}${text.slice(place + 1)}`);
    assert(!parsed.ok, `at ${place}`);
  }
  for (const typed of ['', text.slice(1), `${text}Q`, recipient, 'Q'.repeat(10_000)])
    assert(!(await parseRecoveryKey(typed)).ok);
});

test('the id of a sheet has four characters', () => {
  assert.match(sheetIdOf(recipient), /^[0-9A-F]{4}$/);
  assert.equal(sheetIdOf('age1test'), sheetIdOf('age1test'));
});
