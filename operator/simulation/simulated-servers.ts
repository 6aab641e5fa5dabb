/**
 * The servers of simulated clusters: as much of consensus as an operator can see or break.
 *
 * A group has members, a term, a leader and a count of acknowledged writes; a member has on its
 * volume how many of them it holds. A leader is elected by whatever majority of the voters happens
 * to be up, and has what the best of those has: an operator that takes volumes away from members
 * that still vote loses writes here as it would in life, and `violations` says so.
 */
import {ordinalOfPeer} from '#operator/objects/names.ts';
import {
  AdminError,
  type Archive,
  type NewPeer,
  type ServerAddress,
  type ServerAdmin,
} from '#operator/database/admin.ts';
import type {MemberReport} from '#operator/decide/agreement.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import type {SeededRandom} from './seeded-random.ts';
import type {VirtualTime} from './virtual-time.ts';

interface Peer {
  isVoter: boolean;
  caughtUpAtMs: number;
}

/** What a volume holds. */
interface Volume {
  held: number;
  isMember: boolean;
  settings: Record<string, string>;
}

interface RunningServer {
  readonly claimUid: string;
  /** The claim with archives that it has in the place of its own. */
  readonly archiveClaim: string | undefined;
  /** What it read at its start. */
  readonly tokens: readonly string[];
  readonly startedMs: number;
}

/** One cluster of servers. */
export interface Group {
  readonly clusterName: string;
  readonly initial: readonly string[];
  readonly peers: Map<string, Peer>;
  term: number;
  leader: string | undefined;
  acknowledged: number;
  electionAtMs: number | undefined;
  readonly databases: Set<string>;
  /** What root has, since it began. */
  password: string;
}

export interface ServerOptions {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  /** Servers that ask by themselves to be taken in. */
  readonly joinsItself: boolean;
  readonly before: (call: string, host: string) => Promise<void>;
  readonly after: (call: string, host: string) => Promise<void>;
}

export class SimulatedServers implements ServerAdmin {
  readonly #options: ServerOptions;
  readonly groups = new Map<string, Group>();
  readonly #running = new Map<string, RunningServer>();
  readonly #volumes = new Map<string, Volume>();
  readonly violations: string[] = [];

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** The same servers, asked by another operator. */
  askedBy({before, after}: Pick<ServerOptions, 'before' | 'after'>): ServerAdmin {
    const calls = async <T>(call: string, {host}: ServerAddress, run: () => Promise<T>) => {
      await before(call, host);
      const answer = await run();
      await after(call, host);
      return answer;
    };
    return {
      status: server => calls('status', server, () => this.status(server)),
      addPeer: (server, peer) =>
        calls(`add ${peer.peerId}`, server, () => this.addPeer(server, peer)),
      removePeer: (server, id) => calls(`remove ${id}`, server, () => this.removePeer(server, id)),
      transferLeadership: (server, to) =>
        calls(`transfer ${to}`, server, () => this.transferLeadership(server, to)),
      setSetting: (server, key, value) =>
        calls(`set ${key}=${value}`, server, () => this.setSetting(server, key, value)),
      setRootPassword: server =>
        calls('password of root', server, () =>
          this.setRootPassword({...server, token: server.token}),
        ),
      databases: server => calls('databases', server, () => this.databases(server)),
      triggerBackup: (server, name) =>
        calls(`backup ${name}`, server, () => this.triggerBackup(server, name)),
      listBackups: (server, name) =>
        calls(`list backups ${name}`, server, () => this.listBackups(server, name)),
      deleteBackup: (server, name, file) =>
        calls(`delete backup ${file}`, server, () => this.deleteBackup(server, name, file)),
      archivedDatabases: server =>
        calls('archived databases', server, () => this.archivedDatabases(server)),
      restoreDatabase: (server, name) =>
        calls(`restore ${name}`, server, () => this.restoreDatabase(server, name)),
    };
  }

  start(
    peerId: string,
    {password, ...server}: Omit<RunningServer, 'startedMs'> & {readonly password: string},
  ): void {
    const startedMs = this.#options.time.monotonic();
    this.#running.set(peerId, {...server, startedMs});
    const group = this.#groupOf(peerId);
    if (group !== undefined && group.peers.size === 0) group.password = password;
    this.#checkTokens(peerId);
    if (this.#volumes.has(server.claimUid)) return;
    this.#volumes.set(server.claimUid, {held: 0, isMember: false, settings: {}});
  }

  /** Two that run must believe each other, whoever of them dials. */
  #checkTokens(peerId: string): void {
    const own = this.#running.get(peerId)?.tokens ?? [];
    for (const [other, {tokens}] of this.#running) {
      if (other === peerId || this.#groupOf(other) !== this.#groupOf(peerId)) continue;
      const isMutual = tokens.includes(own[0] ?? '') && own.includes(tokens[0] ?? '');
      if (!isMutual)
        this.violations.push(`tokens: ${peerId} and ${other} do not know each other's`);
    }
  }

  #authenticate({password, token}: ServerAddress, group: Group, id: string): void {
    // Before it began it has no users, and its own answer for that.
    if (group.peers.size === 0) return;
    const isRight = token === undefined ? password === group.password : this.#accepts(id, token);
    if (!isRight) throw new AdminError('refused', `${id}: a wrong password or token`);
  }

