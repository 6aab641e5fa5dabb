/** Commands about databases: which there are, whether they are open, what goes on in them. */
import {Refusal} from '#server/base/errors.ts';
import {argument} from './arguments.ts';
import {command} from './command.ts';

const name = {
  database: argument('text', 'name of the database', 'Database name empty'),
};

export const databaseCommands = {
  listDatabases: command({
    words: 'list databases',
    right: 'user',
    at: 'fresh',
    changes: false,
    arguments: {},
    says: 'Lists the databases that the caller has been granted.',
    answer: 'their names',
    refusals: [],
    run: ({parts, principal}) => parts.service.databaseNames(principal),
  }),
  databaseExists: command({
    words: 'exists database <database...>',
    right: 'user',
    at: 'fresh',
    changes: false,
    arguments: name,
    says: 'Tells whether there is a database that the caller has been granted and that is open.',
    answer: 'true or false',
    refusals: [],
    run: ({parts, principal}, {database}) => parts.service.databaseExists(principal, database),
  }),
  createDatabase: command({
    words: 'create database <database...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: name,
    says: 'Creates an empty database on every server of the cluster.',
    answer: 'nothing',
    refusals: ['argument', 'database.exists', 'database.name'],
    run: ({parts, principal, context}, {database}) =>
      parts.service.createDatabase(principal, database, context),
  }),
  dropDatabase: command({
    words: 'drop database <database...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: name,
    says: 'Removes a database with all that is in it, and ends what was under way there.',
    answer: 'nothing',
    refusals: ['argument', 'database.name'],
    async run({parts, principal, context}, {database}) {
      try {
        await parts.service.dropDatabase(principal, database, context);
      } catch (error) {
        const missing = ['database.missing', 'database.not-found'];
        if (!(error instanceof Refusal) || !missing.includes(error.code)) throw error;
        throw new Refusal('argument', `Database '${database}' does not exist`, {cause: error});
      }
    },
  }),
  openDatabase: command({
    words: 'open database <database...>',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: name,
    says: 'Takes up a database that was closed, on this server.',
    answer: 'nothing',
    refusals: ['argument', 'database.missing', 'database.fenced'],
    run: ({parts, principal}, {database}) => parts.service.openDatabase(principal, database),
  }),
  closeDatabase: command({
    words: 'close database <database...>',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: name,
    says: 'Refuses everything about a database on this server until it is opened again.',
    answer: 'nothing',
    refusals: ['argument', 'database.missing'],
    run: ({parts, principal}, {database}) => parts.service.closeDatabase(principal, database),
  }),
  alignDatabase: command({
    words: 'align database <database...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: name,
    says: 'Has all members hold the copy of the leader, and waits for them.',
    answer: 'a row for each member',
    refusals: ['argument', 'database.missing'],
    async run({parts, principal, context}, {database}) {
      if (parts.service.databaseExists(principal, database)) {
        return await parts.service.alignDatabase(principal, database, context);
      }
      throw new Refusal('database.missing', `Database '${database}' does not exist`);
    },
  }),
  setDatabaseSetting: command({
    words: 'set database setting <database> <key> <value...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      database: argument('text', 'name of the database', 'Expected <database> <key> <value>'),
      key: argument('text', 'the setting', 'Expected <database> <key> <value>'),
      value: argument('text', 'its new value', 'Expected <database> <key> <value>'),
    },
    says: 'Saves a setting with a database; it counts there from now on.',
    answer: 'nothing',
    refusals: ['argument', 'database.missing', 'setting.unknown', 'setting.value'],
    run: ({parts}, {database, key, value}) =>
      parts.administration.setDatabaseSetting(database, key, value),
  }),
  listProgress: command({
    words: 'list progress <database...>',
    right: 'user',
    at: 'asked',
    changes: false,
    arguments: name,
    says: 'Lists work on a database that takes long: builds of indexes, checks, imports, backups.',
    answer: 'a row for each, -1 for a figure that is not known; none where it is not there',
    refusals: ['security.denied'],
    run: ({parts, principal}, {database}) =>
      parts.service.progress(principal, database).map(work => {
        const {id, operation, stepName, stepIndex, totalSteps, done, total = -1} = work;
        const percentage = total > 0 ? Math.min(100, Math.floor((done * 100) / total)) : -1;
        const steps = {stepName, stepIndex, totalSteps, done, total, percentage};
        const {startedAt: startedOn, elapsedMs} = work;
        return {id, database, operation, ...steps, startedOn, elapsedMs};
      }),
  }),
};
