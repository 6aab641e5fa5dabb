/**
 * `svc settings`: every setting as a start with the same options and environment would see it.
 *
 * Without `--all` only those that something has set; the rest stand at their defaults.
 */
import {printJson} from '#server/client/json-text.ts';
import {type Command, print} from './command.ts';
import {startOptions, startOptionsOf} from './start.ts';
import {tableOf} from './table.ts';

export const settingsCommand: Command = {
  name: 'settings',
  says: 'shows the settings: value, default, where the value came from',
  arguments: [],
  options: {
    all: {says: 'those at their defaults too, with their descriptions'},
    json: {says: 'print them as JSON'},
    ...startOptions,
  },
  examples: ['svc settings --all', 'SVC_SERVER_HTTPINCOMINGPORT=2490 svc settings'],
  run: async (given, context) => {
    const every = context.settings(startOptionsOf(given));
    const all = given.has('all');
    const shown = all ? every : every.filter(setting => setting.origin !== 'default');
    if (given.has('json')) {
      await print(context.stdout, `${printJson(shown, 2)}\n`);
      return 0;
    }
    const rows = shown.map(setting => ({
      setting: setting.key,
      value: setting.value,
      default: setting.default,
      from: setting.origin,
      'without restart': setting.dynamic ? 'yes' : 'no',
      ...(all ? {description: setting.description} : {}),
    }));
    // A manual page is not cut to the width of a terminal.
    await print(context.stdout, tableOf(rows, 4_000));
    const others = every.length - shown.length;
    if (others > 0) {
      await print(context.stdout, `${others} others stand at their defaults: svc settings --all\n`);
    }
    return 0;
  },
};
