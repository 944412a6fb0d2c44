/** Public ids in tests that query the database, where ids are internal. */

import { strict as assert } from 'node:assert';
import type { PublicIds } from '../../src/platform/public-id.ts';
import { readKeyFile } from '../../src/platform/key-file.ts';
import { keysOf } from '../../src/platform/keys.ts';

/** The public ids of a service with this key file. */
export function publicIdsOf(keysFile: string): PublicIds {
  const masters = readKeyFile(keysFile);
  assert.ok(masters, `there is no key file ${keysFile}`);
  return keysOf(masters).publicIds;
}

/** The internal id of a public one. @throws AssertionError if it is not a public id. */
export function internalIdOf(keysFile: string, publicId: number): number {
  const id = publicIdsOf(keysFile).read(publicId);
  assert.ok(id !== undefined, `${publicId} is not a public id`);
  return id;
}
