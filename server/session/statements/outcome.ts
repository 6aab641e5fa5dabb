/**
 * What a client is told of a commit that did not simply succeed.
 *
 * `unknown` stays unknown: its refusal promises nothing about the effect. Everything else here
 * promises that nothing happened. The outcome of a server-level
 * entry is told in engine/engine.ts.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CommitOutcome, Refused} from '#server/transactions/commit.ts';
import type {Database} from '#server/engine/database.ts';

/** The refusal for an outcome; undefined when it committed. */
export function refusalOf(outcome: CommitOutcome): Refusal | undefined {
  switch (outcome.kind) {
    case 'committed':
      return undefined;
    case 'conflict':
      return new Refusal(
        'commit.conflict',
        `${outcome.reason}: nothing was stored, run the transaction again`,
      );
    case 'unknown':
      return new Refusal(
        'commit.unknown',
        `${outcome.detail}: the commit may or may not have happened; read before writing again`,
      );
    case 'refused':
      return refused(outcome);
    case 'unapplied':
      return new Refusal(
        'commit.applied-remotely',
        `entry ${outcome.index} is committed, and this server could not apply it ` +
          `(${outcome.detail}): read it from another member, do not repeat it`,
        {detail: {index: outcome.index}},
      );
    default:
      return unreachable(outcome);
  }
}

function refused({code, detail}: Refused): Refusal {
  switch (code) {
    case 'queue-full':
      return new Refusal('commit.queue-full', detail);
    case 'too-large':
      return new Refusal('limit.entry', detail);
    case 'fenced':
      return new Refusal('database.fenced', detail);
    case 'disk-full':
      return new Refusal('storage.full', detail);
    case 'expired':
      return new Refusal('commit.conflict', detail);
    case 'not-leader':
      return new Refusal('cluster.not-leader', detail);
    case 'log-failed':
    case 'stopping':
      return new Refusal('server.stopping', detail);
    default:
      return unreachable(code);
  }
}

/** The rows of this run are not those that were stored, so they are not shown. */
export function repeated(index: number): Refusal {
  return new Refusal(
    'request.reused',
    `the request with this id was committed before, by entry ${index}; its answer is not kept`,
    {detail: {index}},
  );
}

/**
 * Begins work that has an id unless it was committed under it before, by whichever leader: what it
 * did the first time may be what it would stumble over the second time.
 *
 * @throws {Refusal} `request.reused`, or `commit.unknown` while the first one's outcome is open.
 */
export function unlessCommitted<T>(
  database: Pick<Database, 'outcomeOf'>,
  requestId: string | undefined,
  begin: () => T | Promise<T>,
): T | Promise<T> {
  const earlier = requestId === undefined ? undefined : database.outcomeOf(requestId);
  if (earlier === undefined) return begin();
  return earlier.then(outcome => {
    const index = committedIndex(outcome);
    if (index !== undefined) throw repeated(index);
    return begin();
  });
}

/** Whether the work with this id was committed, by whichever leader. @throws {Refusal} */
export async function wasCommitted(
  database: Pick<Database, 'outcomeOf'>,
  requestId: string | undefined,
): Promise<boolean> {
  const earlier = requestId === undefined ? undefined : database.outcomeOf(requestId);
  return earlier !== undefined && committedIndex(await earlier) !== undefined;
}

/** Undefined: it did not happen. @throws {Refusal} while that is open. */
function committedIndex(outcome: CommitOutcome): number | undefined {
  if (outcome.kind === 'committed') return outcome.index;
  const isOpen = outcome.kind === 'unknown' || outcome.kind === 'unapplied';
  const refusal = isOpen ? refusalOf(outcome) : undefined;
  if (refusal !== undefined) throw refusal;
  return undefined;
}
