/** Commands about the server itself: settings, events, an orderly stop. */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {settingRows} from '#server/base/settings.ts';
import {argument, optional, secret} from './arguments.ts';
import {command} from './command.ts';

const pair = 'Expected <key> <value>';

export const serverCommands = {
  listSettings: command({
    words: 'list settings',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {},
    says: 'Lists the settings of this server with their values; secrets are masked.',
    answer: 'a row for each setting',
    refusals: [],
    run: ({parts}) => settingsOf(parts.administration.settings()),
  }),
  setServerSetting: command({
    words: 'set server setting <key> <value...>',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {
      key: argument('text', 'the setting', pair),
      value: secret(argument('text', 'its new value', pair)),
    },
    says: 'Changes a setting of this server, at once and for its next starts.',
    answer: 'nothing',
    refusals: ['argument', 'setting.unknown', 'setting.value', 'storage.full'],
    run: ({parts}, {key, value}) => parts.administration.setServerSetting(key, value),
  }),
  getServerEvents: command({
    words: 'get server events [<file...>]',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {file: optional('text', 'an earlier file of events, by its plain name')},
    says: 'Gives the latest events of this server, or those of one of its files.',
    answer: '`events` and `files`',
    refusals: ['user.invalid'],
    run: ({parts: {administration}}, {file}) => ({
      events: administration.events(file),
      files: administration.eventFiles(),
    }),
  }),
  shutDown: command({
    words: 'shutdown [<server...>]',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {server: optional('text', 'name or id of another member of the cluster')},
    says: 'Ends the server, or the named member, in good order, a moment after it has answered.',
    answer: 'nothing',
    refusals: ['cluster.absent', 'cluster.peer', 'cluster.no-quorum'],
    async run({parts: {administration, members}}, {server}) {
      const {serverName} = administration.identity;
      if (server === undefined || server === serverName) return administration.shutdown();
      if (members !== undefined) return await members.shutDown(server);
      const message = `This server is '${serverName}' and runs alone: ask '${server}' itself`;
      throw new Refusal('cluster.absent', message);
    },
  }),
};

/** Settings as lists show them: those that are secret without their values. */
export function settingsOf(settings: Settings) {
  return settings.report().map(({key, value, description, origin, ...rest}) => ({
    key,
    value,
    description,
    overridden: origin !== 'default',
    default: 'secret' in settingRows[key] ? value : rest.default,
  }));
}
