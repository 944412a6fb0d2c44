/** Corrupted rows of a PostgreSQL server. */

import { corruptiblePostgres } from '../support/corruption.ts';
import { fillLedger, testCorruption } from './corruption.ts';

await testCorruption(corruptiblePostgres(fillLedger));
