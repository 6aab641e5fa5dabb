/**
 * The loops of SvcBackupSchedules and SvcBackups.
 *
 * A backup is a request that takes as long as the archive does. It is not waited for inside a pass:
 * its outcome is kept until the next one, which it wakes. After a success of a scheduled run the
 * archives that its retention does not keep are deleted, never the newest.
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {checkCluster} from '#operator/api/cluster-check.ts';
import {checkSpec} from '#operator/api/check.ts';
import {type Condition, type NewCondition, transitioned} from '#operator/api/conditions.ts';
import {API_VERSION, labels} from '#operator/api/group.ts';
import {canonicalJson, type KubeObject, textAt} from '#operator/api/kube-object.ts';
import {type Reason, reasons} from '#operator/api/reasons.ts';
import {durationMs} from '#operator/api/schema.ts';
import {
  type BackupSpec,
  type BackupStatus,
  scheduleRules,
  scheduleSpec,
} from '#operator/api/svc-backup.ts';
import {AdminError, type ServerAddress, type ServerAdmin} from '#operator/database/admin.ts';
import {type DatabaseRun, decideBackup, NOT_AVAILABLE} from '#operator/decide/decide-backup.ts';
import {decideSchedule, type RunFacts} from '#operator/decide/decide-schedule.ts';
import {membersOf, placeOf} from '#operator/decide/members.ts';
import {expired} from '#operator/decide/retention.ts';
import {agreementOf} from '#operator/decide/agreement.ts';
import {hasReason, type Key, type KubeApi, keyOf, type Kind} from '#operator/kubernetes/api.ts';
import type {EventRecorder} from '#operator/kubernetes/event-recorder.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';
import type {ClusterStore} from '#operator/observe/cluster-store.ts';
import {noMemory, observeCluster} from '#operator/observe/observe-cluster.ts';
import type {Outcome} from './cluster-controller.ts';

export interface BackupControllerOptions {
  readonly api: KubeApi;
  readonly store: ClusterStore;
  readonly admin: ServerAdmin;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly readsNodes: boolean;
  readonly assertLeading: () => void;
  readonly later: (kind: 'schedule' | 'backup', key: Key, ms: number) => void;
}

/** What this operator waits for of one SvcBackup. */
interface Waiting {
  /** Another one of its name begins anew. */
  readonly uid: string | undefined;
  readonly databases: Set<string>;
  readonly outcomes: DatabaseRun[];
}

interface Chosen {
  readonly server: ServerAddress;
  readonly pod: string;
}

const REST_MS = 3_600_000;
const BUSY_MS = 10_000;

export class BackupController {
  readonly #options: BackupControllerOptions;
  readonly #waiting = new Map<Key, Waiting>();
  #isStopped = false;

  constructor(options: BackupControllerOptions) {
    this.#options = options;
  }

  /** Outcomes that come from now on are not written: the next operator looks them up. */
  stop(): void {
    this.#isStopped = true;
  }

