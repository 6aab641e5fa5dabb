/** Effects, messages and entries as the lines of a transcript. */
import type {Effect} from './effect.ts';
import type {Membership} from './membership.ts';
import type {Entry, LogPosition, Message} from './message.ts';

/** `4@2`: index 4 of term 2. */
export function positionText({index, term}: LogPosition): string {
  return `${index}@${term}`;
}

/** Its term, and what it holds: `2`, `2=a`, `2=1+2+3?` (`?`: joining). */
export function entryText(entry: Entry): string {
  if (entry.kind === 'empty') return `${entry.term}`;
  if (entry.kind === 'data') return `${entry.term}=${String.fromCharCode(...entry.data)}`;
  return `${entry.term}=${membershipText(entry.membership)}`;
}

export function messageText(message: Message): string {
  switch (message.kind) {
    case 'pre-vote':
    case 'vote': {
      const transfer = message.kind === 'vote' && message.transfer ? ' by transfer' : '';
      return `${message.kind} term ${message.term} last ${positionText(message.last)}${transfer}`;
    }
    case 'pre-vote-reply':
    case 'vote-reply':
      return `${message.kind} term ${message.term} ${message.granted ? 'yes' : 'no'}`;
    case 'append': {
      const {term, previous, commit, entries} = message;
      const held = entries.length === 0 ? '' : ` entries ${entries.map(entryText).join(' ')}`;
      return `append term ${term} behind ${positionText(previous)}${held} commit ${commit}`;
    }
    case 'append-reply': {
      const {term} = message;
      if (message.accepted) return `append-reply term ${term} match ${message.match}`;
      const hint = positionText(message.hint);
      return `append-reply term ${term} refused ${message.refused} hint ${hint}`;
    }
    case 'snapshot':
      return `snapshot term ${message.term} at least ${positionText(message.atLeast)}`;
    case 'read-reply':
      return `read-reply ${message.id} ${message.index ?? 'unknown'}`;
    case 'read':
      return `read ${message.id}`;
    default:
      return `${message.kind} term ${message.term}`;
  }
}

export function effectText(effect: Effect): string {
  switch (effect.kind) {
    case 'persist': {
      const {hardState, restart, keepThrough, entries} = effect;
      const vote = hardState.vote === undefined ? '' : ` vote ${hardState.vote}`;
      const anew = restart === undefined ? '' : ` anew behind ${positionText(restart.last)}`;
      const added = entries.length === 0 ? '' : ` entries ${entries.map(entryText).join(' ')}`;
      return `persists term ${hardState.term}${vote}${anew} keeps ${keepThrough}${added}`;
    }
    case 'send':
      return `sends ${effect.to} ${effect.message.kind}`;
    case 'send-entries':
      return `sends ${effect.to} append ${effect.head.previous.index}-${effect.through}`;
    case 'apply':
      return `applies through ${effect.through}`;
    case 'role': {
      const leader = effect.leader === undefined ? '' : ` of ${effect.leader}`;
      return `is ${effect.role}${effect.role === 'follower' ? leader : ''} in term ${effect.term}`;
    }
    case 'membership':
      return `has members ${membershipText(effect.membership)} since ${effect.since}`;
    case 'accepted':
      return `accepts at ${effect.first}@${effect.term}`;
    case 'refused':
      return `refuses ${effect.input}: ${effect.reason}`;
    case 'read-ready':
      return `may read ${effect.id} at ${effect.index}`;
    case 'read-failed':
      return `cannot read ${effect.id}`;
    case 'install':
      return `fetches a checkpoint of ${positionText(effect.atLeast)} from ${effect.from}`;
    case 'transfer-failed':
      return `gives up the transfer to ${effect.to}`;
    default:
      return 'does something unheard of';
  }
}

function membershipText(membership: Membership): string {
  return membership
    .map(({id, role, priority}) => {
      return `${id}${role === 'joining' ? '?' : ''}${priority === 0 ? '' : `:${priority}`}`;
    })
    .join('+');
}
