/**
 * A group of cores under full control, for scripts: nothing moves unless a line says so, and
 * everything that happens becomes a line. The lines of testdata/*.txt are its language.
 *
 *   term 7 | at 2 9           the term on all disks, the term on that of node 2
 *   log 1 1 1 4               the terms of the entries on the disk of node 1
 *   known 1 2                 up to which entry node 1 knows them to be committed
 *   quorum all | append 1     and other limits: bytes, window, uncommitted
 *   follows 3                 node 3 never stands for election
 *   timeout 1                 node 1's election timer runs out
 *   wait 500 | run 500        time passes, everybody ticks; with `run` messages arrive as well
 *   deliver [1 2] [once]      messages arrive, all or from 1 to 2, until quiet or just once
 *   drop [1 2]                messages are lost
 *   again 1 2 refused         the last message from 1 to 2 with that word arrives once more
 *   cut 1 | mend 1            node 1 and the others do not hear each other
 *   disk 1 slow | sync 1      writes of node 1 wait until it syncs; `disk 1 fast` ends that
 *   sync 1 first              only its oldest write becomes durable
 *   crash 1 | start 1         what is not durable is lost
 *   propose 1 a b, read 1 r, change 1 add 4, transfer 1 [2], lost 2 1, compact 1 5
 *   install 2 1               node 2 has node 1's checkpoint in place; `fail 2`: it has not
 *   hide | show               events are not printed; print them again
 *   state [1]                 role, term, vote, commit, log
 */
import {assert} from '#server/base/assert.ts';
import type {Effect} from './effect.ts';
import type {Input} from './input.ts';
import type {Membership, MembershipChange} from './membership.ts';
import type {Entry, LogPosition, Message, NodeId} from './message.ts';
import {Raft, type RaftOptions, type Recovered} from './state.ts';
import {step} from './step.ts';
import {effectText, entryText, messageText, positionText} from './testing-text.ts';

interface Letter {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly message: Message;
}

/** A node's log, with its entries at hand. */
interface ScriptLog extends Recovered {
  readonly entries: readonly Entry[];
}

interface Written {
  readonly number: number;
  readonly recovered: ScriptLog;
}

interface Held extends Letter {
  readonly after: number;
}

interface ScriptNode {
  raft: Raft;
  running: boolean;
  slow: boolean;
  /** The log as the process sees it, and what is durable of it. */
  current: ScriptLog;
  durable: ScriptLog;
  durableNumber: number;
  applied: number;
  writes: Written[];
  held: Held[];
}

const sentencesMax = 2000;

export class ScriptCluster {
  readonly #options: Omit<RaftOptions, 'id' | 'seed'>;
  readonly #follower: NodeId | undefined;
  readonly #nodes = new Map<NodeId, ScriptNode>();
  readonly #cut = new Set<NodeId>();
  #mail: Letter[] = [];
  readonly #arrived: Letter[] = [];
  readonly #lines: string[] = [];
  #hidden = false;
  #now = 0;

