/** Commands about who may do what: users, groups, API tokens, logins. */
import {Refusal} from '#server/base/errors.ts';
import {argument, optional, secret} from './arguments.ts';
import {type AdministrationCall, command} from './command.ts';

const databases = optional('document', 'groups by database, `{"music": ["admin"]}`');
const rules = {
  access: optional('document', 'rights on the database'),
  types: optional('document', 'rights on the records of each type, or of `*`'),
  resultSetLimit: optional('document', 'most rows of an answer; -1 for no limit'),
  readTimeout: optional('document', 'milliseconds that a read may take; -1 for no limit'),
};

export const userCommands = {
  listUsers: command({
    words: 'list users',
    right: 'root',
    at: 'fresh',
    changes: false,
    arguments: {},
    says: 'Lists users with their groups, never with their passwords.',
    answer: 'a row for each user',
    refusals: [],
    run: ({parts}) => parts.security.users(),
  }),
  createUser: command({
    words: 'create user {name, password, databases}',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      name: argument('text', 'name of the user, 4 to 256 characters', 'User name is null'),
      password: secret(argument('text', '8 to 256 characters', 'User password is null')),
      databases,
    },
    says: 'Creates a user, who may do nothing until he is granted groups.',
    answer: 'nothing',
    refusals: ['argument', 'user.exists', 'user.invalid', 'admission.full'],
    run: ({parts}, user) => parts.security.createUser(user),
  }),
  changeUser: command({
    words: 'change user <name...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      name: argument('text', 'name of the user'),
      password: secret(optional('text', 'the new password; ends what the user has open')),
      databases,
    },
    says: 'Changes the password of a user, his groups, or both.',
    answer: 'nothing',
    refusals: ['user.missing', 'user.invalid', 'admission.full'],
    run: ({parts}, {name, password, databases}) =>
      parts.security.changeUser(name, {password, databases}),
  }),
  dropUser: command({
    words: 'drop user <name...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {name: argument('text', 'name of the user', 'User name is null')},
    says: 'Drops a user and ends what he has open. The user root stays.',
    answer: 'nothing',
    refusals: ['argument', 'user.missing', 'user.invalid'],
    run: ({parts}, {name}) => parts.security.dropUser(name),
  }),
  listGroups: command({
    words: 'list groups',
    right: 'root',
    at: 'fresh',
    changes: false,
    arguments: {},
    says: 'Gives the document of groups: what each may do, by database.',
    answer: 'the document',
    refusals: [],
    run: ({parts}) => parts.security.groups(),
  }),
  saveGroup: command({
    words: 'save group <database> <name...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      database: argument('text', 'name of the database, or `*` for all'),
      name: argument('text', 'name of the group'),
      ...rules,
    },
    says: 'Creates a group or replaces it. Its rules come beside the words.',
    answer: 'nothing',
    refusals: ['argument'],
    run: ({parts}, {database, name, ...group}) => parts.security.saveGroup(database, name, group),
  }),
  dropGroup: command({
    words: 'drop group <database> <name...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      database: argument('text', 'name of the database, or `*` for all'),
      name: argument('text', 'name of the group'),
    },
    says: 'Drops a group; whoever has it may do what his other groups allow.',
    answer: 'whether there was one',
    refusals: ['argument'],
    run({parts}, {database, name}) {
      if (database !== '*' || name !== 'admin') return parts.security.dropGroup(database, name);
      const message = 'Cannot delete the admin group from the default (*) database';
      throw new Refusal('argument', message);
    },
  }),
  listApiTokens: command({
    words: 'list api tokens',
    right: 'root',
    at: 'fresh',
    changes: false,
    arguments: {},
    says: 'Lists API tokens with what they may do, never with their values.',
    answer: 'a row for each token',
    refusals: [],
    run: ({parts}) => parts.security.apiTokens.list(),
  }),
  createApiToken: command({
    words: 'create api token <name...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      name: argument('text', 'name of the token, at most 256 characters'),
      database: optional('text', 'the database that it opens; `*`, the default, for all'),
      expiresAt: optional('time', 'milliseconds since 1970 when it ends; 0 for never'),
      permissions: optional('document', '`{"types": .., "database": ..}`; none give nothing'),
    },
    says:
      'Makes a secret for a program. Its value is in this answer and nowhere else, so the ' +
      'answer must travel by a way on which nobody reads along.',
    answer: 'the token with its value',
    refusals: ['argument', 'token.exists', 'token.transport'],
    admit: requirePrivacy,
    async run({parts}, {name, database = '*', expiresAt = 0, permissions = {}}) {
      if (database === '') {
        throw new Refusal('argument', 'Database name is required, or * for all');
      }
      const request = {name, database, expiresAt, permissions};
      const {token, value} = await parts.security.apiTokens.create(request);
      return {...token, token: value};
    },
  }),
  dropApiToken: command({
    words: 'drop api token <hash>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {hash: argument('text', 'hash of the token, as the list shows it')},
    says: 'Drops an API token and ends what it has open.',
    answer: 'whether there was one',
    refusals: [],
    run: ({parts}, {hash}) => parts.security.apiTokens.drop(hash),
  }),
  listSessions: command({
    words: 'list sessions',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {},
    says: 'Lists the logins of this server, with their tokens.',
    answer: 'a row for each login',
    refusals: [],
    run: ({parts}) => parts.security.logins(),
  }),
};

/** @throws {Refusal} `token.transport` when others can read along and the setting forbids it. */
function requirePrivacy({isPrivate, parts}: AdministrationCall): void {
  if (isPrivate) return;
  const {administration, logger} = parts;
  if (!administration.settings().get('svc.server.apiTokenRequireSecureTransport')) {
    const advice =
      'this API token crosses the network in clear: use TLS, this machine, or a listed proxy';
    logger.log('warn', 'token.unprotected', {advice});
    return;
  }
  throw new Refusal(
    'token.transport',
    'use TLS, ask from this machine, or list the TLS proxy in ' +
      'svc.server.apiTokenTrustedProxies (svc.server.apiTokenRequireSecureTransport)',
  );
}
