/** When a task that looks for work runs. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterCommits } from '../../src/jobs/job.ts';
import { commitListeners } from '../../src/start/commits.ts';

describe('afterCommits', () => {
  it('runs first, after a commit, and every fifth time', async () => {
    const commits = commitListeners();
    let runs = 0;
    const run = afterCommits(async () => void (runs += 1), commits.add);
    const runsAfter = async (times: number): Promise<number> => {
      for (let time = 0; time < times; time += 1) await run();
      return runs;
    };
    assert.equal(await runsAfter(1), 1);
    assert.equal(await runsAfter(4), 1);
    assert.equal(await runsAfter(1), 2);
    commits.notify();
    assert.equal(await runsAfter(1), 3);
    assert.equal(await runsAfter(4), 3);
    assert.equal(await runsAfter(1), 4);
  });

  it('runs again after a commit during a run', async () => {
    const commits = commitListeners();
    let runs = 0;
    const run = afterCommits(async () => {
      runs += 1;
      if (runs === 1) commits.notify();
    }, commits.add);
    for (let time = 0; time < 3; time += 1) await run();
    assert.equal(runs, 2);
  });

  it('runs again after a failure', async () => {
    let runs = 0;
    const run = afterCommits(async () => {
      runs += 1;
      if (runs === 1) throw new Error('the disk is full');
    }, commitListeners().add);
    await assert.rejects(run(), /disk is full/);
    await run();
    await run();
    assert.equal(runs, 2);
  });
});
