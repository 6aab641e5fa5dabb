/**
 * A walk of random wishes and accidents through one world, and what must hold on the way and at the
 * end.
 *
 * O1: no acknowledged write is lost. O2: nothing that the operator does takes the last majority
 * away. O3: at the end the live configuration is what the spec says. O4: a settled cluster causes
 * no write and at most one look a minute. O5: no pod is deleted that was as it should be. And every
 * bad spec can be taken back: whatever was wished, the world gets well once faults end and the
 * last wish is one that can be fulfilled.
 * Source: Acto's three properties (SOSP 2023).
 */
import {annotations} from '#operator/api/group.ts';
import {
  annotationOf,
  type JsonMap,
  type KubeObject,
  labelOf,
  textAt,
} from '#operator/api/kube-object.ts';
import {podTemplate} from '#operator/objects/pod-template.ts';
import {ordinalOf, ordinalOfPeer, peerIdOf} from '#operator/objects/names.ts';
import {initialMembersIn} from '#operator/objects/configuration.ts';
import {authorityFacts} from '#operator/objects/certificates.ts';
import {tokenPhaseOf, tokenStepOf} from '#operator/objects/tokens.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import type {CallMade} from './fake-api/in-memory-api.ts';
import {moves, portOf, recreate, type Wishes} from './moves.ts';
import {type Faults, noFaults, OperatorWorld, type WorldCounts} from './operator-world.ts';

export interface WalkResult {
  readonly seed: number;
  readonly trace: string;
  readonly steps: readonly string[];
  readonly violations: readonly string[];
  readonly counts: WorldCounts;
  readonly simulatedMs: number;
  readonly wallMs: number;
}

const STEPS = 8;
const HEAL_MS = 45 * 60_000;
/** An operator has looked once, whatever it waited for: annotations change no generation. */
const LOOKED_MS = 90_000;
const REST_MS = 10 * 60_000;

export async function walk(seed: number): Promise<WalkResult> {
  const begun = performance.now();
  const world = new OperatorWorld(seed);
  const run = new Walk(world);
  await run.all();
  return {
    seed,
    trace: world.trace,
    steps: run.steps,
    violations: [...world.servers.violations, ...run.violations],
    counts: world.counts,
    simulatedMs: world.time.monotonic(),
    wallMs: performance.now() - begun,
  };
}

class Walk {
  readonly steps: string[] = [];
  readonly violations: string[] = [];
  readonly #world: OperatorWorld;
  readonly #wishes: Wishes = {spec: {}, marks: {}};

  constructor(world: OperatorWorld) {
    this.#world = world;
    world.onChange = call => this.#watch(call);
  }

  async all(): Promise<void> {
    const world = this.#world;
    const {random, time} = world;
    world.faults = random.pick<Faults>([
      noFaults,
      {failure: 0.01, death: 0.002, cut: 0.01, lateMs: 500},
      {failure: 0.1, death: 0.01, cut: 0.05, lateMs: 3_000},
    ]);
    world.kubernetes.checksRules = random.chance(0.7);
    world.startOperator();
    this.#wishes.spec = {
      version: '26.11.1',
      replicas: random.pick([1, 3, 3, 5]),
      storage: {size: '10Gi'},
      upgrade: {podStartDeadline: '2m', settleSeconds: random.pick([0, 15])},
      healing: {replaceAfter: '2m'},
      tls: random.chance(0.3) ? {mode: 'Operator', settle: '1m'} : {mode: 'Disabled'},
    };
    world.create(this.#wishes.spec);
    for (let step = 0; step < STEPS; step++) {
      await time.run(random.below(random.pick([5_000, 60_000, 400_000])));
      this.#step();
    }
    await this.#heal();
  }

