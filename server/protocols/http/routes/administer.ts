/**
 * What the routes and words of administration have in common: a request as a call of the table of
 * commands (administration/commands.ts), and its answer as HTTP has it.
 */
import {
  type AdministrationCall,
  administer,
  type AdministrativeCommand,
  relayed,
  type TellProgress,
} from '#server/administration/command.ts';
import type {ArgumentsOf, ArgumentTable} from '#server/administration/arguments.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {answerEvents, wantsEvents} from '../message/event-stream.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {UserOperation} from '../router.ts';
import {contextOf, requestedConsistency} from './statement.ts';

const untold: TellProgress = () => {};

/** A request as a call. */
export function callOf(
  exchange: Exchange,
  principal: Principal,
  tell: TellProgress = untold,
): AdministrationCall {
  const {context, request} = exchange;
  const {gateway} = context;
  return {
    parts: context.options,
    principal,
    isPrivate: context.transport.isProtected(request),
    context: contextOf(exchange),
    tell,
    cluster: gateway && {
      relay: async () => ((await gateway.forward(exchange, principal)) ? relayed : undefined),
      reached: () => gateway.placement.reached(requestedConsistency(exchange)),
    },
  };
}

/** Has a command done and answers what it gave, with events when it is long and they are wanted. */
export async function answerCommand<T extends ArgumentTable>(
  exchange: Exchange,
  principal: Principal,
  command: AdministrativeCommand<T>,
  given: ArgumentsOf<T>,
): Promise<void> {
  const run = (tell?: TellProgress): Promise<unknown> =>
    administer(command, callOf(exchange, principal, tell), given);
  if (command.isLong === true && wantsEvents(exchange)) {
    if ((await exchange.context.gateway?.forward(exchange, principal)) === true) return;
    return await answerEvents(exchange, async tell => (await run(tell)) as FieldsAnswer);
  }
  const answer = await run();
  if (answer === relayed) return;
  if (command.isWhole === true) return exchange.answerJson(200, answer);
  const fields = command.isFields === true ? {result: 'ok', ...(answer as FieldsAnswer)} : {};
  exchange.answerJson(200, command.isFields === true ? fields : {result: answer ?? 'ok'});
}

type FieldsAnswer = Readonly<Record<string, unknown>>;

/**
 * A route that stands for a command: its right and its leader rule are those of the row.
 *
 * @param answer - Says what was done, when the leader is this server.
 */
export function operationFor<T extends ArgumentTable, R>(
  command: AdministrativeCommand<T, R>,
  read: (exchange: Exchange) => Promise<ArgumentsOf<T>> | ArgumentsOf<T>,
  answer: (exchange: Exchange, result: R, given: ArgumentsOf<T>, principal: Principal) => void,
): UserOperation {
  // What is looked at before the leader is asked concerns the server that the client reached.
  const at = command.at === 'asked' || command.admit !== undefined ? {} : {at: command.at};
  return {
    access: command.right,
    ...at,
    async run(exchange, principal) {
      const given = await read(exchange);
      const result = await plainly(() => administer(command, callOf(exchange, principal), given));
      if (result !== relayed) answer(exchange, result, given, principal);
    },
  };
}

/** A rule about users that routes state without a class: the label is the whole answer. */
async function plainly<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'user.invalid') throw error;
    throw new PlainFailure(400, error.message);
  }
}

/** Answers what a command gave as the member `result`. */
export function answerResult(exchange: Exchange, result: unknown): void {
  exchange.answerJson(200, {result});
}
