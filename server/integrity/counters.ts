/**
 * Counters of buckets: how many records they count, and from which position on they have room. Held
 * against what the other parts have counted, so this part comes last and only in whole checks.
 */
import {
  counterFault,
  counterKey,
  decodeCounter,
  encodeCounter,
} from '#server/transactions/system-keys.ts';
import type {CheckState} from './check-state.ts';
import type {Finding, Mend} from './finding.ts';

export function* checkCounters(state: CheckState): Generator<Finding> {
  if (state.isNarrow || !state.isReadable) return;
  for (const {id, name} of state.context.catalog.buckets) {
    yield* countFinding(state, id, name);
    yield* positionFinding(state, id, name);
  }
}

function* countFinding(state: CheckState, id: number, place: string): Generator<Finding> {
  const counted = (state.recordsOfBucket.get(id) ?? 0) + (state.lightsOfBucket.get(id) ?? 0);
  const key = counterKey('count', id);
  const stored = state.get(key);
  const fault = stored === undefined ? undefined : counterFault(stored);
  if (fault !== undefined) {
    const mend: Mend = ({transaction}) => {
      const now = transaction.get(key);
      if (now === undefined || counterFault(now) === undefined) return;
      transaction.require({kind: 'unchanged', key});
      transaction.put(key, encodeCounter(counted));
    };
    const says = `it holds ${counted} records, and its count cannot be read: ${fault}`;
    yield {kind: 'count-wrong', place, says, mend};
    return;
  }
  const count = decodeCounter(stored);
  if (count === counted) return;
  yield {
    kind: 'count-wrong',
    place,
    says: `it holds ${counted} records and counts ${count}`,
    // What others add and remove meanwhile is added to the count as well.
    mend: ({transaction}) => transaction.count(id, counted - count),
  };
}

function* positionFinding(state: CheckState, id: number, place: string): Generator<Finding> {
  const least = state.positionOfBucket.get(id) ?? 0;
  const stored = state.get(counterKey('position', id));
  const fault = stored === undefined ? undefined : counterFault(stored);
  const next = fault === undefined ? decodeCounter(stored) : undefined;
  if (next !== undefined && next >= least) return;
  yield {
    kind: 'position-low',
    place,
    says: `it has records up to position ${least - 1}, and gives new ones ${next ?? fault}`,
    mend: ({transaction}) => transaction.passPositions(id, least),
  };
}
