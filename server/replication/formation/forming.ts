/**
 * The conversation by which a server without a memory of its cluster finds out how to begin: it
 * reports what it has once in a while, and decides when enough was heard (formation-decision.ts).
 *
 * All decide by the same rule from the same reports. Where they heard different ones, because some
 * came late, one that begins is heard of as a member by the next, which then joins it.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {LocalData} from '#server/engine/engine-log.ts';
import {decideFormation, type FormationDecision, type PeerReport} from './formation-decision.ts';
import type {PeerControlTransport} from './peer-control-transport.ts';

export interface FormingOptions {
  readonly talk: PeerControlTransport;
  readonly self: NodeId;
  readonly declared: readonly NodeId[];
  readonly data: LocalData;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** `svc.ha.bootstrapTimeoutMs`. */
  readonly timeoutMs: number;
  /** Told whose reports are missing, at each look. */
  readonly waits: (missing: readonly NodeId[]) => void;
}

export type FormationOutcome = Exclude<FormationDecision, {readonly kind: 'wait' | 'refuse'}>;

const reportMs = 200;
/** Who waits as well says so every `reportMs`; who does not any more has ended. */
const silentMs = 3_000;

/**
 * Resolves with how to begin.
 *
 * @throws {Refusal} `start.refused` when this server has what the cluster has not.
 */
export async function formCluster(options: FormingOptions): Promise<FormationOutcome> {
  const {talk, self, declared, data, clock, timers, logger, timeoutMs} = options;
  const own: PeerReport = {standing: 'new', data, declared};
  const reports = new Map<NodeId, PeerReport>([[self, own]]);
  const heardAt = new Map<NodeId, number>();
  talk.hear((from, saying) => {
    if (saying.kind !== 'report') return;
    reports.set(from, saying);
    heardAt.set(from, clock.monotonic());
  });
  const deadline = clock.monotonic() + timeoutMs;
  let toldMissing = '';
  for (;;) {
    talk.sayToAll({kind: 'report', ...own});
    forgetSilent(reports, heardAt, clock.monotonic() - silentMs);
    const isLate = clock.monotonic() >= deadline;
    const decision = decideFormation({self, declared, reports, isLate});
    switch (decision.kind) {
      case 'wait': {
        options.waits(decision.missing);
        const missing = decision.missing.join(', ');
        if (missing !== toldMissing) logger.log('info', 'cluster.forming', {waitsFor: missing});
        toldMissing = missing;
        break;
      }
      case 'refuse':
        throw new Refusal(
          'start.refused',
          `this server cannot become a member: ${decision.reason}; move it away, or export it ` +
            'and import it into the cluster',
        );
      default:
        // Those that still wait for this server's report hear it once more.
        talk.sayToAll({kind: 'report', ...own});
        logger.log('info', 'cluster.formed', {how: decision.kind});
        return decision;
    }
    await new Promise<void>(resolve => void timers.after(reportMs, resolve));
  }
}

/**
 * A server that waited and ended is none to begin with: it would be a voter whom nobody hears. That
 * there is a cluster stays known.
 */
function forgetSilent(
  reports: Map<NodeId, PeerReport>,
  heardAt: ReadonlyMap<NodeId, number>,
  since: number,
): void {
  for (const [id, at] of heardAt) {
    if (at < since && reports.get(id)?.standing === 'new') reports.delete(id);
  }
}
