/**
 * How a server without a memory of a cluster becomes a member of one: pure, from what it and the
 * declared peers report.
 *
 * Where anybody is a member already there is a cluster, and the server asks to be taken in; never
 * does a second one begin. Where all are new, or began just now, they begin together, with an
 * empty log, if nobody has data. Else the server with the newest data begins alone and takes the
 * others in. Who holds exactly what it began with keeps that and goes on behind it; the others get
 * a copy. Who has something that the source has not refuses to start, since it would be lost.
 *
 * Only servers with equal lists begin together: with two lists there would be two majorities. A
 * server that the others' list does not name waits until they have begun, and joins them.
 *
 * Source: docs/cluster.md.
 */
import type {NodeId} from '#server/raft/message.ts';
import type {Baseline, LocalData} from '#server/engine/engine-log.ts';

export interface PeerReport {
  /**
   * `member`: its log holds something. `formed`: it began together with the others, and nothing
   * has happened yet. `new`: it has no memory of a cluster, or waits to be taken in.
   */
  readonly standing: 'member' | 'formed' | 'new';
  readonly data: LocalData;
  /** What the cluster began with, from a member whose log holds everything since. */
  readonly baseline?: Baseline | undefined;
  /** The servers of its list, itself among them; undefined from a release that did not tell. */
  readonly declared?: readonly NodeId[] | undefined;
}

export interface FormationState {
  readonly self: NodeId;
  readonly declared: readonly NodeId[];
  /** This server's own among them. */
  readonly reports: ReadonlyMap<NodeId, PeerReport>;
  /** `svc.ha.bootstrapTimeoutMs` is over: a majority is enough. */
  readonly isLate: boolean;
}

export type FormationDecision =
  | {readonly kind: 'wait'; readonly missing: readonly NodeId[]}
  /** All declared servers vote, and the log begins empty. */
  | {readonly kind: 'together'}
  /** This server's data is the cluster's; it begins alone. */
  | {readonly kind: 'source'}
  /** Wait to be taken in. */
  | {readonly kind: 'join'}
  /** Joins with its own data, which is what the cluster began with. */
  | {readonly kind: 'adopt'; readonly baseline: Baseline}
  | {readonly kind: 'refuse'; readonly reason: string};

export function decideFormation(state: FormationState): FormationDecision {
  const {self, declared, reports, isLate} = state;
  const own = reports.get(self);
  const withStanding = (wanted: PeerReport['standing']) =>
    [...reports].filter(([, {standing}]) => standing === wanted);
  const members = withStanding('member');
  const member = members.find(([, {baseline}]) => baseline !== undefined) ?? members[0];
  if (own !== undefined && member !== undefined) return joining(own.data, member);
  const agreeing = new Map(
    [...reports].filter(([id, report]) => declared.includes(id) && hasList(report, declared)),
  );
  const [formed] = withStanding('formed');
  const isListed = declared.includes(self);
  if (own !== undefined && formed !== undefined && !(isListed && agreeing.has(formed[0]))) {
    return joining(own.data, formed);
  }
  const missing = declared.filter(id => !agreeing.has(id));
  const isEnough = isLate && agreeing.size > declared.length / 2;
  if (!isListed) return {kind: 'wait', missing: declared};
  if (own === undefined || (missing.length > 0 && !isEnough)) return {kind: 'wait', missing};
  // They decided that nobody has anything.
  if (formed !== undefined) {
    const found = joining(own.data, formed);
    return found.kind === 'join' ? {kind: 'together'} : found;
  }
  const source = sourceOf(agreeing);
  if (source === undefined) return {kind: 'together'};
  if (source[0] === self) return {kind: 'source'};
  const found = joining(own.data, source);
  // What it begins with is known when it says that it has begun.
  const {content} = own.data;
  const isLikely = content !== undefined && content === source[1].data.content;
  return found.kind === 'join' && isLikely ? {kind: 'wait', missing: [source[0]]} : found;
}

function hasList({declared}: PeerReport, own: readonly NodeId[]): boolean {
  if (declared === undefined) return true;
  return declared.length === own.length && own.every(id => declared.includes(id));
}

/** Nothing that only this server has may be lost by taking another one's state. */
function joining(
  own: LocalData,
  [id, {data, baseline}]: readonly [NodeId, PeerReport],
): FormationDecision {
  if (baseline !== undefined && isSame(own, baseline)) return {kind: 'adopt', baseline};
  const {databases} = own;
  for (const {name, transactions} of databases) {
    const theirs = data.databases.find(database => database.name === name);
    const where = `its database '${name}'`;
    if (theirs === undefined) {
      return refuse(`${where} is not in the cluster (${id} has none of that name)`);
    }
    if (theirs.transactions < transactions) {
      const counts = `${transactions} commits here, ${theirs.transactions} there`;
      return refuse(`${where} is newer than that of ${id}: ${counts}`);
    }
  }
  return {kind: 'join'};
}

/** Documents come again from the leader, so it may lack some, and must have no others. */
function isSame({content, databases, documentNames = []}: LocalData, baseline: Baseline): boolean {
  if (databases.length === 0 || content !== baseline.content) return false;
  return documentNames.every(name => baseline.documents.includes(name));
}

function refuse(reason: string): FormationDecision {
  return {kind: 'refuse', reason};
}

/** The server that has the newest state of most databases; then most commits; then the first. */
function sourceOf(
  reports: ReadonlyMap<NodeId, PeerReport>,
): readonly [NodeId, PeerReport] | undefined {
  const newest = new Map<string, number>();
  for (const {data} of reports.values()) {
    for (const {name, transactions} of data.databases) {
      newest.set(name, Math.max(newest.get(name) ?? 0, transactions));
    }
  }
  const rank = ({data}: PeerReport): readonly number[] => [
    data.databases.filter(({name, transactions}) => newest.get(name) === transactions).length,
    data.databases.reduce((sum, {transactions}) => sum + transactions, 0),
    data.documents,
  ];
  const [best] = [...reports]
    .filter(([, {data}]) => data.databases.length + data.documents > 0)
    .sort(([leftId, left], [rightId, right]) => {
      const [mine, other] = [rank(left), rank(right)];
      const differs = mine.findIndex((value, at) => value !== other[at]);
      if (differs >= 0) return (other[differs] ?? 0) - (mine[differs] ?? 0);
      return leftId < rightId ? -1 : 1;
    });
  return best;
}
