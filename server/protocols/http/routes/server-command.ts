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
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {answerCommand} from './administer.ts';

const commands: readonly AdministrativeCommand[] = Object.values(administrativeCommands);
/** Fields of a request that are no arguments of a command that has none of the name. */
const ownFields = new Set(['command', 'wait']);

/** Handles POST `/server`. */
export async function runServerCommand(exchange: Exchange, principal: Principal): Promise<void> {
  const body = await exchange.jsonBody();
  const text = body?.get('command') ?? undefined;
  if (body === undefined || text === undefined) {
    throw new PlainFailure(400, 'Server command is null');
  }
  if (typeof text !== 'string') throw new PlainFailure(400, 'Server command not valid');
  const spoken = spokenCommand(commands, text);
  if (spoken === undefined) throw unknownCommand(text, principal);
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

function unknownCommand(text: string, principal: Principal): Error {
  const line = text.trim();
  if (!/^profiler( |$)/i.test(line)) return new PlainFailure(400, 'Server command not valid');
  if (!principal.root) {
    const message = 'Only root user is authorized to execute server commands';
    return new Refusal('security.root-only', message);
  }
  const word = line.slice('profiler'.length).trim().slice(0, 80);
  return new PlainFailure(400, `Unknown profiler command: ${word}`);
}
