/**
 * What a client may rely on besides linearizability, asked of a history of registers.
 *
 * In every mode, all members agree which value a version of a key has, and one life of one member
 * never goes back behind what it showed a client before. With `read_your_writes` and
 * `linearizable` a client, wherever it goes, sees nothing older than what it wrote or saw.
 */
import type {Operation} from './history.ts';

export interface BrokenGuarantee {
  readonly guarantee: 'agreement' | 'read your writes' | 'monotonic reads' | 'monotonic member';
  readonly operation: Operation;
  readonly says: string;
}

/** Everything that a history breaks; the operations of each client in the order of its calls. */
export function brokenGuarantees(operations: readonly Operation[]): BrokenGuarantee[] {
  const ordered = operations.toSorted((one, other) => one.call - other.call);
  return [...disagreements(ordered), ...stepsBack(ordered)];
}

function disagreements(operations: readonly Operation[]): BrokenGuarantee[] {
  const broken: BrokenGuarantee[] = [];
  const known = new Map<string, number>();
  for (const operation of operations) {
    const value = shownValue(operation);
    if (value === undefined) continue;
    const place = `${operation.key} version ${operation.version}`;
    const before = known.get(place);
    known.set(place, value);
    if (before === undefined || before === value) continue;
    const says = `${place} is ${before} for one and ${value} for another`;
    broken.push({guarantee: 'agreement', operation, says});
  }
  return broken;
}

/** The value at `version` that the answer tells, where it tells one. */
function shownValue({kind, outcome, applied, found, value}: Operation): number | undefined {
  if (outcome !== 'ok') return undefined;
  if (kind === 'read') return found;
  return kind === 'write' || applied ? value : undefined;
}

interface Seen {
  readonly written: number;
  readonly read: number;
}

function stepsBack(operations: readonly Operation[]): BrokenGuarantee[] {
  const broken: BrokenGuarantee[] = [];
  const byClient = new Map<string, Seen>();
  const byMember = new Map<string, number>();
  for (const operation of operations) {
    if (shownValue(operation) === undefined) continue;
    const {client, key, node, kind, mode, version} = operation;
    const clientKey = `${client} ${key}`;
    const seen = byClient.get(clientKey) ?? {written: 0, read: 0};
    if (kind !== 'read') {
      byClient.set(clientKey, {...seen, written: Math.max(seen.written, version)});
      continue;
    }
    const memberKey = `${clientKey} ${node}`;
    const shown = byMember.get(memberKey) ?? 0;
    const fail = (guarantee: BrokenGuarantee['guarantee'], before: number): void => {
      const says = `client ${client} reads version ${version} of ${key} at ${node} after ${before}`;
      broken.push({guarantee, operation, says});
    };
    if (version < shown) fail('monotonic member', shown);
    byMember.set(memberKey, Math.max(shown, version));
    if (mode === 'eventual') continue;
    if (version < seen.written) fail('read your writes', seen.written);
    if (version < seen.read) fail('monotonic reads', seen.read);
    byClient.set(clientKey, {...seen, read: Math.max(seen.read, version)});
  }
  return broken;
}