  /** A server that stops hands over first, unless it is killed. */
  stop(peerId: string, isKilled: boolean): void {
    this.#running.delete(peerId);
    for (const group of this.groups.values()) {
      if (group.leader !== peerId) continue;
      group.leader = undefined;
      const pause = isKilled ? 2_000 + this.#options.random.below(3_000) : 200;
      group.electionAtMs = this.#options.time.monotonic() + pause;
    }
  }

  isRunning(peerId: string): boolean {
    return this.#running.has(peerId);
  }

  settingsOf(peerId: string): Readonly<Record<string, string>> {
    return this.#volumeOf(peerId)?.settings ?? {};
  }

  /** Whether `/ready` answers that it is. */
  isReady(peerId: string): boolean {
    const group = this.#groupOf(peerId);
    const peer = group?.peers.get(peerId);
    if (group?.leader === undefined || peer?.isVoter !== true) return false;
    return this.#isUp(peerId) && this.#lagOf(group, peerId) <= 100;
  }

  groupOf(cluster: SvcCluster): Group | undefined {
    return [...this.groups.values()].find(({initial}) =>
      initial.some(peer => ordinalOfPeer(cluster, peer) !== undefined),
    );
  }

  /** Called for the pods of a cluster, with what their configuration says. */
  declare(key: string, clusterName: string, initial: readonly string[]): void {
    if (this.groups.has(key)) return;
    const fresh = {term: 0, leader: undefined, acknowledged: 0, electionAtMs: undefined};
    const databases = new Set<string>();
    const begun = {peers: new Map<string, Peer>(), databases, password: ''};
    this.groups.set(key, {clusterName, initial, ...begun, ...fresh});
  }

  /** What happens by itself in a moment. */
  tick(): void {
    for (const group of this.groups.values()) {
      this.#form(group);
      this.#elect(group);
      this.#takeIn(group);
      this.#write(group);
    }
  }

