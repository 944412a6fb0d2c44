/**
 * The file of issued codes. The service returns a code only once, so this file is the only place where the codes of
 * an import can be read. Only its owner can read it (mode 0600), and each line is synced before its card counts as
 * issued.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';

const header = 'row,store,id,code,key\n';

interface IssuedCode {
  row: number;
  store: string;
  id: number;
  code: string;
  key: string;
}

export interface IssuedFile extends AsyncDisposable {
  /** The lines of earlier runs, by the row's key. */
  readonly recorded: ReadonlyMap<string, { id: number; code: string }>;
  append(issued: IssuedCode): Promise<void>;
}

/** Opens the file of an earlier run to continue it, or creates one. */
export async function openIssuedFile(path: string): Promise<IssuedFile> {
  const { O_RDWR, O_CREAT, O_APPEND, O_SYNC } = constants;
  const file = await open(path, O_RDWR | O_CREAT | O_APPEND | O_SYNC, 0o600);
  // The last line of a run that was cut off in the middle of writing has no end. Its card counts as not recorded:
  // the service replays its response for the same key.
  const text = await file.readFile('utf8');
  if (!text.startsWith(header) && !header.startsWith(text)) {
    await file.close();
    throw new Error(`${path} is not a file of issued codes; its content is left as it was`);
  }
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  await file.chmod(0o600);
  if (complete !== text) await file.truncate(Buffer.byteLength(complete));
  if (complete === '') await file.appendFile(header);

  const [, ...lines] = parse(complete === '' ? header : complete);
  const recorded = new Map(
    lines.map(([, , id = '', code = '', key = '']) => [key, { id: Number(id), code }] as const),
  );
  // One line after the other: two writes at once could interleave.
  let last: Promise<void> = Promise.resolve();
  return {
    recorded,
    append({ row, store, id, code, key }) {
      last = last.then(() => file.appendFile(`${[row, store, id, code, key].join(',')}\n`));
      return last;
    },
    async [Symbol.asyncDispose]() {
      await file.close();
    },
  };
}
