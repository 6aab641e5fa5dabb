/**
 * What sessions say of requests that only the leader of a cluster can carry out.
 *
 * A statement that lost its leader before anything of it was stored may be handed to the next one
 * as it came; one that stored something may not (a script of several commits). Only this file
 * knows how the first is told from the second.
 * The same of reads that the copy of this server cannot answer.
 */
import {isStoreDamage, Refusal} from '#server/base/errors.ts';

const untouched = 'nothingStored';

/**
 * Nothing of the request happened here: whoever has it may take it to the leader.
 *
 * @param leader - Its address, where it is known.
 */
export function leaderNeeded(message: string, leader?: string): Refusal {
  const address = leader === undefined ? {} : {args: leader};
  return new Refusal('cluster.not-leader', message, {detail: {[untouched]: 1, ...address}});
}

/** Whether the request that failed so may be handed to the leader as it came. */
export function requiresLeader(error: unknown): boolean {
  return error instanceof Refusal && error.detail[untouched] === 1;
}

/** Whether it failed because this server's copy of the database cannot be used; others' may. */
export function isLocalCopyDamaged(error: unknown): boolean {
  if (isStoreDamage(error)) return true;
  const ofCopy = ['database.fenced', 'cluster.snapshot-pending'];
  return error instanceof Refusal && ofCopy.includes(error.code);
}

/** Work of one entry of the log: refused by a server that does not lead, it stored nothing. */
export async function withLeader<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw ofOneEntry(error);
  }
}

/** What work of one entry failed with, as `requiresLeader` knows it. */
export function ofOneEntry(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.code !== 'cluster.not-leader') return error;
  return leaderNeeded(error.message);
}
