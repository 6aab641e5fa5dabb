/**
 * Looks whether everything in a database agrees with everything else, as of one view.
 *
 * What the store should hold beside records follows from the records: both keys of each edge, each
 * index entry, each count, the keys of records in other types' buckets. So it is looked at from
 * both sides: each record has what follows from it, and all else follows from a record. Light edges
 * have no record; their two keys must agree with each other. The dictionary and the schema come
 * first, since records are read by them, and the counters last, since the others count for them.
 *
 * Memory: what is counted by bucket and index, and the names; never the records. A finding is
 * handed on as it is met and kept by nobody here; one that can be mended brings its mend along,
 * which looks again under a transaction of its own (finding.ts).
 */
import {Corruption} from '#server/base/errors.ts';
import {StoreFailure} from '#server/storage/store.ts';
import type {CheckView, Findings} from './check-view.ts';
import {checkCounters} from './counters.ts';
import {checkAdjacency} from './edge-keys.ts';
import {checkIndexes} from './index-entries.ts';
import {checkMembers} from './member-keys.ts';
import {checkNames} from './names.ts';
import {checkRecords} from './record-rows.ts';
import {checkSchema} from './schema.ts';
import {checkUnknownKeys} from './unknown-keys.ts';

/**
 * All that is wrong in what the view's scope covers; `pause` whenever others should have a turn.
 *
 * @throws {Refusal} `query.terminated` when it is told to stop.
 */
export function* checkDatabase(view: CheckView): Findings {
  yield* checkSchema(view);
  const {bucketIds, rids} = view.scope;
  const isNarrow = bucketIds !== undefined || rids !== undefined;
  for (const [name, part] of parts) {
    if (isNarrow && part === checkUnknownKeys) continue;
    view.part = {name, rows: 0};
    yield* readable(view, name, part);
  }
  yield* checkCounters(view);
}

type Part = (view: CheckView) => Findings;

const parts: readonly (readonly [name: string, part: Part])[] = [
  ['names', checkNames],
  ['records', checkRecords],
  ['keys of edges', checkAdjacency],
  ['indexes', checkIndexes],
  ['keys of members', checkMembers],
  ['keys without a meaning', checkUnknownKeys],
];
export const checkPartCount = parts.length;

/** Where the store cannot give its bytes a part ends, and the next one begins. */
function* readable(view: CheckView, place: string, part: (view: CheckView) => Findings): Findings {
  try {
    yield* part(view);
  } catch (error) {
    if (!(error instanceof Corruption || error instanceof StoreFailure)) throw error;
    view.isWhole = false;
    yield {kind: 'store-unreadable', place, says: error.message};
  }
}
