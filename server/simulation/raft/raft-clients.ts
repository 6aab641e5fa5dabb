/**
 * What the clients of a simulated group do: write registers through whoever says that it leads,
 * and read them by read index on any node. The registers that a node has applied are its state.
 */
import type {Effect} from '#server/raft/effect.ts';
import type {Entry, LogIndex, NodeId, Term} from '#server/raft/message.ts';
import type {SeededRandom} from '../seeded-random.ts';
import {type Begun, RegisterHistory} from './register-history.ts';
import type {SimulatedNode} from './simulated-node.ts';

const registers = 8;

interface PendingWrite {
  readonly begun: Begun;
  readonly node: SimulatedNode;
  readonly life: number;
  readonly term: Term;
}

interface PendingRead {
  readonly begun: Begun;
  readonly node: SimulatedNode;
  readonly life: number;
  readonly register: number;
  index: LogIndex | undefined;
}

export class RaftClients {
  readonly history = new RegisterHistory();
  attempts = 0;
  refusals = 0;
  readonly #random: SeededRandom;
  /** The writes that wait, keyed by node and index. */
  readonly #writes = new Map<string, PendingWrite>();
  readonly #reads = new Map<string, PendingRead>();
  readonly #states = new Map<NodeId, Map<number, number>>();

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** The state of a node that starts, or that installed a checkpoint. */
  restore(node: SimulatedNode): void {
    const state = new Map<number, number>();
    for (let register = 0; register < registers; register++) {
      const value = this.history.valueAt(register, node.applied);
      if (value !== undefined) state.set(register, value);
    }
    this.#states.set(node.id, state);
  }

  /** One operation, begun now. */
  operate(nodes: readonly SimulatedNode[]): void {
    this.attempts++;
    const node = this.#random.pick(nodes);
    if (this.#random.chance(50)) return this.#read(node);
    const leaders = nodes.filter(each => each.role === 'leader');
    this.write(leaders.length === 0 ? node : this.#random.pick(leaders));
  }

  write(node: SimulatedNode): void {
    const register = this.#random.below(registers);
    const value = this.attempts;
    const begun = this.history.begin(`write ${value} at ${node.id}`);
    node.whileAlive(node.life, () => {
      const {life} = node;
      const data = [encodeWrite(register, value, this.#random.below(120))];
      for (const effect of node.input({kind: 'propose', data})) {
        if (effect.kind === 'refused') this.refusals++;
        if (effect.kind !== 'accepted') continue;
        const pending = {begun, node, life, term: effect.term};
        this.#writes.set(`${node.id} ${effect.first}`, pending);
      }
    });
  }

  /** A node applied an entry; `first`: nobody had before. */
  applied(node: SimulatedNode, index: LogIndex, entry: Entry, first: boolean): void {
    if (entry.kind === 'data') {
      const {register, value} = decodeWrite(entry.data);
      if (first) this.history.committed(register, index, value);
      this.#states.get(node.id)?.set(register, value);
    }
    const place = `${node.id} ${index}`;
    const pending = this.#writes.get(place);
    if (pending === undefined) return;
    this.#writes.delete(place);
    if (pending.life === node.life && pending.term === entry.term) {
      this.history.wrote(pending.begun, index);
    }
  }

  noticed(effect: Effect): void {
    if (effect.kind === 'read-failed') this.#reads.delete(effect.id);
    if (effect.kind !== 'read-ready') return;
    const pending = this.#reads.get(effect.id);
    if (pending !== undefined) pending.index = effect.index;
  }

  /** Serves what waits on this node for what it has applied. */
  serveReads(node: SimulatedNode): void {
    for (const [id, pending] of this.#reads) {
      if (pending.node !== node) continue;
      if (pending.life !== node.life) {
        this.#reads.delete(id);
      } else if (pending.index !== undefined && pending.index <= node.applied) {
        this.#reads.delete(id);
        const value = this.#states.get(node.id)?.get(pending.register);
        this.history.read(pending.begun, pending.register, node.applied, value);
        if (node.role !== 'leader') this.history.followerReads++;
      }
    }
  }

  #read(node: SimulatedNode): void {
    const id = `read ${this.attempts}`;
    const begun = this.history.begin(`${id} at ${node.id}`);
    const {life} = node;
    const register = this.#random.below(registers);
    node.whileAlive(life, () => {
      this.#reads.set(id, {begun, node, life, register, index: undefined});
      node.input({kind: 'read', id});
    });
  }
}

function encodeWrite(register: number, value: number, padding: number): Uint8Array {
  const bytes = new Uint8Array(5 + padding);
  bytes[0] = register;
  new DataView(bytes.buffer).setUint32(1, value);
  return bytes;
}

function decodeWrite(bytes: Uint8Array): {register: number; value: number} {
  return {register: bytes[0] ?? 0, value: new DataView(bytes.buffer).getUint32(1)};
}