  #form(group: Group): void {
    const isNew = group.peers.size === 0 && group.term === 0;
    if (!isNew || !group.initial.every(peer => this.#running.has(peer))) return;
    const isSeed = group.initial.some(peer => this.#running.get(peer)?.archiveClaim !== undefined);
    if (!isSeed) for (const name of databaseNames) group.databases.add(name);
    for (const peer of group.initial) {
      group.peers.set(peer, {isVoter: true, caughtUpAtMs: 0});
      const volume = this.#volumeOf(peer);
      if (volume !== undefined) volume.isMember = true;
    }
    group.electionAtMs = this.#options.time.monotonic() + 300;
  }

  #elect(group: Group): void {
    const now = this.#options.time.monotonic();
    if (group.peers.size === 0) return;
    const isLed = group.leader !== undefined && this.#canLead(group, group.leader);
    if (isLed) return;
    if (group.leader !== undefined) {
      group.leader = undefined;
      group.electionAtMs = now + 2_000 + this.#options.random.below(3_000);
    }
    if ((group.electionAtMs ?? 0) > now) return;
    const voters = votersOf(group);
    const up = voters.filter(peer => this.#canVote(peer) && this.#isUp(peer));
    const needed = majority(voters.length);
    if (up.length < needed) return;
    // Whatever majority answers first; its best has the most of it.
    const order = up.map(peer => ({peer, at: this.#options.random.u32()}));
    const electorate = order.sort((a, b) => a.at - b.at).slice(0, needed);
    const best = electorate
      .map(({peer}) => peer)
      .sort((a, b) => this.#heldBy(b) - this.#heldBy(a))[0];
    if (best === undefined) return;
    if (this.#heldBy(best) < group.acknowledged) {
      this.violations.push(
        `O1: ${best} leads with ${this.#heldBy(best)} of ${group.acknowledged} acknowledged writes`,
      );
    }
    group.leader = best;
    group.term++;
  }

  /** Whoever lost its memory is removed and asks anew; whoever was added catches up. */
  #takeIn(group: Group): void {
    if (group.leader === undefined || !this.#hasQuorum(group)) return;
    const now = this.#options.time.monotonic();
    for (const [id, peer] of group.peers) {
      const volume = this.#volumeOf(id);
      if (volume === undefined) continue;
      if (!volume.isMember && peer.isVoter) {
        group.peers.set(id, this.#newcomer());
        continue;
      }
      if (peer.isVoter || peer.caughtUpAtMs > now) continue;
      volume.held = group.acknowledged;
      volume.isMember = true;
      peer.isVoter = true;
    }
    if (!this.#options.joinsItself) return;
    for (const [id] of this.#running) {
      if (group.peers.has(id) || this.#groupOf(id) !== group || !this.#canAsk(group, id)) continue;
      group.peers.set(id, this.#newcomer());
    }
  }

  /** Its process took a moment to begin: kubelets tell of a start sooner than it matters. */
  #isUp(id: string): boolean {
    const running = this.#running.get(id);
    if (running === undefined) return false;
    return this.#options.time.monotonic() - running.startedMs >= UP_MS;
  }

  /** A while after its start, as the probe for it begins late. */
  #canAsk(group: Group, id: string): boolean {
    const running = this.#running.get(id);
    const age = this.#options.time.monotonic() - (running?.startedMs ?? 0);
    return age > 3_000 && age < 6_000 && [...group.peers.values()].every(({isVoter}) => isVoter);
  }

  #newcomer(): Peer {
    const pause = 1_000 + this.#options.random.below(4_000);
    return {isVoter: false, caughtUpAtMs: this.#options.time.monotonic() + pause};
  }

  #write(group: Group): void {
    if (group.leader === undefined || !this.#hasQuorum(group)) return;
    group.acknowledged++;
    for (const peer of group.peers.keys()) {
      const volume = this.#volumeOf(peer);
      if (volume !== undefined && volume.isMember) {
        // A member that was away fetches what it lacks quickly.
        volume.held = Math.min(group.acknowledged, volume.held + 200);
      }
    }
    const holders = votersOf(group).filter(peer => this.#heldBy(peer) >= group.acknowledged);
    if (holders.length < majority(votersOf(group).length)) group.acknowledged--;
  }

  #hasQuorum(group: Group): boolean {
    const voters = votersOf(group);
    return voters.filter(peer => this.#canVote(peer)).length >= majority(voters.length);
  }

  #canLead(group: Group, peer: string): boolean {
    return this.#canVote(peer) && group.peers.get(peer)?.isVoter === true && this.#hasQuorum(group);
  }

  /** It runs, and remembers that it is a member. */
  #canVote(peer: string): boolean {
    return this.#volumeOf(peer)?.isMember === true;
  }

  #volumeOf(peer: string): Volume | undefined {
    const running = this.#running.get(peer);
    return running && this.#volumes.get(running.claimUid);
  }

  #heldBy(peer: string): number {
    return this.#volumeOf(peer)?.held ?? 0;
  }

  #lagOf(group: Group, peer: string): number {
    return Math.max(0, group.acknowledged - this.#heldBy(peer));
  }

  #groupOf(peerId: string): Group | undefined {
    const suffix = peerId.slice(peerId.indexOf('.'));
    const prefix = peerId.slice(0, peerId.indexOf('.')).replace(/-\d+$/, '');
    return [...this.groups.values()].find(({initial}) =>
      initial.some(one => one.endsWith(suffix) && one.startsWith(`${prefix}-`)),
    );
  }

  #asked({host}: ServerAddress): {readonly id: string; readonly group: Group} {
    const id = [...this.#running.keys()].find(peer => peer.startsWith(`${host}_`));
    const group = id === undefined ? undefined : this.#groupOf(id);
    if (id === undefined || group === undefined) {
      throw new AdminError('silent', `${host}: connection refused`);
    }
    return {id, group};
  }

  #leading(server: ServerAddress): {readonly id: string; readonly group: Group} {
    const asked = this.#asked(server);
    if (asked.group.leader !== asked.id) {
      throw new AdminError('not-leader', `${asked.id} does not lead`);
    }
    if (!this.#hasQuorum(asked.group)) throw new AdminError('starting', 'no quorum');
    return asked;
  }

  status(server: ServerAddress): Promise<MemberReport> {
    return attempt(() => {
      const {id, group} = this.#asked(server);
      this.#authenticate(server, group, id);
      if (group.peers.size === 0 || !group.peers.has(id)) {
        const volume = this.#volumeOf(id);
        if (volume?.isMember !== true) throw new AdminError('starting', 'it waits to be taken in');
      }
      const isLeader = group.leader === id;
      return {
        clusterName: group.clusterName,
        peerId: id,
        term: group.term,
        leaderId: group.leader,
        isReadyLeader: isLeader,
        isDiskFull: false,
        peers: [...group.peers].map(([peer, {isVoter}]) => ({
          id: peer,
          inConfiguration: true,
          isVoter,
          lag: isLeader ? this.#lagOf(group, peer) : undefined,
          isStuck: !this.#running.has(peer),
        })),
      };
    });
  }

  addPeer(server: ServerAddress, {peerId}: NewPeer): Promise<void> {
    return attempt(() => {
      const {group} = this.#leading(server);
      if (group.peers.has(peerId))
        throw new AdminError('conflict', `${peerId} is a member already`);
      group.peers.set(peerId, this.#newcomer());
    });
  }

  removePeer(server: ServerAddress, peerId: string): Promise<void> {
    return attempt(() => {
      const {group, id} = this.#leading(server);
      if (!group.peers.has(peerId)) throw new AdminError('conflict', `${peerId} is no member`);
      const left = votersOf(group).filter(peer => peer !== peerId);
      const up = left.filter(peer => this.#canVote(peer));
      if (left.length === 0 || up.length < majority(left.length)) {
        throw new AdminError('conflict', `without ${peerId} no majority is left`);
      }
      group.peers.delete(peerId);
      if (id === peerId) {
        group.leader = undefined;
        group.electionAtMs = this.#options.time.monotonic() + 300;
      }
    });
  }

  transferLeadership(server: ServerAddress, to: string): Promise<void> {
    return attempt(() => {
      const {group} = this.#leading(server);
      const isFit = this.#canVote(to) && group.peers.get(to)?.isVoter === true;
      if (!isFit || this.#lagOf(group, to) > 0)
        throw new AdminError('conflict', `${to} cannot lead`);
      group.leader = to;
      group.term++;
    });
  }

  setSetting(server: ServerAddress, key: string, value: string): Promise<void> {
    return attempt(() => {
      const volume = this.#volumeOf(this.#asked(server).id);
      if (volume !== undefined) volume.settings[key] = value;
    });
  }

  setRootPassword(server: ServerAddress & {readonly token: string}): Promise<void> {
    return attempt(() => {
      const {group, id} = this.#asked(server);
      if (!this.#accepts(id, server.token)) throw new AdminError('refused', 'a wrong token');
      group.password = server.password;
    });
  }

  #accepts(id: string, token: string): boolean {
    return this.#running.get(id)?.tokens.includes(token) === true;
  }

  databases(server: ServerAddress): Promise<readonly string[]> {
    return attempt(() => {
      return [...this.#asked(server).group.databases];
    });
  }

  /** Databases of which a volume with archives holds one that cannot be read. */
  readonly broken = new Set<string>();

  archivedDatabases(server: ServerAddress): Promise<readonly string[]> {
    return attempt(() => (this.#hasArchives(server) ? databaseNames : []));
  }

  restoreDatabase(server: ServerAddress, database: string): Promise<void> {
    return attempt(() => {
      const {group} = this.#leading(server);
      if (group.databases.has(database)) {
        throw new AdminError('conflict', `Database '${database}' already exists`);
      }
      if (!this.#hasArchives(server) || this.broken.has(database)) {
        throw new AdminError('other', `the archive of ${database} is damaged`);
      }
      group.databases.add(database);
    });
  }

  #hasArchives(server: ServerAddress): boolean {
    return this.#running.get(this.#asked(server).id)?.archiveClaim !== undefined;
  }

  readonly archives = new Map<string, Archive[]>();

  /** How long a server writes an archive. */
  backupMs = 0;

  async triggerBackup(server: ServerAddress, database: string): Promise<Archive> {
    if (this.backupMs > 0) await this.#options.time.sleep(this.backupMs);
    return await attempt(() => {
      this.#asked(server);
      const digits = new Date(this.#options.time.now()).toISOString().replaceAll(/[-:.Z]/g, '');
      const fileName = `${database}-backup-${digits.replace('T', '-')}.zip`;
      const archive = {fileName, bytes: 1_000};
      this.archives.set(database, [archive, ...(this.archives.get(database) ?? [])]);
      return archive;
    });
  }

  listBackups(server: ServerAddress, database: string): Promise<readonly Archive[]> {
    if (this.#hasArchives(server)) {
      return Promise.resolve([{fileName: `${database}-backup-20260101-000000000.zip`, bytes: 1}]);
    }
    return Promise.resolve(this.archives.get(database) ?? []);
  }

  deleteBackup(_: ServerAddress, database: string, fileName: string): Promise<void> {
    const left = (this.archives.get(database) ?? []).filter(one => one.fileName !== fileName);
    this.archives.set(database, left);
    return Promise.resolve();
  }
}

const UP_MS = 1_000;
const databaseNames: readonly string[] = ['music', 'shop'];

function majority(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

function votersOf({peers}: Group): readonly string[] {
  return [...peers].filter(([, {isVoter}]) => isVoter).map(([id]) => id);
}

async function attempt<T>(run: () => T): Promise<T> {
  await Promise.resolve();
  return run();
}