  #step(): void {
    const {random, kubernetes} = this.#world;
    const kind = random.pick(Object.keys(moves));
    this.steps.push(`${this.#world.time.monotonic()} ${kind}`);
    const move = moves[kind];
    if (move === undefined) return;
    const wishes = move(this.#wishes, this.#world);
    if (wishes === undefined) return;
    const before = structuredClone(this.#wishes);
    Object.assign(this.#wishes, wishes);
    try {
      this.#tell();
    } catch {
      // The API server refused it: as a person would, take the wish back.
      Object.assign(this.#wishes, before);
    }
    void kubernetes;
  }

  #tell(): void {
    const {spec, marks} = this.#wishes;
    const nulls = {nodeSelector: null};
    const template = spec['podTemplate'] ?? nulls;
    const patch = {metadata: {annotations: marks}, spec: {...spec, podTemplate: template}};
    this.#world.patch(patch);
  }

  /** Faults end, and what cannot be is taken back. */
  async #heal(): Promise<void> {
    const world = this.#world;
    world.faults = noFaults;
    recreate(world, this.#wishes);
    const {podTemplate: _, image: __, ...spec} = this.#wishes.spec;
    const restored: JsonMap = {
      ...spec,
      image: {repository: 'svc/server'},
      ha: {raftPort: portOf(world)},
    };
    const size = this.#largest;
    this.#wishes.spec = {
      ...restored,
      settings: null,
      version: '26.11.4',
      replicas: (spec['replicas'] as number) > 9 ? 3 : (spec['replicas'] ?? 3),
      storage: {size},
    };
    this.#wishes.marks = Object.fromEntries(
      Object.keys(this.#wishes.marks).map(name => [name, null]),
    );
    for (const {metadata} of world.pods()) {
      const ref = {kind: kinds.pod, namespace: 'shop', name: metadata.name};
      const marks = {[annotations.replace]: null};
      world.kubernetes.store.patch(ref, {metadata: {annotations: marks}});
    }
    this.steps.push(`${world.time.monotonic()} heal`);
    this.#tell();
    await world.time.run(LOOKED_MS);
    const isWell = await world.time.run(HEAL_MS, () => this.#isWell());
    if (!isWell) return this.#wedged();
    this.#checkEnd();
    await world.time.run(60_000);
    const {writes} = world.kubernetes.store;
    const {reconciles} = world.counts;
    await world.time.run(REST_MS);
    const more = world.kubernetes.store.writes - writes;
    if (more > 0) this.violations.push(`O4: ${more} writes at rest`);
    const looks = world.counts.reconciles - reconciles;
    if (looks > 10) this.violations.push(`O4: ${looks} looks in ten minutes`);
    await world.end();
  }

  /** Claims never shrink, whatever the last wish was. */
  get #largest(): string {
    const claims = this.#world.kubernetes.store.list({
      kind: kinds.claim,
      namespace: undefined,
      labelSelector: undefined,
    });
    const sizes = claims.flatMap(
      claim => textAt(claim, 'spec', 'resources', 'requests', 'storage') ?? [],
    );
    return sizes.toSorted((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))[0] ?? '10Gi';
  }

  #isWell(): boolean {
    const {status, metadata, spec} = this.#world.cluster();
    return (
      status?.phase === 'Running' &&
      !this.#isRenewing() &&
      status.observedGeneration === metadata.generation &&
      status.readyReplicas === spec.replicas &&
      this.#world.pods().length === spec.replicas &&
      this.#world
        .pods()
        .every(pod => annotationOf(pod, annotations.templateHash) === status.templateHash)
    );
  }

  /** A change of tokens or of the authority goes on in steps, some of which wait for a time. */
  #isRenewing(): boolean {
    const secrets = ['db-tokens', 'db-ca'].map(name =>
      this.#world.kubernetes.store.find({kind: kinds.secret, namespace: 'shop', name}),
    );
    return secrets.some(
      secret =>
        secret !== undefined &&
        (tokenPhaseOf(secret) !== 'single' || authorityFacts(secret).phase !== 'single'),
    );
  }

  #wedged(): void {
    const {status, spec} = this.#world.cluster();
    const told = {
      replicas: spec.replicas,
      phase: status?.phase,
      operation: status?.operation,
      members: status?.members?.map(({pod, role, ready}) => `${pod} ${role} ${ready}`),
      conditions: status?.conditions?.map(({type, status: is, reason, message}) =>
        [type, is, reason, message].join(' '),
      ),
    };
    this.violations.push(`wedged: ${JSON.stringify(told)}`);
    this.#world.kubernetes.end();
  }

  #checkEnd(): void {
    const cluster = this.#world.cluster();
    const group = this.#world.servers.groupOf(cluster);
    const wanted = Array.from({length: cluster.spec.replicas}, (_, at) => peerIdOf(cluster, at));
    const live = [...(group?.peers.keys() ?? [])].toSorted();
    if (live.join() !== wanted.toSorted().join()) {
      this.violations.push(`O3: the members are ${live.join()}`);
    }
    const leaders = this.#world.pods().filter(pod => labelOf(pod, 'svc.io/role') === 'leader');
    const led = leaders.map(({metadata}) =>
      peerIdOf(cluster, ordinalOf(cluster, metadata.name) ?? 99),
    );
    if (led.join() !== group?.leader) this.violations.push(`the Service leads to ${led.join()}`);
  }

  /** O2 and O5, at each change that an operator is about to make. */
  #watch(call: CallMade | {readonly verb: 'admin'; readonly name: string}): void {
    if (call.verb === 'delete' && 'kind' in call && call.kind === 'Pod') this.#watchDeletion(call);
    if (call.verb === 'admin' && call.name.startsWith('remove ')) this.#watchRemoval(call.name);
  }

  #watchDeletion({name, resourceVersion}: CallMade): void {
    const {servers, kubernetes} = this.#world;
    if (!this.#world.isThere()) return;
    const cluster = this.#world.cluster();
    const pod = kubernetes.store.find({kind: kinds.pod, namespace: 'shop', name});
    const ordinal = ordinalOf(cluster, name);
    if (pod === undefined || ordinal === undefined || cluster.spec.replicas < 1) return;
    // It is refused: the pod is not what the operator saw.
    if (resourceVersion !== undefined && resourceVersion !== pod.metadata.resourceVersion) return;
    const peer = peerIdOf(cluster, ordinal);
    const group = servers.groupOf(cluster);
    const isReplaced = annotationOf(pod, annotations.replace) === 'true';
    if (servers.isReady(peer) && !isReplaced && isCurrent(pod, this.#world)) {
      this.violations.push(`O5: ${name} is deleted and was as it should be`);
    }
    if (group === undefined || !servers.isReady(peer)) return;
    const voters = [...group.peers].filter(([, {isVoter}]) => isVoter).map(([id]) => id);
    const left = voters.filter(id => id !== peer && servers.isReady(id)).length;
    if (voters.length > 2 && left < Math.floor(voters.length / 2) + 1) {
      this.violations.push(
        `O2: ${name} is deleted, and ${left} of ${voters.length} voters are left`,
      );
    }
  }

  #watchRemoval(call: string): void {
    const [, id = ''] = call.split(' ');
    const {servers} = this.#world;
    if (!this.#world.isThere()) return;
    const cluster = this.#world.cluster();
    const group = servers.groupOf(cluster);
    const ordinal = ordinalOfPeer(cluster, id);
    if (group?.peers.has(id) !== true || ordinal === undefined) return;
    const left = [...group.peers].filter(([other, {isVoter}]) => isVoter && other !== id);
    const ready = left.filter(([other]) => servers.isReady(other)).length;
    if (ready < Math.floor(left.length / 2) + 1) {
      this.violations.push(`O2: ${id} is removed, and ${ready} of ${left.length} are well`);
    }
  }
}

/** Whether a pod is made from what the resource says now. */
function isCurrent(pod: KubeObject, world: OperatorWorld): boolean {
  const cluster = world.cluster();
  const config = world.kubernetes.store.find({
    kind: kinds.configMap,
    namespace: 'shop',
    name: 'db-config',
  });
  const initial = initialMembersIn(config) ?? [];
  const restartAt = annotationOf(world.object(), annotations.restartAt);
  const secret = {kind: kinds.secret, namespace: 'shop', name: 'db-tokens'};
  const tokens = world.kubernetes.store.find(secret);
  const tokenStep = tokens && tokenStepOf(tokens);
  const {hash} = podTemplate(cluster, {initial, restartAt, tokenStep});
  return annotationOf(pod, annotations.templateHash) === hash;
}
