/**
 * The conformance suite of every storage engine, `storageConformance(name, factory)`: the contract of
 * `src/database/storage.ts` and the rules of the schema. It does not depend on the engine.
 */

import { suite } from 'node:test';
import type { StorageFactory } from '../support/database.ts';
import { testIntegrity } from './integrity.ts';
import { testCaches } from './caches.ts';
import { testMigrations } from './migrations.ts';
import { testScripts } from './scripts.ts';
import { testStoresApart } from './stores-apart.ts';
import { testTransactions } from './transactions.ts';
import { testValues } from './values.ts';

export function storageConformance(name: string, factory: StorageFactory): void {
  suite(`${name}: transactions`, () => testTransactions(factory));
  suite(`${name}: running scripts`, () => testScripts(factory));
  suite(`${name}: caches`, () => testCaches(factory));
  suite(`${name}: values`, () => testValues(factory));
  suite(`${name}: migrations`, () => testMigrations(factory));
  suite(`${name}: integrity of the schema`, () => testIntegrity(factory));
  suite(`${name}: stores are separate`, () => testStoresApart(factory));
}
