/**
 * Messages of the core on their way to the transport.
 *
 * One that relies on a write waits until that is durable; others pass it by. An append gets its
 * entries here: from memory for peers that keep up, whose appends are the same and are encoded
 * once; for a laggard from the storage, in order, and only if the log still is what the core meant
 * when they are there. What is dropped the core sends again. A word about the commit alone waits a
 * moment for an append that brings it along: where writes follow each other none goes by itself.
 */
import type {Effect} from '#server/raft/effect.ts';
import type {AppendHead, Entry, LogIndex, NodeId} from '#server/raft/message.ts';
import {encodeMessage} from '#server/raft/message-encoding.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {PeerTransport} from '../peer-transport.ts';

type Send = Extract<Effect, {readonly kind: 'send'}>;
type SendEntries = Extract<Effect, {readonly kind: 'send-entries'}>;

export interface OutgoingOptions {
  readonly transport: PeerTransport;
  readonly timers: Timers;
  /** Entries in memory; undefined when one is not there any more. */
  readonly atHand: (after: LogIndex, through: LogIndex) => readonly Entry[] | undefined;
  /** Entries on the disk, from the first on; undefined when they are gone. */
  readonly read: (after: LogIndex, through: LogIndex) => Promise<readonly Entry[] | undefined>;
  /** Whether the core would send this still, with these entries. */
  readonly isCurrent: (head: AppendHead, entries: readonly Entry[]) => boolean;
}

interface Held {
  readonly after: number;
  readonly to: NodeId;
  readonly bytes: Uint8Array;
}

/** What is told of committed entries. */
interface Word {
  readonly effect: SendEntries;
  hasWaited: boolean;
}

interface Encoded {
  readonly head: AppendHead;
  readonly through: LogIndex;
  readonly bytes: Uint8Array;
}

/** Reads for one peer that wait for each other. */
const readsMax = 16;
/** A word waits for one or two of these: longer than until the next writes, and hardly noticed. */
const wordStepMs = 3;

export class OutgoingMessages {
  readonly #options: OutgoingOptions;
  /** Writes up to this number are durable. */
  #durable = 0;
  #held: Held[] = [];
  #encoded: Encoded | undefined;
  /** Not sent yet, by the peer. */
  readonly #words = new Map<NodeId, Word>();
  #wordsAreDue = false;
  readonly #laggards = new Map<NodeId, {reads: number; last: Promise<void>}>();

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  send({to, message, after}: Send): void {
    this.#tell(to);
    this.#sendBytes(to, after, encodeMessage(message));
  }

  sendEntries(effect: SendEntries): void {
    const {to} = effect;
    this.#words.delete(to);
    if (effect.mayWait) {
      this.#words.set(to, {effect, hasWaited: false});
      this.#tellLater();
    } else this.#sendNow(effect);
  }

  /** Sends the words that wait. */
  tellAll(): void {
    for (const to of this.#words.keys()) this.#tell(to);
  }

  #tell(to: NodeId): void {
    const word = this.#words.get(to);
    if (word === undefined) return;
    this.#words.delete(to);
    this.#sendNow(word.effect);
  }

  #tellLater(): void {
    if (this.#wordsAreDue) return;
    this.#wordsAreDue = true;
    this.#options.timers.after(wordStepMs, () => {
      this.#wordsAreDue = false;
      for (const [to, word] of this.#words) {
        if (word.hasWaited) this.#tell(to);
        word.hasWaited = true;
      }
      if (this.#words.size > 0) this.#tellLater();
    });
  }

  #sendNow({to, head, through, after}: SendEntries): void {
    // Heartbeats pass by; entries keep their order.
    if (!this.#laggards.has(to) || through <= head.previous.index) {
      const bytes = this.#encode(head, through);
      if (bytes !== undefined) return this.#sendBytes(to, after, bytes);
    }
    this.#readLater(to, head, through);
  }

  /** Writes up to `number` are durable: lets go what waited for them. */
  durable(number: number): void {
    this.#durable = number;
    if (this.#held.length === 0) return;
    const held = this.#held;
    this.#held = held.filter(({after}) => after > number);
    for (const {to, after, bytes} of held) if (after <= number) this.#transmit(to, bytes);
  }

  #sendBytes(to: NodeId, after: number, bytes: Uint8Array): void {
    if (after <= this.#durable) this.#transmit(to, bytes);
    else this.#held.push({after, to, bytes});
  }

  #transmit(to: NodeId, bytes: Uint8Array): void {
    this.#options.transport.send(to, [bytes]);
  }

  /** Undefined when the entries are not in memory. */
  #encode(head: AppendHead, through: LogIndex): Uint8Array | undefined {
    const last = this.#encoded;
    if (last !== undefined && last.through === through && isSameHead(last.head, head)) {
      return last.bytes;
    }
    const {index} = head.previous;
    const entries = through <= index ? [] : this.#options.atHand(index, through);
    if (entries === undefined) return undefined;
    const bytes = encodeMessage({...head, entries});
    this.#encoded = {head, through, bytes};
    return bytes;
  }

  #readLater(to: NodeId, head: AppendHead, through: LogIndex): void {
    const lagging = this.#laggards.get(to) ?? {reads: 0, last: Promise.resolve()};
    if (lagging.reads >= readsMax) return;
    lagging.reads++;
    lagging.last = lagging.last
      .then(() => this.#readAndSend(to, head, through))
      .finally(() => {
        lagging.reads--;
        if (lagging.reads === 0) this.#laggards.delete(to);
      });
    this.#laggards.set(to, lagging);
  }

  async #readAndSend(to: NodeId, head: AppendHead, through: LogIndex): Promise<void> {
    const {atHand, read, isCurrent} = this.#options;
    const {index} = head.previous;
    const entries = atHand(index, through) ?? (await read(index, through));
    if (entries === undefined || entries.length !== through - index) return;
    // An append relies on its sender's term alone, which is durable while it leads.
    if (isCurrent(head, entries)) this.#transmit(to, encodeMessage({...head, entries}));
  }
}

/** Within a term a leader's entry at an index is always the same. */
function isSameHead(one: AppendHead, other: AppendHead): boolean {
  return (
    one.term === other.term &&
    one.round === other.round &&
    one.commit === other.commit &&
    one.previous.index === other.previous.index
  );
}
