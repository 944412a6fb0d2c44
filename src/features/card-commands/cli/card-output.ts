/** Files that commands about gift cards write. */

import { once } from 'node:events';
import { open, rename } from 'node:fs/promises';
import { assertCanMake } from '../../../cli/new-file.ts';

/** Writes a text to standard output, or to a new file that only its owner can read, which appears when it is complete. */
export async function writeText(parts: AsyncIterable<string>, file: string | undefined): Promise<void> {
  if (file === undefined) {
    for await (const part of parts) if (!process.stdout.write(part)) await once(process.stdout, 'drain');
    return;
  }
  assertCanMake(file);
  const partial = `${file}.partial`;
  {
    await using handle = await open(partial, 'w', 0o600);
    for await (const part of parts) await handle.writeFile(part);
    await handle.sync();
  }
  await rename(partial, file);
}