  /** `names`: ids, each with `:priority` if it has one, `+id` for one that is no member. */
  constructor(names: readonly string[], setup: ReadonlyMap<string, string>) {
    this.#options = {
      electionTimeoutMinMs: 1000,
      electionTimeoutMaxMs: 2000,
      heartbeatMs: 100,
      quorum: setup.get('quorum') === 'all' ? 'all' : 'majority',
      appendEntriesMax: Number(setup.get('append') ?? 64),
      appendBytesMax: Number(setup.get('bytes') ?? 1000),
      window: {messagesMax: Number(setup.get('window') ?? 4), bytesMax: 10_000},
      uncommittedBytesMax: Number(setup.get('uncommitted') ?? 10_000),
      transferLagMax: 4,
    };
    this.#follower = setup.get('follows');
    const members: Membership = names
      .filter(name => !name.startsWith('+'))
      .map(name => {
        const [id = '', priority = '0'] = name.split(':');
        return {id, role: 'voter', priority: Number(priority)};
      });
    for (const name of names) {
      const id = name.replace('+', '').replace(/:.*/, '');
      const terms = (setup.get(`log ${id}`) ?? '').split(' ').filter(text => text !== '');
      const entries = terms.map((term): Entry => ({kind: 'empty', term: Number(term)}));
      const recovered: ScriptLog = {
        term: Number(setup.get(`at ${id}`) ?? setup.get('term') ?? entries.at(-1)?.term ?? 0),
        vote: undefined,
        base: {index: 0, term: 0},
        membership: name.startsWith('+') ? [] : members,
        entries,
        applied: 0,
        committed: Number(setup.get(`known ${id}`) ?? 0),
      };
      this.#nodes.set(id, this.#startNode(id, recovered));
    }
  }

  /** Carries out the lines of a script; gives what happened. */
  run(script: readonly string[]): readonly string[] {
    for (const line of script) this.#line(line);
    return this.#lines;
  }

  #line(line: string): void {
    const [verb = '', ...args] = line.split(' ');
    const [first = '', second = '', third = ''] = args;
    switch (verb) {
      case 'timeout':
        this.#now = Math.max(this.#now, this.#node(first).raft.electionDeadline);
        return this.#input(first, {kind: 'tick'});
      case 'wait':
        return this.#wait(Number(first), false);
      case 'run':
        return this.#wait(Number(first), true);
      case 'deliver':
        return this.#deliver(args);
      case 'drop':
        this.#mail = this.#mail.filter(letter => !isBetween(letter, first, second));
        return;
      case 'again': {
        const isMeant = (letter: Letter) => messageText(letter.message).includes(third);
        const letter = this.#arrived.findLast(one => isBetween(one, first, second) && isMeant(one));
        if (letter === undefined) throw new Error(`no ${third} from ${first} to ${second}`);
        return this.#receive(letter);
      }
      case 'cut':
        this.#cut.add(first);
        return;
      case 'mend':
        this.#cut.delete(first);
        return;
      case 'disk':
        this.#node(first).slow = second === 'slow';
        return;
      case 'sync':
        return this.#sync(first, second === 'first' ? 1 : Number.POSITIVE_INFINITY);
      case 'crash':
        this.#node(first).running = false;
        return;
      case 'start':
        this.#nodes.set(first, this.#startNode(first, this.#node(first).durable));
        return;
      case 'propose': {
        const data = args.slice(1).map(text => Uint8Array.from(text, byte => byte.charCodeAt(0)));
        return this.#input(first, {kind: 'propose', data});
      }
      case 'read':
        return this.#input(first, {kind: 'read', id: second});
      case 'change':
        return this.#input(first, {kind: 'change', change: changeOf(second, third, args[3])});
      case 'transfer':
        return this.#input(first, {kind: 'transfer', to: second === '' ? undefined : second});
      case 'lost':
        return this.#input(first, {kind: 'peer-lost', id: second});
      case 'compact':
        return this.#compact(first, Number(second));
      case 'install':
        return this.#install(first, second);
      case 'fail':
        return this.#input(first, {kind: 'install-failed'});
      case 'hide':
      case 'show':
        this.#hidden = verb === 'hide';
        return;
      case 'state':
        for (const id of first === '' ? this.#nodes.keys() : args)
          this.#lines.push(this.#state(id));
        return;
      default:
        throw new Error(`no such line in a script: '${line}'`);
    }
  }

  #startNode(id: NodeId, recovered: ScriptLog): ScriptNode {
    const own = {id, seed: Number(id), neverLeads: id === this.#follower};
    return {
      raft: new Raft({...this.#options, ...own}, recovered, this.#now),
      running: true,
      slow: false,
      current: recovered,
      durable: recovered,
      durableNumber: 0,
      applied: recovered.applied,
      writes: [],
      held: [],
    };
  }

  #node(id: NodeId): ScriptNode {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new Error(`no node '${id}'`);
    return node;
  }

  #input(id: NodeId, input: Input): void {
    const node = this.#node(id);
    if (!node.running) return;
    for (const effect of step(node.raft, this.#now, input)) this.#carryOut(id, node, effect);
    if (!node.slow && node.writes.length > 0) this.#sync(id, Number.POSITIVE_INFINITY);
  }

  #carryOut(id: NodeId, node: ScriptNode, effect: Effect): void {
    const waits = 'after' in effect && effect.after > node.durableNumber;
    this.#say(`${id} ${effectText(effect)}${waits && node.slow ? ' once durable' : ''}`);
    if (effect.kind === 'persist') {
      const {number, hardState, restart, keepThrough, entries} = effect;
      const {base, membership} = node.current;
      const from = restart?.last ?? base;
      const kept =
        restart === undefined ? node.current.entries.slice(0, keepThrough - from.index) : [];
      node.current = {
        ...hardState,
        base: from,
        membership: restart?.membership ?? membership,
        entries: [...kept, ...entries],
        applied: from.index,
        committed: from.index,
      };
      node.writes.push({number, recovered: node.current});
    } else if (effect.kind === 'send' || effect.kind === 'send-entries') {
      const message = effect.kind === 'send' ? effect.message : this.#filled(node, effect);
      const letter = {from: id, to: effect.to, message, after: effect.after};
      if (waits) node.held.push(letter);
      else this.#mail.push(letter);
    } else if (effect.kind === 'apply') {
      assert(effect.through > node.applied, 'each entry is applied once');
      node.applied = effect.through;
    }
  }

  #filled(node: ScriptNode, effect: Extract<Effect, {readonly kind: 'send-entries'}>): Message {
    const {head, through} = effect;
    const {base, entries} = node.current;
    assert(through <= base.index + entries.length, 'an append holds what the log holds');
    const range = entries.slice(head.previous.index - base.index, through - base.index);
    return {...head, entries: range};
  }

  /** The oldest writes, so many at most, become durable. */
  #sync(id: NodeId, writesMax: number): void {
    const node = this.#node(id);
    const last = node.writes.splice(0, writesMax).at(-1);
    if (last === undefined || !node.running) return;
    node.durable = last.recovered;
    node.durableNumber = last.number;
    this.#mail.push(...node.held.filter(({after}) => after <= last.number));
    node.held = node.held.filter(({after}) => after > last.number);
    this.#input(id, {kind: 'persisted', number: last.number});
  }

  #wait(ms: number, delivering: boolean): void {
    for (const until = this.#now + ms; this.#now < until; ) {
      this.#now = Math.min(until, this.#now + this.#options.heartbeatMs / 2);
      for (const id of this.#nodes.keys()) this.#input(id, {kind: 'tick'});
      if (delivering) this.#deliver([]);
    }
  }

  #deliver(args: readonly string[]): void {
    const once = args.at(-1) === 'once';
    const [from = '', to = ''] = once ? args.slice(0, -1) : args;
    for (let count = 0; ; ) {
      const mail = this.#mail;
      const due = mail.filter(letter => isBetween(letter, from, to));
      if (due.length === 0) return;
      this.#mail = mail.filter(letter => !isBetween(letter, from, to));
      for (const letter of due) {
        if (++count > sentencesMax) throw new Error('the nodes do not stop talking');
        this.#receive(letter);
      }
      if (once) return;
    }
  }

  #receive(letter: Letter): void {
    const {from, to, message} = letter;
    if (this.#cut.has(from) || this.#cut.has(to) || !this.#nodes.has(to)) return;
    this.#arrived.push(letter);
    if (this.#node(to).running) this.#say(`${from} > ${to} ${messageText(message)}`);
    this.#input(to, {kind: 'message', from, message});
  }

  #compact(id: NodeId, through: number): void {
    const node = this.#node(id);
    const {raft, current} = node;
    const term = raft.log.termAt(through);
    assert(term !== undefined, 'a script forgets what is there');
    const membership = raft.memberships.at(through);
    const entries = current.entries.slice(through - current.base.index);
    const [applied, committed] = [through, through];
    node.current = {
      ...current,
      base: {index: through, term},
      membership,
      entries,
      applied,
      committed,
    };
    node.durable = node.current;
    this.#input(id, {kind: 'compact', through});
  }

  #install(id: NodeId, from: NodeId): void {
    const {raft, applied} = this.#node(from);
    const last: LogPosition = {index: applied, term: raft.log.termAt(applied) ?? 0};
    const node = this.#node(id);
    node.applied = Math.max(node.applied, applied);
    const checkpoint = {last, membership: raft.memberships.at(applied)};
    this.#input(id, {kind: 'installed', checkpoint});
  }

  #state(id: NodeId): string {
    const {raft, current, running, applied} = this.#node(id);
    if (!running) return `${id} down`;
    const {role, term, vote, commit} = raft;
    const base = current.base.index === 0 ? '' : `..${positionText(current.base)} `;
    const log = current.entries.map(entryText).join(' ');
    const voted = vote === undefined ? '' : ` vote ${vote}`;
    const progress = `commit ${commit} applied ${applied}`;
    return `${id} ${role.kind} term ${term}${voted} ${progress} log ${base}${log}`.trimEnd();
  }

  #say(line: string): void {
    if (!this.#hidden) this.#lines.push(line);
  }
}

function isBetween(letter: Letter, from: string, to: string): boolean {
  return (from === '' || letter.from === from) && (to === '' || letter.to === to);
}

function changeOf(kind: string, id: string, priority = '0'): MembershipChange {
  switch (kind) {
    case 'add':
    case 'prioritize':
      return {kind, id, priority: Number(priority)};
    case 'promote':
    case 'remove':
      return {kind, id};
    default:
      throw new Error(`no such change: '${kind}'`);
  }
}
