/** What a statement has changed, counted while it runs. */
import type {SchemaCounts} from '#server/plan/statement.ts';

export interface WriteCounts {
  nodesCreated: number;
  nodesDeleted: number;
  relationshipsCreated: number;
  relationshipsDeleted: number;
  /** Assignments that set a property or took one away. */
  propertiesSet: number;
  labelsAdded: number;
  labelsRemoved: number;
}

export function newWriteCounts(): WriteCounts {
  return {
    nodesCreated: 0,
    nodesDeleted: 0,
    relationshipsCreated: 0,
    relationshipsDeleted: 0,
    propertiesSet: 0,
    labelsAdded: 0,
    labelsRemoved: 0,
  };
}

/** The counts as JSON; undefined when nothing was changed. Source: reference, section 2.2. */
export function countsText(counts: WriteCounts, schema: SchemaCounts = {}): string | undefined {
  const all = {
    ...counts,
    indexesAdded: 0,
    indexesRemoved: 0,
    constraintsAdded: 0,
    constraintsRemoved: 0,
    ...schema,
  };
  if (Object.values(all).every(count => count === 0)) return undefined;
  return JSON.stringify({...all, containsUpdates: true});
}
