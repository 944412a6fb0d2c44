/** The conformance suite of verification, and of logs and their checkpoints. */

import { suite } from 'node:test';
import type { StorageFactory } from '../support/database.ts';
import { testLog } from './log.ts';
import { testEntryTexts } from './entry-texts.ts';
import { testLongChains } from './long-chains.ts';
import { testVerification } from './verification.ts';
import { testVerifiedChanges } from './verified-changes.ts';
import { testVerifiedDays } from './verified-days.ts';
import { testVerifiedRows } from './verified-rows.ts';

export function proofConformance(name: string, factory: StorageFactory): void {
  suite(`${name}: long chains`, () => testLongChains(factory));
  suite(`${name}: verify`, () => testVerification(factory));
  suite(`${name}: verify, texts of entries`, () => testEntryTexts(factory));
  suite(`${name}: verify, other tables`, () => testVerifiedRows(factory));
  suite(`${name}: verify, changes`, () => testVerifiedChanges(factory));
  suite(`${name}: verify, days`, () => testVerifiedDays(factory));
  suite(`${name}: logs and checkpoints`, () => testLog(factory));
}
