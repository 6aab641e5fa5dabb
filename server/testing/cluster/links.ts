/**
 * The network between the members, as a test may break it: a forwarder of bytes for every ordered
 * pair of members and every port, which knows nothing of what it carries.
 *
 * A member is told nothing of this: `redirect.ts`, loaded into its process, sends each connection
 * to the forwarder of its pair, so that addresses and names stay what they are. A fault holds for
 * one direction between two members, on connections that either of them opened.
 */
import {connect, createServer, type Server, type Socket} from 'node:net';
import type {SeededRandom} from '../property/seeded-random.ts';

/** What happens to bytes on their way. `whole`: nothing. */
export type LinkFault =
  | {readonly kind: 'whole'}
  /** Silence: connections stand, new ones are accepted, no byte arrives. */
  | {readonly kind: 'cut'}
  /** Connections are reset and new ones too. */
  | {readonly kind: 'refused'}
  | {readonly kind: 'slow'; readonly millis: number}
  /** A part of the pieces arrives late, as TCP shows the loss of packets. */
  | {readonly kind: 'lossy'; readonly percent: number; readonly millis: number};

export interface LinkEnd {
  readonly name: string;
  readonly host: string;
  readonly ports: readonly number[];
}

const whole: LinkFault = {kind: 'whole'};

/** All forwarders of a cluster. */
export class Links {
  readonly #ends: readonly LinkEnd[];
  readonly #random: SeededRandom;
  readonly #servers: Server[] = [];
  readonly #faults = new Map<string, LinkFault>();
  readonly #pipes = new Set<Pipe>();
  /** Where each member gets instead of the address that it means. */
  readonly #redirects = new Map<string, Record<string, string>>();

  private constructor(ends: readonly LinkEnd[], random: SeededRandom) {
    this.#ends = ends;
    this.#random = random;
  }

  static async open(ends: readonly LinkEnd[], random: SeededRandom): Promise<Links> {
    const links = new Links(ends, random);
    for (const from of ends) {
      const table: Record<string, string> = {};
      for (const to of ends) {
        if (from === to) continue;
        for (const port of to.ports) {
          table[`${to.host}:${port}`] = `127.0.0.1:${await links.#forward(from, to, port)}`;
        }
      }
      links.#redirects.set(from.name, table);
    }
    return links;
  }

  /** The variables of a member's environment that `redirect.ts` reads. */
  redirects(member: string): Readonly<Record<string, string>> {
    return this.#redirects.get(member) ?? {};
  }

  /** Sets a fault from now on, and for bytes that are held already. */
  set(from: string, to: string, fault: LinkFault): void {
    this.#faults.set(direction(from, to), fault);
    for (const pipe of this.#pipes) pipe.faultChanged();
  }

  /** Parts the members into groups that do not hear each other. */
  part(groups: readonly (readonly string[])[], fault: LinkFault = {kind: 'cut'}): void {
    const groupOf = (name: string): number => groups.findIndex(group => group.includes(name));
    for (const {name: from} of this.#ends) {
      for (const {name: to} of this.#ends) {
        if (from !== to && groupOf(from) !== groupOf(to)) this.set(from, to, fault);
      }
    }
  }

  heal(): void {
    this.#faults.clear();
    for (const pipe of this.#pipes) pipe.faultChanged();
  }

  async close(): Promise<void> {
    for (const pipe of this.#pipes) pipe.end();
    await Promise.all(
      this.#servers.map(server => new Promise(resolve => server.close(() => resolve(undefined)))),
    );
  }

  #fault(from: string, to: string): LinkFault {
    return this.#faults.get(direction(from, to)) ?? whole;
  }

  /** Opens one forwarder and answers its port. */
  async #forward(from: LinkEnd, to: LinkEnd, port: number): Promise<number> {
    const server = createServer({allowHalfOpen: true, noDelay: true}, near => {
      const there = (): LinkFault => this.#fault(from.name, to.name);
      const back = (): LinkFault => this.#fault(to.name, from.name);
      if (there().kind === 'refused' || back().kind === 'refused') {
        near.resetAndDestroy();
        return;
      }
      const far = connect({host: to.host, port, allowHalfOpen: true, noDelay: true});
      const ended = (pipe: Pipe): void => void this.#pipes.delete(pipe);
      const random = this.#random;
      this.#pipes.add(new Pipe({source: near, target: far, fault: there, random, ended}));
      this.#pipes.add(new Pipe({source: far, target: near, fault: back, random, ended}));
    });
    this.#servers.push(server);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a forwarder has no port');
    return address.port;
  }
}

function direction(from: string, to: string): string {
  return `${from}>${to}`;
}

/** One direction of one connection. Bytes leave in the order in which they came. */
class Pipe {
  readonly #source: Socket;
  readonly #target: Socket;
  readonly #fault: () => LinkFault;
  readonly #random: SeededRandom;
  readonly #ended: (pipe: Pipe) => void;
  #held: {readonly bytes: Buffer | 'end'; readonly dueAt: number}[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: {
    source: Socket;
    target: Socket;
    fault: () => LinkFault;
    random: SeededRandom;
    ended: (pipe: Pipe) => void;
  }) {
    this.#source = parts.source;
    this.#target = parts.target;
    this.#fault = parts.fault;
    this.#random = parts.random;
    this.#ended = parts.ended;
    this.#source.on('data', bytes => this.#take(bytes));
    this.#source.on('end', () => this.#take('end'));
    // A reset travels at once, as it does between two hosts, except through silence.
    this.#source.on('error', () => this.#abandon());
    this.#source.on('close', hadError => {
      if (hadError) this.#abandon();
    });
    this.#target.on('drain', () => this.#source.resume());
    this.#target.on('close', () => this.end());
  }

  faultChanged(): void {
    if (this.#fault().kind === 'refused') this.#reset();
    else if (this.#fault().kind !== 'cut') this.#release();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#held = [];
    this.#source.destroy();
    this.#target.destroy();
    this.#ended(this);
  }

  #take(bytes: Buffer | 'end'): void {
    const fault = this.#fault();
    const previous = this.#held.at(-1)?.dueAt ?? 0;
    this.#held.push({bytes, dueAt: Math.max(previous, performance.now() + this.#delay(fault))});
    if (fault.kind === 'cut') this.#source.pause();
    else this.#release();
  }

  #delay(fault: LinkFault): number {
    if (fault.kind === 'slow') return fault.millis;
    if (fault.kind === 'lossy') return this.#random.below(100) < fault.percent ? fault.millis : 0;
    return 0;
  }

  /** Sends what is due, and comes back for the rest. */
  #release(): void {
    if (this.#isOver || this.#fault().kind === 'cut') return;
    clearTimeout(this.#timer);
    const now = performance.now();
    let isFull = false;
    for (let next = this.#held[0]; next !== undefined && next.dueAt <= now; next = this.#held[0]) {
      this.#held.shift();
      if (next.bytes === 'end') this.#target.end();
      else isFull = !this.#target.write(next.bytes);
    }
    const [waiting] = this.#held;
    if (waiting !== undefined) {
      this.#timer = setTimeout(() => this.#release(), Math.ceil(waiting.dueAt - now));
    }
    if (isFull) this.#source.pause();
    else this.#source.resume();
  }

  #abandon(): void {
    if (this.#fault().kind === 'cut') return;
    this.#reset();
  }

  #reset(): void {
    for (const socket of [this.#source, this.#target]) {
      if (!socket.destroyed) socket.resetAndDestroy();
    }
    this.end();
  }
}
