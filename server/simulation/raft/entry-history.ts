/**
 * What all nodes together have written, applied and promised, held against what Raft claims.
 *
 * The history sees more than any node: every entry ever put into a log, in order of terms; what
 * is committed, by index; who led which term. Entries are compared as objects, since nodes pass
 * them on without copying.
 */
import type {Entry, LogIndex, LogPosition, NodeId, Term} from '#server/raft/message.ts';
import {Violation} from '../ledger.ts';

interface Written {
  readonly entry: Entry;
  readonly previousTerm: Term;
}

export class EntryHistory {
  /** The entries written, by index, then term. */
  readonly #written = new Map<LogIndex, Map<Term, Written>>();
  /** The entry at each index - 1. */
  readonly #committed: Entry[] = [];
  readonly #leaders = new Map<Term, NodeId>();
  /** The last index that the leader of a term has committed. */
  readonly #commits = new Map<Term, LogIndex>();

  /** How many entries are known to be committed; they are those from 1 on. */
  get committedCount(): number {
    return this.#committed.length;
  }

  get elections(): number {
    return this.#leaders.size;
  }

  committedAt(index: LogIndex): Entry | undefined {
    return this.#committed[index - 1];
  }

  /**
   * Election safety: a term has one leader. Leader completeness: it holds what leaders of earlier
   * terms have committed. (One of a later term may be at work already: a paused node can win late.)
   */
  led(node: NodeId, term: Term, holds: (position: LogPosition) => boolean): void {
    const other = this.#leaders.get(term);
    if (other !== undefined && other !== node) {
      throw new Violation(`term ${term} is led by ${other} and by ${node}`);
    }
    this.#leaders.set(term, node);
    for (const [earlier, index] of this.#commits) {
      // With log matching, holding the last committed entry is holding all before it.
      if (earlier < term && !holds({index, term: earlier})) {
        throw new Violation(`${node} leads term ${term} without entry ${index} of ${earlier}`);
      }
    }
  }

  /** The leader of `term` has committed up to `index`, whose entry is one of its own. */
  committed(index: LogIndex, term: Term): void {
    this.#commits.set(term, Math.max(index, this.#commits.get(term) ?? 0));
  }

  /** Log matching: an entry is told by index and term, and so is everything before it. */
  wrote(node: NodeId, previous: LogPosition, entries: readonly Entry[]): void {
    let previousTerm = previous.term;
    for (const [i, entry] of entries.entries()) {
      const index = previous.index + 1 + i;
      const sameIndex = this.#written.get(index) ?? new Map<Term, Written>();
      this.#written.set(index, sameIndex);
      const known = sameIndex.get(entry.term);
      if (known === undefined) sameIndex.set(entry.term, {entry, previousTerm});
      else if (known.entry !== entry || known.previousTerm !== previousTerm) {
        throw new Violation(`${node} wrote another entry ${index} of term ${entry.term}`);
      }
      previousTerm = entry.term;
    }
  }

  /**
   * State machine safety: what is applied at an index is the same everywhere, without holes. True
   * when this node is the first.
   */
  applied(node: NodeId, index: LogIndex, entry: Entry): boolean {
    if (index > this.#committed.length + 1) {
      throw new Violation(`${node} applied ${index} when ${this.#committed.length} are committed`);
    }
    const known = this.#committed[index - 1];
    if (known === undefined) {
      this.#committed.push(entry);
    } else if (known !== entry) {
      throw new Violation(`${node} applied another entry ${index} than was committed`);
    }
    return known === undefined;
  }
}
