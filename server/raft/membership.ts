/**
 * Who belongs to the group, as a value, and the changes of it: one server at a time (thesis 4.1),
 * so that every majority before a change shares a voter with every majority after it.
 *
 * A new server joins without a vote, is caught up, and only then becomes a voter.
 */
import {assert} from '#server/base/assert.ts';
import type {LogIndex, LogPosition, NodeId} from './message.ts';

export interface Member {
  readonly id: NodeId;
  /** `joining`: is sent the log, does not count; the leader makes it a voter once it is near. */
  readonly role: 'voter' | 'joining';
  /** The highest is preferred as leader. */
  readonly priority: number;
}

/** Ordered by id; no id twice. Empty on a server that waits to be added. */
export type Membership = readonly Member[];

/** Where a copy of the applied state stands, and who belonged to the group there. */
export interface Checkpoint {
  readonly last: LogPosition;
  readonly membership: Membership;
}

export type MembershipChange =
  | {readonly kind: 'add'; readonly id: NodeId; readonly priority: number}
  | {readonly kind: 'promote'; readonly id: NodeId}
  | {readonly kind: 'remove'; readonly id: NodeId}
  | {readonly kind: 'prioritize'; readonly id: NodeId; readonly priority: number};

export type ChangeRefusal = 'member-exists' | 'member-unknown' | 'last-voter';

export function votersOf(membership: Membership): readonly NodeId[] {
  return membership.filter(member => member.role === 'voter').map(member => member.id);
}

export function memberOf(membership: Membership, id: NodeId): Member | undefined {
  return membership.find(member => member.id === id);
}

export function isVoter(membership: Membership, id: NodeId): boolean {
  return memberOf(membership, id)?.role === 'voter';
}

/** The membership after `change`, or why there is none. */
export function changedMembership(
  membership: Membership,
  change: MembershipChange,
): Membership | ChangeRefusal {
  const {id} = change;
  const member = memberOf(membership, id);
  const others = membership.filter(other => other.id !== id);
  if (change.kind === 'add') {
    if (member !== undefined) return 'member-exists';
    return ordered([...others, {id, role: 'joining', priority: change.priority}]);
  }
  if (member === undefined) return 'member-unknown';
  switch (change.kind) {
    case 'promote':
      return ordered([...others, {...member, role: 'voter'}]);
    case 'prioritize':
      return ordered([...others, {...member, priority: change.priority}]);
    default:
      return votersOf(others).length === 0 ? 'last-voter' : others;
  }
}

/** A membership from members in any order. */
export function ordered(members: readonly Member[]): Membership {
  return [...members].sort((left, right) => (left.id < right.id ? -1 : 1));
}

interface AdoptedMembership {
  /** Index of the entry that brought it. */
  readonly since: LogIndex;
  readonly membership: Membership;
}

/** A membership with what every message asks of it. */
interface Current extends AdoptedMembership {
  readonly voters: readonly NodeId[];
  /** Each once. */
  readonly priorities: readonly number[];
}

/**
 * The memberships that a log holds, since the last one may be cut off with the log's end.
 *
 * Invariant: ascending by index, and the first one is in force at the log's base.
 */
export class MembershipHistory {
  #inForce: readonly AdoptedMembership[];
  #current: Current;

  constructor(base: LogIndex, membership: Membership) {
    this.#inForce = [{since: base, membership}];
    this.#current = currentOf(this.#inForce);
  }

  get current(): Membership {
    return this.#current.membership;
  }

  /** Index of the entry that brought the current one. */
  get since(): LogIndex {
    return this.#current.since;
  }

  /** The voters of the current membership. */
  get voters(): readonly NodeId[] {
    return this.#current.voters;
  }

  /** The priorities of the current one's members, each once. */
  get priorities(): readonly number[] {
    return this.#current.priorities;
  }

  /** The one before the current one, if the log still tells. */
  get previous(): Membership | undefined {
    return this.#inForce.at(-2)?.membership;
  }

  /** Whether the server belonged to the group at any time that the log still tells of. */
  everHeld(id: NodeId): boolean {
    return this.#inForce.some(({membership}) => memberOf(membership, id) !== undefined);
  }

  /** The oldest that the log tells of. */
  get first(): Membership {
    return this.#inForce[0]?.membership ?? [];
  }

  /** The membership in force when the entry `index` was the log's last. */
  at(index: LogIndex): Membership {
    const found = this.#inForce.findLast(one => one.since <= index);
    assert(found !== undefined, 'a membership is asked for at or above the base of the log');
    return found.membership;
  }

  add(since: LogIndex, membership: Membership): void {
    assert(since > this.since, 'memberships come in the order of the log');
    this.#set([...this.#inForce, {since, membership}]);
  }

  /** The entries behind `index` are gone. */
  truncate(index: LogIndex): void {
    const [first] = this.#inForce;
    assert(first !== undefined && first.since <= index, 'the base is never cut off');
    this.#set(this.#inForce.filter(one => one.since <= index));
  }

  /** The entries up to `index` are forgotten; what they put in force stays. */
  compact(index: LogIndex): void {
    const membership = this.at(index);
    this.#set([{since: index, membership}, ...this.#inForce.filter(one => one.since > index)]);
  }

  #set(inForce: readonly AdoptedMembership[]): void {
    this.#inForce = inForce;
    this.#current = currentOf(inForce);
  }
}

function currentOf(inForce: readonly AdoptedMembership[]): Current {
  const last = inForce.at(-1);
  assert(last !== undefined, 'there is always one');
  const priorities = new Set(last.membership.map(member => member.priority));
  return {...last, voters: votersOf(last.membership), priorities: [...priorities]};
}
