/**
 * `svc start`: reads the command line of a server; `node/` runs it in the foreground.
 *
 * The values are not judged here: the one table of settings does that, together with those from
 * the environment and the configuration file.
 */
import {
  type Arguments,
  type Command,
  type OptionRow,
  type StartOptions,
  UsageError,
} from './command.ts';

/** The options that say how settings are read; `svc settings` takes the same. */
export const startOptions = {
  set: {
    value: 'KEY=VALUE',
    repeated: true,
    says: 'a setting, such as svc.server.httpIncomingPort=2490; goes before every other source',
  },
  config: {
    value: 'FILE',
    says: 'the configuration file (default config/server-configuration.json)',
  },
} as const satisfies Record<string, OptionRow>;

export const startCommand: Command = {
  name: 'start',
  says: 'runs a server in the foreground until Ctrl-C',
  arguments: [],
  options: startOptions,
  examples: [
    'svc start',
    'svc start --set svc.server.rootPath=/var/lib/svc --set svc.server.httpIncomingPort=2490',
  ],
  run: (given, context) => context.start(startOptionsOf(given)),
};

/** Reads `--set` and `--config`; a key given twice keeps its last value. */
export function startOptionsOf(given: Arguments): StartOptions {
  const sets = new Map<string, string>();
  for (const word of given.values('set')) {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`the setting '${word}' is not of the form KEY=VALUE`);
    sets.set(word.slice(0, at).trim(), word.slice(at + 1));
  }
  return {sets: Object.fromEntries(sets), configPath: given.value('config')};
}
