/**
 * The conformance suite of the services' scripts, without HTTP. The scripts are the same on every engine, and
 * the suite tests their SQL.
 */

import { suite } from 'node:test';
import type { StorageFactory } from '../support/database.ts';
import { testApiRequests } from './api-requests.ts';
import { testBatches } from './batches.ts';
import { testBooks } from './books.ts';
import { testNetBooks } from './net-books.ts';
import { testAccess } from './access.ts';
import { testDeveloperActions } from './developer-actions.ts';
import { testOwnerActions } from './owner-actions.ts';
import { testStaff } from './staff.ts';
import { testStaffActions } from './staff-actions.ts';
import { testCards } from './cards.ts';
import { testCardChanges } from './card-changes.ts';
import { testCardLists } from './card-lists.ts';
import { testCardTimeline } from './card-timeline.ts';
import { testEvents } from './events.ts';
import { testIdempotency } from './idempotency.ts';
import { testInterleaving } from './interleaving.ts';
import { testCodes } from './codes.ts';
import { testKeys } from './keys.ts';
import { testLimitedStaff } from './limited-staff.ts';
import { testLookupThrottle } from './lookup-throttle.ts';
import { testBackups } from './backups.ts';
import { testEmailLists } from './email-lists.ts';
import { testEmailServers } from './email-servers.ts';
import { testWallets } from './wallets.ts';
import { testOwnerNotices } from './owner-notices.ts';
import { testRestored } from './restored.ts';
import { testEmails } from './emails.ts';
import { testPastCards } from './past-cards.ts';
import { testRecipientLookups } from './recipient-lookup.ts';
import { testRedemptions } from './redemptions.ts';
import { testRoundTrips } from './round-trips.ts';
import { testSearch } from './search.ts';
import { testToday } from './today.ts';
import { testStocks } from './stocks.ts';
import { testTills } from './tills.ts';
import { testTraces } from './traces.ts';
import { testUpdates } from './updates.ts';
import { testUnrecordedPast } from './unrecorded-past.ts';
import { testWebhooks } from './webhooks.ts';

export function serviceConformance(name: string, factory: StorageFactory): void {
  suite(`${name}: issue and retrieve`, () => testCards(factory));
  suite(`${name}: requests to the API`, () => testApiRequests(factory));
  suite(`${name}: batches`, () => testBatches(factory));
  suite(`${name}: stocks of printed cards`, () => testStocks(factory));
  suite(`${name}: lists of cards`, () => testCardLists(factory));
  suite(`${name}: timeline and check of a card`, () => testCardTimeline(factory));
  suite(`${name}: search and its budget`, () => testSearch(factory));
  suite(`${name}: the limit on failed lookups`, () => testLookupThrottle(factory));
  suite(`${name}: lookups of recipients`, () => testRecipientLookups(factory));
  suite(`${name}: update`, () => testUpdates(factory));
  suite(`${name}: idempotency and upkeep`, () => testIdempotency(factory));
  suite(`${name}: changes of cards`, () => testCardChanges(factory));
  suite(`${name}: cards at past instants`, () => testPastCards(factory));
  suite(`${name}: cards before changes were recorded`, () => testUnrecordedPast(factory));
  suite(`${name}: interrupted scripts`, () => testInterleaving(factory));
  suite(`${name}: stores and tokens`, () => testAccess(factory));
  suite(`${name}: staff`, () => testStaff(factory));
  suite(`${name}: what developers of a store change`, () => testDeveloperActions(factory));
  suite(`${name}: what owners of a store change`, () => testOwnerActions(factory));
  suite(`${name}: actions of staff`, () => testStaffActions(factory));
  suite(`${name}: redemptions at the counter`, () => testRedemptions(factory));
  suite(`${name}: staff limited to locations`, () => testLimitedStaff(factory));
  suite(`${name}: tills`, () => testTills(factory));
  suite(`${name}: round trips`, () => testRoundTrips(factory));
  suite(`${name}: codes`, () => testCodes(factory));
  suite(`${name}: keys`, () => testKeys(factory));
  suite(`${name}: events`, () => testEvents(factory));
  suite(`${name}: books`, () => testBooks(factory));
  suite(`${name}: VAT in the books`, () => testNetBooks(factory));
  suite(`${name}: today`, () => testToday(factory));
  suite(`${name}: backups`, () => testBackups(factory));
  suite(`${name}: emails`, () => testEmails(factory));
  suite(`${name}: mail servers of stores`, () => testEmailServers(factory));
  suite(`${name}: emails to owners`, () => testOwnerNotices(factory));
  suite(`${name}: restored copies`, () => testRestored(factory));
  suite(`${name}: lists of emails`, () => testEmailLists(factory));
  suite(`${name}: webhooks`, () => testWebhooks(factory));
  suite(`${name}: wallets`, () => testWallets(factory));
  suite(`${name}: traces`, () => testTraces(factory));
}