  async reconcile(kind: 'schedule' | 'backup', key: Key): Promise<Outcome> {
    const object = this.#options.store.get(kinds[kind], key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#waiting.delete(key);
      return {kind: 'gone'};
    }
    const recheckMs =
      kind === 'schedule' ? await this.#schedule(object) : await this.#backup(object);
    return {kind: 'done', recheckMs};
  }

  async #schedule(object: KubeObject): Promise<number> {
    const {api, store, clock} = this.#options;
    const runs = this.#runsOf(object);
    const decision = decideSchedule({
      nowMs: clock.now(),
      object,
      createdMs: Date.parse(object.metadata.creationTimestamp ?? '') || clock.now(),
      timeOf: text => Date.parse(text),
      stamp,
      hasCluster: this.#clusterOf(object) !== undefined,
      runs,
    });
    if (decision.begin !== undefined) {
      const {name, spec} = decision.begin;
      try {
        store.learn(kinds.backup, await api.create(kinds.backup, runObject(object, name, spec)));
      } catch (error) {
        // The tick was acted upon before, and only the status did not say so yet.
        if (!hasReason(error, 'AlreadyExists')) throw error;
      }
    }
    for (const name of decision.drop) await this.#drop(object, name);
    const {observedGeneration: _, ...rest} = decision.status;
    await this.#write(kinds.schedule, object, rest, decision.conditions);
    return decision.recheckMs;
  }

  #runsOf({metadata}: KubeObject): readonly RunFacts[] {
    return this.#options.store
      .all(kinds.backup)
      .filter(
        run =>
          run.metadata.namespace === metadata.namespace &&
          run.metadata.labels?.[labels.schedule] === metadata.name,
      )
      .map(run => ({
        name: run.metadata.name,
        createdMs: Date.parse(run.metadata.creationTimestamp ?? '') || 0,
        phase: textAt(run.status, 'phase') ?? 'Pending',
      }));
  }

  async #drop({metadata}: KubeObject, name: string): Promise<void> {
    const {namespace = ''} = metadata;
    const uid = this.#options.store.get(kinds.backup, `${namespace}/${name}`)?.metadata.uid;
    try {
      await this.#options.api.delete({kind: kinds.backup, namespace, name}, {uid});
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  async #backup(object: KubeObject): Promise<number> {
    const key = keyOf(object.metadata);
    const waiting = this.#waitingOf(object);
    const isOpen = !ENDED.has(textAt(object.status, 'phase') ?? '');
    const chosen = isOpen ? await this.#serverFor(object) : undefined;
    const decision = decideBackup({
      object,
      stamp: stamp(this.#options.clock.now()),
      hasCluster: this.#clusterOf(object) !== undefined,
      databases: chosen && (await this.#databasesOf(chosen)),
      waitedFor: waiting.databases,
      outcomes: waiting.outcomes,
    });
    const {observedGeneration: _, ...rest} = decision.status;
    const written = await this.#write(kinds.backup, object, rest, [decision.condition]);
    if (decision.isDone) {
      this.#waiting.delete(key);
      if (isOpen) this.#wakeSchedule(object);
      if (isOpen && decision.status.phase !== 'Failed') await this.#prune(object, decision.status);
      return REST_MS;
    }
    this.#waiting.set(key, waiting);
    if (chosen === undefined || decision.spec === undefined) return BUSY_MS;
    for (const run of decision.lookUp) {
      waiting.outcomes.push(await this.#lookedUp(run, chosen));
      this.#options.later('backup', key, 0);
    }
    for (const name of decision.begin) {
      this.#options.assertLeading();
      void this.#run(written, name, decision.spec, chosen);
    }
    return BUSY_MS;
  }

  #waitingOf({metadata}: KubeObject): Waiting {
    const {uid} = metadata;
    const known = this.#waiting.get(keyOf(metadata));
    return known !== undefined && known.uid === uid
      ? known
      : {uid, databases: new Set(), outcomes: []};
  }

  /** The schedule of a run says how it ended. */
  #wakeSchedule({metadata}: KubeObject): void {
    const schedule = metadata.labels?.[labels.schedule];
    if (schedule === undefined) return;
    this.#options.later('schedule', `${metadata.namespace ?? ''}/${schedule}`, 0);
  }

  /** Waits for one archive; does not reject. */
  async #run(object: KubeObject, name: string, spec: BackupSpec, chosen: Chosen): Promise<void> {
    const key = keyOf(object.metadata);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    waiting.databases.add(name);
    const begun = stamp(this.#options.clock.now());
    const open = {name, pod: chosen.pod, startedAt: begun, bytes: undefined, file: undefined};
    let outcome: Omit<DatabaseRun, 'finishedAt'>;
    try {
      const timeoutMs = durationMs(spec.timeout);
      const archive = await this.#options.admin.triggerBackup(chosen.server, name, timeoutMs);
      const {fileName: file, bytes} = archive;
      outcome = {...open, phase: 'Completed', file, bytes, error: undefined};
    } catch (error) {
      outcome = {...open, ...failureOf(error)};
    }
    waiting.databases.delete(name);
    if (this.#isStopped) return;
    waiting.outcomes.push({...outcome, finishedAt: stamp(this.#options.clock.now())});
    this.#options.later('backup', key, 0);
  }

  /** Finds out how a database ended that an earlier operator asked for. */
  async #lookedUp(run: DatabaseRun, {server, pod}: Chosen): Promise<DatabaseRun> {
    const since = run.startedAt ?? '';
    const digits = since.replaceAll(/[-:Z]/g, '').replace('T', '-');
    const archives = await this.#options.admin.listBackups(server, run.name);
    const found = archives.find(
      ({fileName}) => (/-backup-([\d-]+)/.exec(fileName)?.[1] ?? '') >= digits,
    );
    const finishedAt = stamp(this.#options.clock.now());
    if (found !== undefined) {
      const {fileName: file, bytes} = found;
      return {...run, pod, phase: 'Completed', file, bytes, finishedAt};
    }
    const error = 'the operator started anew while it ran, and no archive of that time is there';
    return {...run, phase: 'Failed', finishedAt, error};
  }

  async #databasesOf({server}: Chosen): Promise<readonly string[] | undefined> {
    try {
      return await this.#options.admin.databases(server);
    } catch (error) {
      if (error instanceof AdminError) return undefined;
      throw error;
    }
  }

  /** The server that `spec.target` means now; undefined while nobody can say who leads. */
  async #serverFor(object: KubeObject): Promise<Chosen | undefined> {
    const clusterObject = this.#clusterOf(object);
    if (clusterObject === undefined) return undefined;
    const {observation, password} = await observeCluster(clusterObject, noMemory, this.#options);
    const {cluster, answers} = observation;
    const agreement = agreementOf(clusterNameOf(cluster), answers);
    if (agreement.kind !== 'agreed' || password === undefined) return undefined;
    const members = membersOf(observation, agreement);
    const target = textAt(object.spec, 'target') ?? 'Leader';
    const leader = members.find(({seat}) => seat?.isLeader);
    const follower = members.find(({isHealthy, seat}) => isHealthy && seat?.isLeader !== true);
    const member =
      target === 'Leader'
        ? leader
        : target === 'Follower'
          ? (follower ?? leader)
          : members.find(({ordinal}) => String(ordinal) === target);
    if (member?.pod === undefined) return undefined;
    const server = {...placeOf(observation, member.ordinal), password};
    return {server, pod: member.pod.name};
  }

  /** Deletes what the schedule of a run does not keep. */
  async #prune(object: KubeObject, {databases = []}: BackupStatus): Promise<void> {
    const {store, admin, logger} = this.#options;
    const {namespace = '', labels: marks} = object.metadata;
    const schedule = store.get(kinds.schedule, `${namespace}/${marks?.[labels.schedule] ?? ''}`);
    const chosen = schedule && (await this.#serverFor(object));
    if (schedule === undefined || chosen === undefined) return;
    const {value: spec, problems} = checkSpec(scheduleSpec, scheduleRules, {value: schedule.spec});
    if (problems.length > 0) return;
    for (const {name, phase} of databases) {
      if (phase !== 'Completed') continue;
      try {
        const archives = await admin.listBackups(chosen.server, name);
        const names = archives.map(({fileName}) => fileName);
        for (const file of expired(names, spec.retention)) {
          this.#options.assertLeading();
          await admin.deleteBackup(chosen.server, name, file);
        }
      } catch (error) {
        // The next run prunes what this one left.
        if (!(error instanceof AdminError)) throw error;
        logger.log('warn', 'backup.not-pruned', {database: name, message: error.message});
      }
    }
  }

  #clusterOf(object: KubeObject): KubeObject | undefined {
    const {namespace = ''} = object.metadata;
    const name = textAt(object.spec, 'clusterRef', 'name') ?? '';
    const found = this.#options.store.get(kinds.cluster, `${namespace}/${name}`);
    return found !== undefined && checkCluster(found).problems.length === 0 ? found : undefined;
  }

  async #write(
    kind: Kind,
    object: KubeObject,
    status: Readonly<Record<string, unknown>>,
    conditions: readonly NewCondition[],
  ): Promise<KubeObject> {
    const {api, store, events, clock, assertLeading} = this.#options;
    const before = (object.status?.['conditions'] ?? []) as unknown as readonly Condition[];
    const generation = object.metadata.generation ?? 0;
    const now = stamp(clock.now());
    const next = {
      ...status,
      observedGeneration: generation,
      conditions: transitioned(before, conditions, {now, generation}),
    };
    if (canonicalJson(next) === canonicalJson(object.status)) return object;
    assertLeading();
    const {namespace = '', name, uid, resourceVersion} = object.metadata;
    const patch = {metadata: {uid, resourceVersion}, status: withNulls(object.status, next)};
    const written = await api.patch({kind, namespace, name}, patch, 'status');
    store.learn(kind, written);
    for (const {type, reason, message} of conditions) {
      const isNews = before.find(one => one.type === type)?.reason !== reason;
      if (!isNews || !(reason in reasons)) continue;
      await events.record(written, {reason: reason as Reason, message});
    }
    return written;
  }
}

const ENDED = new Set(['Completed', 'PartiallyFailed', 'Failed', 'Skipped']);

/** A merge patch takes a field away only where it says so. */
function withNulls(before: unknown, now: Readonly<Record<string, unknown>>): unknown {
  const gone = Object.keys(Object(before)).filter(name => now[name] === undefined);
  return {...now, ...Object.fromEntries(gone.map(name => [name, null]))};
}

function failureOf(error: unknown): Pick<DatabaseRun, 'phase' | 'error'> {
  if (!(error instanceof AdminError)) {
    return {phase: 'Failed', error: reasonOf(error)};
  }
  if (error.reason === 'conflict') return {phase: 'Skipped', error: error.message};
  const message = error.reason === 'not-available' ? NOT_AVAILABLE : error.message;
  return {phase: 'Failed', error: message.slice(0, 1_000)};
}

function runObject(
  schedule: KubeObject,
  name: string,
  {clusterRef, databases, target, timeout}: BackupSpec,
): KubeObject {
  const {namespace = '', name: owner, uid = ''} = schedule.metadata;
  return {
    apiVersion: API_VERSION,
    kind: kinds.backup.kind,
    metadata: {
      name,
      namespace,
      labels: {[labels.schedule]: owner, [labels.cluster]: clusterRef.name},
      ownerReferences: [
        {apiVersion: API_VERSION, kind: kinds.schedule.kind, name: owner, uid, controller: true},
      ],
    },
    spec: {clusterRef: {...clusterRef}, databases: [...databases], target, timeout},
  };
}

/** RFC 3339, whole seconds. */
function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
