/**
 * What a row of the table of administrative commands is, and the one way to carry one out.
 *
 * A command is described once: how it is written, who may give it, which member of a cluster
 * carries it out, what it takes, answers and refuses. Protocols spell it (HTTP as words and routes)
 * and have it done by `administer`; none decides about it.
 * Invariant A2: an administrative command is carried out for those whom its row names, whatever
 * protocol it came by, and what it changed stands in the log with the name of who asked.
 */
import {shownAddress} from '#server/base/addresses.ts';
import {type RefusalCode, Refusal} from '#server/base/errors.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import type {ExchangeService} from '#server/exchange/exchange-service.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Scheduler} from '#server/schedule/scheduler.ts';
import type {Security} from '#server/security/security.ts';
import type {Administration} from '#server/session/administration.ts';
import type {RequestContext, Service} from '#server/session/session.ts';
import type {ArgumentsOf, ArgumentTable} from './arguments.ts';
import type {MemberRequests} from './member-requests.ts';

/** What commands work on. */
export interface AdministrationParts {
  readonly service: Service;
  readonly security: Security;
  readonly administration: Administration;
  /** Absent: this server makes no backups. */
  readonly backups?: BackupService | undefined;
  /** Absent: this server does nothing by the clock. */
  readonly scheduler?: Scheduler | undefined;
  /** Absent: this server imports and exports nothing. */
  readonly exchanges?: ExchangeService | undefined;
  /** Absent: this server is no member of a cluster. */
  readonly members?: MemberRequests | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Hears how far long work is. */
export type TellProgress = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Who asks for a command, and how. */
export interface AdministrationCall {
  readonly parts: AdministrationParts;
  readonly principal: Principal;
  /** Whether nobody can read the answer on its way to the client. */
  readonly isPrivate: boolean;
  readonly context: RequestContext;
  readonly tell: TellProgress;
  /** Absent: this server is no member of a cluster, or the request has been brought to it. */
  readonly cluster?: ClusterWay | undefined;
}

/** Stands in place of an answer: another member has answered the client. */
export const relayed = Symbol('relayed');

/** How a request gets to the member that its command asks for. */
export interface ClusterWay {
  /**
   * Has the leader do it: what it answered, or `relayed` where it has answered the client;
   * undefined: this server leads.
   */
  readonly relay: (
    row: AdministrativeCommand,
    given: ArgumentsOf<ArgumentTable>,
  ) => Promise<typeof relayed | {readonly answer: unknown} | undefined>;
  /** Waits until this server has read what the client may rely on. */
  readonly reached: () => Promise<void>;
}

export interface AdministrativeCommand<T extends ArgumentTable = ArgumentTable, R = unknown> {
  /** How it is written as words; see spelling.ts. */
  readonly words: string;
  readonly right: 'user' | 'root';
  /** Which member of a cluster: its leader, one that has read its newest, or the one asked. */
  readonly at: 'leader' | 'fresh' | 'asked';
  readonly changes: boolean;
  readonly arguments: T;
  /** What it does, and what comes back; for the manual. */
  readonly says: string;
  readonly answer: string;
  /** Why it is declined, beside rights and the shape of arguments. */
  readonly refusals: readonly RefusalCode[];
  /** The answer is an object whose members stand beside `result`, which is `ok`. */
  readonly isFields?: boolean;
  /** The answer is an object with nothing around it and nothing beside it. */
  readonly isWhole?: boolean;
  /** It takes long and tells how far it is. */
  readonly isLong?: boolean;
  /** Looked at before a leader is asked, on the server that the client is connected with. */
  admit?(call: AdministrationCall, given: ArgumentsOf<T>): void | Promise<void>;
  /** @returns The answer; undefined where there is nothing to say. */
  run(call: AdministrationCall, given: ArgumentsOf<T>): R | Promise<R>;
}

/** A row, with the types of its arguments and its answer kept. */
export function command<T extends ArgumentTable, R>(
  row: AdministrativeCommand<T, R>,
): AdministrativeCommand<T, R> {
  return row;
}

/** @throws {Refusal} `security.root-only`. */
export function requireRight({right}: AdministrativeCommand, principal: Principal): void {
  if (right === 'user' || principal.root) return;
  const message = 'Only root user is authorized to execute server commands';
  throw new Refusal('security.root-only', message);
}

/**
 * Carries out a command, on the member of the cluster that its row asks for.
 *
 * @throws {Refusal} `security.root-only`, what its row names, `cluster.no-leader`.
 */
export async function administer<T extends ArgumentTable, R>(
  row: AdministrativeCommand<T, R>,
  call: AdministrationCall,
  given: ArgumentsOf<T>,
): Promise<R | typeof relayed> {
  const principal = call.parts.security.current(call.principal);
  requireRight(row, principal);
  await row.admit?.(call, given);
  if (row.at === 'leader') {
    const done = await call.cluster?.relay(row, given);
    if (done === relayed) return relayed;
    if (done !== undefined) return done.answer as R;
  }
  if (row.at === 'fresh') await call.cluster?.reached();
  const answer = await row.run(call, given);
  if (row.changes) {
    const {logger} = call.parts;
    const user = call.principal.name;
    logger.log('info', 'administration.done', {user, command: nameOf(row), ...shown(row, given)});
  }
  return answer;
}

/** The keywords that a command begins with. */
export function nameOf({words}: Pick<AdministrativeCommand, 'words'>): string {
  return words.split(/ ?[<[{]/, 1)[0] ?? words;
}

/** The texts among the arguments that may be shown; those of a setting may be secrets. */
function shown<T extends ArgumentTable>(
  row: AdministrativeCommand<T>,
  given: ArgumentsOf<T>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(row.arguments).flatMap(([name, {kind, isSecret}]) => {
    const value: unknown = given[name];
    const isShown = kind === 'text' && isSecret !== true && typeof value === 'string';
    return isShown ? [[name, shownAddress(value)]] : [];
  });
  return entries.length === 0 ? {} : {given: Object.fromEntries(entries) as unknown};
}
