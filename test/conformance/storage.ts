/**
 * What every storage engine must do: `storageConformance(name, factory)` holds an engine to the contract of
 * `src/storage/storage.ts` and to the schema's own rules. Nothing here knows which engine it is.
 */

import { suite } from 'node:test';
import type { StorageFactory } from '../support/database.ts';
import { testIntegrity } from './integrity.ts';
import { testMemories } from './memories.ts';
import { testMigrations } from './migrations.ts';
import { testScripts } from './scripts.ts';
import { testStoresApart } from './stores-apart.ts';
import { testTransactions } from './transactions.ts';
import { testValues } from './values.ts';

export function storageConformance(name: string, factory: StorageFactory): void {
  suite(`${name}: transactions`, () => testTransactions(factory));
  suite(`${name}: running scripts`, () => testScripts(factory));
  suite(`${name}: memories`, () => testMemories(factory));
  suite(`${name}: values`, () => testValues(factory));
  suite(`${name}: migrations`, () => testMigrations(factory));
  suite(`${name}: integrity of the schema`, () => testIntegrity(factory));
  suite(`${name}: stores lie apart`, () => testStoresApart(factory));
}
