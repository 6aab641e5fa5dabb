/**
 * The commands of the console itself: lines that begin with a colon, as in the consoles of other
 * graph databases. One table for carrying them out, for `:help`, for completion and for the manual.
 */
import {nearest} from '../arguments.ts';
import {print, UsageError} from '../command.ts';
import {aligned} from '../help.ts';
import {formatNamed, limitOf, paramsOf} from '../statement.ts';
import {formats, visible} from '../table.ts';
import type {ConsoleSession} from './console-session.ts';
import type {History} from './history.ts';

/** What a command may reach. */
export interface MetaContext {
  readonly session: ConsoleSession;
  /** Undefined where nobody types. */
  readonly history: History | undefined;
}

interface MetaCommand {
  readonly name: string;
  /** The argument as the help writes it; in brackets when it may be left out. */
  readonly argument?: string;
  readonly says: string;
  /** Answers `quit` when the console is to end. */
  run(words: string, context: MetaContext): Promise<'quit' | undefined> | Promise<void>;
  /** What its argument may be. */
  candidates?(session: ConsoleSession): readonly string[] | Promise<readonly string[]>;
}

export const metaCommands: readonly MetaCommand[] = [
  {
    name: 'help',
    argument: '[COMMAND]',
    says: 'lists these commands, or tells of one',
    run: (words, {session}) => print(session.output, helpOf(words.replace(/^:/, ''))),
    candidates: () => metaCommands.map(({name}) => name),
  },
  {
    name: 'use',
    argument: 'DATABASE',
    says: 'chooses the database of what follows',
    run: async (words, {session}) => {
      await session.use(required(words, 'use', 'a DATABASE'));
    },
    candidates: session => session.names.databases(),
  },
  {
    name: 'databases',
    says: 'lists the databases',
    run: async (_, {session}) => {
      const names = await session.client.databases();
      await session.show(names.map(name => ({name})));
    },
  },
  {
    name: 'schema',
    argument: '[TYPE]',
    says: 'lists the types, or the properties and indexes of one',
    run: (words, {session}) => (words === '' ? showTypes(session) : showType(session, words)),
    candidates: async session => {
      const {types} = await session.schemaNames();
      return types.map(({name}) => name);
    },
  },
  {
    name: 'language',
    argument: '[NAME]',
    says: 'chooses the language of statements: sql, sqlscript, cypher',
    run: async (words, {session}) => {
      if (words !== '') await session.speak(words);
      await session.say(
        session.language === 'sqlscript'
          ? 'language sqlscript; a line that holds only ; ends a script'
          : `language ${session.language}`,
      );
    },
    candidates: session => session.names.languages(),
  },
  {
    name: 'format',
    argument: '[FORMAT]',
    says: `chooses how rows are printed: ${formats.join(', ')}`,
    run: async (words, {session}) => {
      if (words !== '') session.format = formatNamed(words);
      await session.say(`format ${session.format}`);
    },
    candidates: () => formats,
  },
  {
    name: 'limit',
    argument: '[ROWS]',
    says: 'bounds the rows of an answer; -1: as many as one answer carries',
    run: async (words, {session}) => {
      if (words !== '') session.limit = limitOf(words);
      await session.say(`limit ${session.limit ?? 'of the server'}`);
    },
  },
  {
    name: 'timing',
    argument: '[on|off]',
    says: 'tells how long each statement took',
    run: async (words, {session}) => {
      if (words !== '' && words !== 'on' && words !== 'off') {
        throw new UsageError(`:timing takes on or off, not '${words}'`);
      }
      if (words !== '') session.timing = words === 'on';
      await session.say(`timing ${session.timing ? 'on' : 'off'}`);
    },
    candidates: () => ['on', 'off'],
  },
  {
    name: 'param',
    argument: '[NAME=JSON|clear]',
    says: 'sets a parameter of the statements that follow; lists them; forgets them',
    run: async (words, {session}) => {
      if (words === 'clear') session.params.clear();
      else if (words === '') {
        await session.show([...session.params].map(([name, value]) => ({name, value})));
      } else {
        for (const [name, value] of Object.entries(paramsOf([words]) ?? {})) {
          session.params.set(name, value);
        }
      }
    },
    candidates: () => ['clear'],
  },
  {
    name: 'begin',
    argument: '[ISOLATION]',
    says: 'opens a transaction: READ_COMMITTED or REPEATABLE_READ',
    run: (words, {session}) => session.begin(words === '' ? undefined : words),
    candidates: () => ['READ_COMMITTED', 'REPEATABLE_READ'],
  },
  {
    name: 'commit',
    says: 'makes the open transaction durable',
    run: (_, {session}) => session.commit(),
  },
  {
    name: 'rollback',
    says: 'forgets what the open transaction did',
    run: (_, {session}) => session.rollback(),
  },
  {
    name: 'history',
    argument: '[clear]',
    says: 'lists what was typed before, the newest last; forgets it',
    run: async (words, {session, history}) => {
      if (words !== '' && words !== 'clear') {
        throw new UsageError(`:history takes clear or nothing, not '${words}'`);
      }
      if (words === 'clear') history?.clear();
      const entries = history?.entries.toReversed() ?? [];
      const lines = entries.flatMap(entry => entry.split('\n'));
      await print(session.output, lines.map(line => `${visible(line)}\n`).join(''));
    },
    candidates: () => ['clear'],
  },
  {
    name: 'quit',
    says: 'leaves, as Ctrl-D does',
    run: () => Promise.resolve('quit' as const),
  },
];

