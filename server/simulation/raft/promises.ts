/** What a message promises must be durable on the node that sends it (invariant R3). */
import type {HardState} from '#server/raft/effect.ts';
import type {LogIndex, Message, NodeId} from '#server/raft/message.ts';
import {Violation} from '../ledger.ts';

/** What the disk of a node holds. */
export interface DurableNode {
  readonly id: NodeId;
  readonly hardState: HardState;
  readonly lastIndex: LogIndex;
  /** Up to here the applied state is durable, whatever the log holds. */
  readonly checkpointIndex: LogIndex;
}

/** Throws Violation when the message says more than the disk of its sender holds. */
export function checkPromise(node: DurableNode, to: NodeId, message: Message): void {
  const {hardState} = node;
  const broken = (what: string) => {
    throw new Violation(`${node.id} sends ${message.kind} to ${to} before ${what} is durable`);
  };
  const proposed = message.kind === 'pre-vote' || message.kind === 'pre-vote-reply';
  const isWritten = message.term <= hardState.term;
  if (message.kind === 'vote' && !isWritten) {
    // It asks while its own vote is being written, by a log that it cannot lose.
    if (message.last.index > Math.max(node.lastIndex, node.checkpointIndex)) broken('its log');
    return;
  }
  if (!proposed && !isWritten) broken(`term ${message.term}`);
  const sameTerm = hardState.term === message.term;
  if (message.kind === 'vote' && sameTerm && hardState.vote !== node.id) broken('its own vote');
  if (message.kind === 'vote-reply' && message.granted && sameTerm && hardState.vote !== to) {
    broken('the vote');
  }
  if (message.kind !== 'append-reply' || !message.accepted || !sameTerm) return;
  if (message.match <= node.checkpointIndex || message.match <= node.lastIndex) return;
  broken(`entry ${message.match}`);
}
