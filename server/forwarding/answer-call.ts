/**
 * What the leader does for a client of another member, and answers it.
 *
 * It is carried out by this server's own service, which refuses what this server may not do: a call
 * is never brought to a third server.
 */
import {readArguments} from '#server/administration/arguments.ts';
import {
  administer,
  type AdministrationParts,
  type AdministrativeCommand,
} from '#server/administration/command.ts';
import {administrativeCommands} from '#server/administration/commands.ts';
import {Refusal} from '#server/base/errors.ts';
import {leaderNeeded} from '#server/cluster/leadership.ts';
import type {Principal} from '#server/security/principal.ts';
import {type CalledSummary, statementOf} from './called-statement.ts';
import {
  type CalledLoad,
  type CalledStatement,
  errorFrame,
  type Frame,
  frame,
  type FrameKind,
  type LeaderCall,
} from './leader-call.ts';
import {recordsIn, type ToldCounts} from './loaded-records.ts';
import type {RequestPlacement} from './request-placement.ts';

/** Who asks through another member. */
export interface Caller {
  readonly principal: Principal;
  /** Aborted when nobody waits for the answer. */
  readonly signal: AbortSignal;
}

/** The next frame behind a call; undefined behind the last. Rejects when they break off. */
export type FrameSource = () => Promise<Frame | undefined>;

/** What it is carried out with: this server's own. */
export interface LeaderParts extends AdministrationParts {
  readonly placement: RequestPlacement;
}

/**
 * The frames of the answer, each made when the one before was taken. Never throws.
 *
 * @param sent - What follows the call.
 */
export async function* answerCall(
  call: LeaderCall,
  caller: Caller,
  parts: LeaderParts,
  sent: FrameSource,
): AsyncGenerator<Buffer, void, undefined> {
  const {logger, placement} = parts;
  try {
    // One that was just elected is ready in a moment.
    await placement.settled();
    if (!placement.cluster.isLeader) throw leaderNeeded('the server that was asked does not lead');
    yield* framesOf(call, caller, parts, sent);
  } catch (error) {
    if (!(error instanceof Refusal)) {
      const reason = error instanceof Error ? error.stack : String(error);
      logger.log('error', 'cluster.call-failed', {call: call.kind, error: reason});
    }
    yield errorFrame(error);
  }
}

async function* framesOf(
  call: LeaderCall,
  caller: Caller,
  parts: LeaderParts,
  sent: FrameSource,
): AsyncGenerator<Buffer, void, undefined> {
  if (call.kind === 'run') yield* rowsOf(call.request, caller, parts);
  else if (call.kind === 'load') yield* loadOf(call.request, caller, parts, sent);
  else {
    const value = await valueOf(call, caller, parts);
    yield frame('value', JSON.stringify({value, index: parts.service.readableIndex}));
  }
}

/** Takes the records as they come, and answers each frame of them when it is taken. */
async function* loadOf(
  request: CalledLoad,
  {principal, signal}: Caller,
  {service}: LeaderParts,
  sent: FrameSource,
): AsyncGenerator<Buffer, void, undefined> {
  const load = await service.loadRecords(principal, {...request, signal});
  const told = (kind: FrameKind): Buffer => {
    const {vertices, edges, commitIndex} = load.counts;
    const counts: ToldCounts = {vertices, edges, commitIndex, index: service.readableIndex};
    return frame(kind, JSON.stringify(counts));
  };
  try {
    yield told('head');
    for (let piece = await sent(); piece?.kind !== 'end'; piece = await sent()) {
      if (piece === undefined) throw new Refusal('batch.truncated', 'the records broke off');
      for (const record of recordsIn(piece)) {
        const waiting = load.add(record);
        if (waiting !== undefined) await waiting;
      }
      yield told('taken');
    }
    await load.finish();
    yield told('end');
  } finally {
    load.close();
  }
}

async function* rowsOf(
  request: CalledStatement,
  {principal, signal}: Caller,
  {service, placement}: LeaderParts,
): AsyncGenerator<Buffer, void, undefined> {
  const statement = statementOf(request, signal);
  await placement.readable(principal, statement);
  const cursor = await service.run(principal, statement);
  const told = (): string => {
    const summary: CalledSummary = {summary: cursor.summary, index: service.readableIndex};
    return JSON.stringify(summary);
  };
  try {
    const {whole} = cursor;
    if (whole !== undefined) {
      const rows = whole.length === 0 ? [] : [frame('rows', whole)];
      yield Buffer.concat([frame('head', told()), ...rows, frame('end', told())]);
      return;
    }
    yield frame('head', told());
    for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
      yield frame('rows', piece);
    }
    yield frame('end', told());
  } finally {
    cursor.close();
  }
}

async function valueOf(
  call: Exclude<LeaderCall, {readonly kind: 'run' | 'load'}>,
  {principal, signal}: Caller,
  parts: AdministrationParts,
): Promise<unknown> {
  const {service} = parts;
  switch (call.kind) {
    case 'prepare':
      return await service.prepare(principal, statementOf(call.request, signal));
    case 'begin': {
      const {database, isolation, tag, clientName, readOnly} = call;
      const context = {isolation, tag, clientName, readOnly};
      return await service.begin(principal, database, context);
    }
    case 'commit': {
      const {database, transactionId, requestId, timeoutMs} = call;
      return await service.commit(principal, database, transactionId, requestId, {timeoutMs});
    }
    case 'rollback':
      return await service.rollback(principal, call.database, call.transactionId);
    default:
      return await administered(call, principal, parts);
  }
}

async function administered(
  {command, given, isPrivate}: Extract<LeaderCall, {readonly kind: 'administer'}>,
  principal: Principal,
  parts: AdministrationParts,
): Promise<unknown> {
  const rows: Readonly<Record<string, AdministrativeCommand>> = administrativeCommands;
  const row = Object.hasOwn(rows, command) ? rows[command] : undefined;
  if (row === undefined) {
    throw new Refusal(
      'not-available',
      `the leader knows no command ${command}: upgrade its server`,
    );
  }
  const call = {parts, principal, isPrivate, context: {}, tell: () => {}};
  return await administer(row, call, readArguments(row.arguments, given));
}
