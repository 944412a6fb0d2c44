/** Writes small ZIP archives (APPNOTE.TXT 6.3.10) without compression, for files that are compressed already. */

import { crc32 } from 'node:zlib';

const version = 20;
/** Names are UTF-8. */
const flags = 0x0800;
/** 1 January 1980, as in archives that say nothing about time. */
const dosDay = 0x0021;
const localHead = 30;
const directoryHead = 46;

/** @param files by their names. */
export function storedZip(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Uint8Array[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, content] of files) {
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(version, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(dosDay, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const head = Buffer.alloc(4);
    head.writeUInt32LE(0x04034b50, 0);
    parts.push(head, common, nameBytes, content);
    const entry = Buffer.alloc(directoryHead);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(version, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(at, 42);
    directory.push(Buffer.concat([entry, nameBytes]));
    at += localHead + nameBytes.length + content.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, entries, end]);
}
