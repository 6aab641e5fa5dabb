/**
 * The entries that the group committed, as its members show them while the world goes on: logs are
 * shortened, so what happened is gathered here. All members must show the same.
 */
import {decodeEntry, eachOperation} from '#server/transactions/entry.ts';
import type {Entry, LogIndex, NodeId} from '#server/raft/message.ts';
import {Violation} from '../ledger.ts';
import type {SimulatedServer} from './simulated-server.ts';

export interface CommittedPut {
  readonly index: LogIndex;
  readonly key: Buffer;
  readonly value: Buffer;
}

export class CommittedLog {
  readonly #texts: string[] = [];
  readonly #entries: Entry[] = [];
  /** Up to which index a process of a server was looked at. */
  readonly #seen = new Map<string, LogIndex>();

  get lastIndex(): LogIndex {
    return this.#entries.length;
  }

  /** Looks at what a server has committed since. Throws Violation. */
  async learn(server: SimulatedServer): Promise<void> {
    const replicator = server.member?.replicator;
    const engine = server.engine;
    if (replicator === undefined || engine === undefined) return;
    const process = `${server.id} ${server.life}`;
    const {base} = replicator;
    // What is committed may not be on this disk yet; what is applied is.
    const {appliedIndex} = engine;
    const seen = Math.max(this.#seen.get(process) ?? 0, base.index);
    const after = Math.min(seen, this.lastIndex);
    if (after < base.index || after >= appliedIndex) return;
    const entries = await replicator.entries(after, appliedIndex, Number.POSITIVE_INFINITY);
    if (entries === undefined) return;
    for (const [at, entry] of entries.entries()) this.#take(server.id, after + 1 + at, entry);
    this.#seen.set(process, after + entries.length);
  }

  /** Everything that transactions put, in order. */
  *puts(): Generator<CommittedPut> {
    for (const [at, entry] of this.#entries.entries()) {
      if (entry.kind !== 'data') continue;
      const decoded = decodeEntry(Buffer.from(entry.data));
      if (decoded.kind !== 'transaction') continue;
      for (const operation of eachOperation(decoded)) {
        if (operation.kind !== 'put') continue;
        const [key, value] = [Buffer.from(operation.key), Buffer.from(operation.value)];
        yield {index: at + 1, key, value};
      }
    }
  }

  #take(id: NodeId, index: LogIndex, entry: Entry): void {
    const text = textOf(entry);
    const known = this.#texts[index - 1];
    if (known === undefined) {
      this.#texts.push(text);
      this.#entries.push(entry);
    } else if (known !== text) {
      throw new Violation(`${id} committed another entry at ${index} than the others`);
    }
  }
}

function textOf(entry: Entry): string {
  if (entry.kind !== 'data') return JSON.stringify(entry);
  return `${entry.term} ${Buffer.from(entry.data).toString('latin1')}`;
}
