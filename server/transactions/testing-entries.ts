/** What tests of the appliers make entries and databases from: database 1 of one log. */
import type {DatabasePosition} from './system-keys.ts';

export const testLogId = 'ab'.repeat(16);

/** The head of a usual entry, without its counters. */
export const testHead = {
  databaseId: 1,
  schemaVersion: 0,
  clock: 1,
  newSchemaVersion: undefined,
  requestId: undefined,
};

/** Nothing was applied yet; the next entry is the one behind `index`. */
export function testPosition(index: number): DatabasePosition {
  return {
    databaseId: 1,
    logId: testLogId,
    index,
    chain: 0,
    transactionCount: 0,
    schemaVersion: 0,
    formatLevel: 1,
  };
}
