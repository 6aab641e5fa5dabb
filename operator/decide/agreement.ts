/**
 * Whom of the servers the operator believes.
 *
 * All members are asked. A leader is believed when a majority of the voters that it names, itself
 * among them, answer with its term and its name, and no voter knows a later term. Everything else
 * is an unknown state, in which nothing is ever changed: a server that was cut off, that lies, or
 * that holds the data of another cluster must not make the operator remove anybody.
 */

/** What a server says of its cluster (GET `/api/v1/cluster`). */
export interface MemberReport {
  readonly clusterName: string;
  readonly peerId: string;
  readonly term: number;
  readonly leaderId: string | undefined;
  /** It leads and takes writes. */
  readonly isReadyLeader: boolean;
  /** It refuses writes, or takes no more of them, for want of room. */
  readonly isDiskFull: boolean;
  readonly peers: readonly ReportedPeer[];
}

export interface ReportedPeer {
  readonly id: string;
  readonly inConfiguration: boolean;
  readonly isVoter: boolean;
  /** Entries that it lacks; undefined while that is not known, and in reports of followers. */
  readonly lag: number | undefined;
  /** Its log does not move, or nothing was heard of it for long, as its leader says. */
  readonly isStuck: boolean;
}

export type Answer =
  | {
      readonly kind: 'report';
      readonly report: MemberReport;
      /** It answered to the token of the cluster, not to the password of root. */
      readonly isPasswordRefused?: boolean;
    }
  /** No server listens, or it does not answer in time. */
  | {readonly kind: 'silent'; readonly message: string}
  /** It is there and is no member of a running cluster yet. */
  | {readonly kind: 'starting'; readonly message: string}
  /** It does not accept the password of root. */
  | {readonly kind: 'refused'; readonly message: string};

export interface AgreedMember {
  readonly id: string;
  readonly isVoter: boolean;
  readonly isLeader: boolean;
  readonly lag: number | undefined;
  readonly isStuck: boolean;
}

export type Agreement =
  | {
      readonly kind: 'agreed';
      readonly term: number;
      readonly leader: string;
      readonly members: readonly AgreedMember[];
    }
  | {
      readonly kind: 'unknown';
      readonly why: 'silence' | 'no-leader' | 'no-majority' | 'later-term';
      readonly message: string;
    };

export function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/**
 * @param answers - By the peer id that each server must have; one that says another name, or that
 *   of another cluster, is not counted at all.
 */
export function agreementOf(clusterName: string, answers: ReadonlyMap<string, Answer>): Agreement {
  const reports = [...answers].flatMap(([expected, answer]) =>
    answer.kind === 'report' && isOwn(answer.report, clusterName, expected) ? [answer.report] : [],
  );
  if (reports.length === 0) return unknown('silence', 'no member answers');
  const term = Math.max(...reports.map(report => report.term));
  const leader = reports.find(report => report.isReadyLeader && report.term === term);
  if (leader === undefined) {
    const claims = reports.filter(({isReadyLeader}) => isReadyLeader);
    return claims.length === 0
      ? unknown('no-leader', 'no member says that it leads')
      : unknown('later-term', `a later term than that of ${claims[0]?.peerId} is known`);
  }
  const configuration = leader.peers.filter(({inConfiguration}) => inConfiguration);
  const voters = new Set(configuration.filter(({isVoter}) => isVoter).map(({id}) => id));
  const agreeing = reports.filter(
    report =>
      voters.has(report.peerId) && report.term === term && report.leaderId === leader.peerId,
  );
  const needed = majorityOf(voters.size);
  if (!voters.has(leader.peerId) || agreeing.length < needed) {
    return unknown(
      'no-majority',
      `${agreeing.length} of ${voters.size} voters confirm ${leader.peerId}, ${needed} must`,
    );
  }
  return {
    kind: 'agreed',
    term,
    leader: leader.peerId,
    members: configuration.map(({id, isVoter, lag, isStuck}) => {
      const isLeader = id === leader.peerId;
      return {id, isVoter, isLeader, lag: isLeader ? 0 : lag, isStuck: !isLeader && isStuck};
    }),
  };
}

/** A server with the name of a member and the data of another cluster is none of ours. */
export function isOwn(report: MemberReport, clusterName: string, expected: string): boolean {
  return report.clusterName === clusterName && report.peerId === expected;
}

function unknown(why: Extract<Agreement, {kind: 'unknown'}>['why'], message: string): Agreement {
  return {kind: 'unknown', why, message};
}
