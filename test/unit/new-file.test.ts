/** Files that commands make. */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { assertCanMake } from '../../src/cli/new-file.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const otherUid = 65_534;

/** Runs a function as an account that is not root, to which all folders are open. */
function withoutRoot(run: () => void): void {
  const uid = process.geteuid?.();
  if (uid === 0) process.seteuid?.(otherUid);
  try {
    run();
  } finally {
    if (uid === 0) process.seteuid?.(uid);
  }
}

test('a file that cannot be made is rejected with its folder and the account', () => {
  const folder = makeScratchFolder('largesse-new-file-');
  try {
    chmodSync(folder, 0o755);
    const closed = join(folder, 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o500);
    withoutRoot(() =>
      assert.throws(() => assertCanMake(join(closed, 'copy.db')), {
        name: 'CommandError',
        message: new RegExp(
          `^the account [\\w-]* ?(?:with |\\()uid ${process.geteuid?.()}\\)? cannot make a file in the folder ${closed}: give that account the folder`,
        ),
      }),
    );
    assert.throws(() => assertCanMake(join(folder, 'nowhere', 'copy.db')), {
      message: `the folder ${join(folder, 'nowhere')} does not exist`,
    });
    const taken = join(folder, 'taken.db');
    writeFileSync(taken, 'kept');
    assert.throws(() => assertCanMake(taken), { message: `${taken} already exists` });
    const free = join(folder, 'free.db');
    assertCanMake(free);
    assert.equal(existsSync(free), false, 'nothing stays');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