/**
 * Carries out a command, written without its colon.
 *
 * @returns `quit` when the console is to end.
 * @throws {UsageError} for what is no command, with the nearest one; and what the command throws.
 */
export async function runMetaCommand(
  text: string,
  context: MetaContext,
): Promise<'quit' | undefined> {
  const [, name = '', words = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  const command = commandNamed(name);
  if (command.argument === undefined && words !== '') {
    throw new UsageError(`:${command.name} takes nothing, but '${words}' is given`);
  }
  return (await command.run(words, context)) ?? undefined;
}

function commandNamed(name: string): MetaCommand {
  const command = metaCommands.find(one => one.name === name);
  if (command !== undefined) return command;
  const near = nearest(
    name,
    metaCommands.map(one => one.name),
  );
  const hint = near === undefined ? ':help lists them' : `did you mean :${near}?`;
  throw new UsageError(`there is no command ':${name}': ${hint}`);
}

function required(words: string, command: string, what: string): string {
  if (words !== '') return words;
  throw new UsageError(`:${command} needs ${what}`);
}

function helpOf(name: string): string {
  const shown = name === '' ? metaCommands : [commandNamed(name)];
  const rows = shown.map(
    ({name: word, argument, says}) =>
      [argument === undefined ? `:${word}` : `:${word} ${argument}`, says] as const,
  );
  const lines = aligned(rows);
  if (name !== '') return `${lines.join('\n')}\n`;
  return [
    'A statement may take several lines and ends with ; (a script: with a line that holds only ;).',
    '',
    ...lines,
    '',
    'Tab completes, Up and Down recall, Ctrl-C ends what runs or clears the line, Ctrl-D leaves.',
    'In the prompt * is an open transaction, ! one that failed and waits for :rollback.',
    '',
  ].join('\n');
}

async function showTypes(session: ConsoleSession): Promise<void> {
  const rows = await session.schemaRows(
    'SELECT name, type AS kind, records, parentTypes AS extends, properties.name AS properties ' +
      'FROM schema:types ORDER BY name',
  );
  await session.show(rows);
}

async function showType(session: ConsoleSession, name: string): Promise<void> {
  const [type] = await session.schemaRows(
    'SELECT name, properties, indexes FROM schema:types WHERE name = :name',
    {name},
  );
  if (type === undefined) {
    const {types} = await session.schemaNames();
    const near = nearest(
      name,
      types.map(one => one.name),
    );
    const hint = near === undefined ? ':schema lists them' : `did you mean ${near}?`;
    throw new UsageError(`there is no type '${name}': ${hint}`);
  }
  const rows = (field: string): Record<string, unknown>[] =>
    (type[field] as Record<string, unknown>[] | undefined) ?? [];
  await session.show(rows('properties').map(({id: _id, custom: _custom, ...property}) => property));
  const indexes = rows('indexes');
  if (indexes.length > 0) {
    await session.show(
      indexes.map(index => ({
        index: index['name'],
        type: index['type'],
        unique: index['unique'],
        properties: index['properties'],
      })),
    );
  }
}
