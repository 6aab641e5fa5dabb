/**
 * Looks whether everything in a database agrees with everything else, as of one snapshot.
 *
 * What the store should hold beside records follows from the records: both keys of each edge, each
 * index entry, each count, the keys of records in other types' buckets. So it is looked at from
 * both sides: each record has what follows from it, and all else follows from a record. Light edges
 * have no record; their two keys must agree with each other. The dictionary and the schema come
 * first, since records are read by them, and the counters last, since the others count for them.
 *
 * The two sides of a whole database are weighed against each other first (balance.ts), which takes
 * one walk over all rows and no look-up. What does not come out even is then looked at one by one.
 *
 * Memory: what is counted by bucket and index, and the names; never the records. A finding is
 * handed on as it is met and kept by nobody here; one that can be mended brings its mend along,
 * which looks again under a transaction of its own (finding.ts).
 */
import {Corruption} from '#server/base/errors.ts';
import {StoreFailure} from '#server/storage/store.ts';
import type {CheckState, Findings} from './check-state.ts';
import {checkCounters} from './counters.ts';
import {checkAdjacency, surveyAdjacency} from './edge-keys.ts';
import {checkExternalValues} from './external-values.ts';
import {checkIndexes, surveyIndexes} from './index-entries.ts';
import {checkMembers, surveyMembers} from './member-keys.ts';
import {checkNames} from './names.ts';
import {checkDependents, checkRecords} from './record-rows.ts';
import {checkSchema} from './schema.ts';
import {checkUnknownKeys} from './unknown-keys.ts';

/**
 * All that is wrong in what the state's scope covers; `pause` whenever others should have a
 * turn.
 *
 * @throws {Refusal} `query.terminated` when it is told to stop.
 */
export function* checkDatabase(state: CheckState): Findings {
  yield* checkSchema(state);
  yield* part(state, 'names', checkNames);
  yield* part(state, 'records', checkRecords);
  yield* part(state, 'values beside records', checkExternalValues);
  if (!state.isNarrow) {
    yield* part(state, 'keys of edges', surveyAdjacency);
    yield* part(state, 'indexes', surveyIndexes);
    yield* part(state, 'keys of members', surveyMembers);
    yield* part(state, 'keys without a meaning', checkUnknownKeys);
    if (state.hasSuspects) yield* part(state, 'records again', checkDependents);
  }
  yield* part(state, 'edges one by one', checkAdjacency);
  yield* part(state, 'entries one by one', checkIndexes);
  yield* part(state, 'members one by one', checkMembers);
  yield* checkCounters(state);
}

/** Parts at most: the last ones have nothing to do where all comes out even. */
export const checkPartCount = 11;

/** Where the store cannot give its bytes a part ends, and the next one begins. */
function* part(state: CheckState, place: string, look: (state: CheckState) => Findings): Findings {
  state.part = {name: place, rows: 0};
  try {
    yield* look(state);
  } catch (error) {
    if (!(error instanceof Corruption || error instanceof StoreFailure)) throw error;
    state.gaveUp();
    yield {kind: 'store-unreadable', place, says: error.message};
  }
}
