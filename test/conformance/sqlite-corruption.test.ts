/** Corrupted rows of the embedded engine. */

import { corruptibleSqlite } from '../support/corruption.ts';
import { fillLedger, testCorruption } from './corruption.ts';

await testCorruption(corruptibleSqlite(fillLedger));
