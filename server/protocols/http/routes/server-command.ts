/**
 * POST `/server` `{command}`: an administrative command as one line of words, the keywords in any
 * case, or with arguments by name beside them (docs/administration.md).
 */
import {administrativeCommands} from '#server/administration/commands.ts';
import {
  type ArgumentsOf,
  type ArgumentTable,
  readArguments,
  WrongWords,
} from '#server/administration/arguments.ts';
import {type AdministrativeCommand, requireRight} from '#server/administration/command.ts';
import {
  type Spoken,
  spokenArguments,
  spokenCommand,
  syntaxOf,
} from '#server/administration/spelling.ts';
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {answerCommand} from './administer.ts';

const commands: readonly AdministrativeCommand[] = Object.values(administrativeCommands);
/** Fields of a request that are no arguments of a command that has none of the name. */
const ownFields = new Set(['command', 'wait']);
const notYet = ['connect cluster', 'disconnect cluster'];

/** Handles POST `/server`. */
export async function runServerCommand(exchange: Exchange, principal: Principal): Promise<void> {
  const body = await exchange.jsonBody();
  const text = body?.get('command') ?? undefined;
  if (body === undefined || text === undefined) {
    throw new PlainFailure(400, 'Server command is null');
  }
  if (typeof text !== 'string') throw new PlainFailure(400, 'Server command not valid');
  const spoken = spokenCommand(commands, text);
  if (spoken === undefined) throw unknownCommand(text, principal, exchange.context);
  requireRight(spoken.command, principal);
  const given = argumentsIn(spoken, body, exchange);
  await answerCommand(exchange, principal, spoken.command, given);
}

function argumentsIn(
  spoken: Spoken<AdministrativeCommand>,
  body: MapValue,
  {context}: Exchange,
): ArgumentsOf<ArgumentTable> {
  const table = spoken.command.arguments;
  const beside = [...body].filter(([name]) => table[name] !== undefined || !ownFields.has(name));
  try {
    return readArguments(table, spokenArguments(spoken, new Map(beside), context.json));
  } catch (error) {
    if (!(error instanceof WrongWords)) throw error;
    const detail = `Syntax: ${syntaxOf(spoken.command)}`;
    throw new PlainFailure(400, 'Server command not valid', {detail});
  }
}

function unknownCommand(
  text: string,
  principal: Principal,
  {options: {cluster}}: HttpContext,
): Error {
  const line = text.trim().toLowerCase();
  const known = notYet.find(keywords => line.startsWith(keywords));
  const isOfProfiler = /^profiler( |$)/.test(line);
  if (known === undefined && !isOfProfiler) {
    return new PlainFailure(400, 'Server command not valid');
  }
  if (!principal.root) {
    const message = 'Only root user is authorized to execute server commands';
    return new Refusal('security.root-only', message);
  }
  if (known === undefined) {
    const word = text.trim().slice('profiler'.length).trim().slice(0, 80);
    return new PlainFailure(400, `Unknown profiler command: ${word}`);
  }
  if (cluster === undefined) {
    const message = `'${known}' needs a cluster, and this server runs alone: set svc.ha.enabled`;
    return new Refusal('cluster.absent', message);
  }
  return new Refusal(
    'not-available',
    `'${known}' is no command here: servers join by POST /cluster/peer and go by /cluster/leave`,
  );
}
