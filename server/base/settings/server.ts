/**
 * The settings that say who the server is, where its files lie, what it makes at its first start,
 * how it stops. Rows of the one table (../settings.ts).
 */
import {HOUR, MINUTE, type SettingRow} from '../setting-row.ts';

export const serverRows = {
  'svc.server.name': {
    type: 'string',
    default: 'svc_0',
    description:
      'Name of this server: unique in its cluster and part of the name of its log folder.',
  },
  'svc.server.mode': {
    type: 'enum',
    values: ['development', 'test', 'production'],
    default: 'development',
    description: 'In production, errors leave out their details and the web tool is off.',
  },
  'svc.server.rootPath': {
    type: 'path',
    default: '.',
    description:
      'Folder of what the server writes; outside it only what other settings place elsewhere.',
  },
  'svc.server.databaseDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/databases',
    description: 'Folder of the databases, one subfolder each; it may be on a volume of its own.',
  },
  'svc.server.configDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/config',
    description: 'Folder of the configuration file and of users, groups and tokens.',
  },
  'svc.server.backupDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/backups',
    dynamic: true,
    description:
      'Folder of backups, one subfolder each database, unless backup.json names another.',
  },
  'svc.server.logsDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/log',
    description: 'Folder of the files of server events.',
  },
  'svc.server.rootPassword': {
    type: 'string',
    default: '',
    secret: true,
    description: 'Password that the user root gets at the first start.',
  },
  'svc.server.rootPasswordPath': {
    type: 'path',
    default: '',
    description: 'File with the password of root at the first start; white space around it is cut.',
  },
  'svc.server.defaultDatabases': {
    type: 'string',
    default: '',
    secret: true,
    description:
      'Databases to create at start where missing: name[user:password:group,...]{import:address} ' +
      'parts joined by ; (import-export.md).',
  },
  'svc.server.restoreImportAllowLocalUrls': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description:
      'Whether restore database, import database and svc.server.defaultDatabases may read files ' +
      'of this machine and addresses of private networks.',
  },
  'svc.server.sampleDatabase': {
    type: 'string',
    default: '',
    description: 'Name of a database to create with sample data where missing; empty for none.',
  },
  'svc.server.shutdownTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [0, HOUR],
    description: 'How long a stop waits for running requests before it ends them.',
  },
  'svc.server.readinessRequiresHA': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description:
      'Whether /ready asks for a leader too, for membership, and that this server is not behind.',
  },
  'svc.server.readinessHAMaxLag': {
    type: 'integer',
    default: 100,
    range: [0, 1_000_000_000],
    dynamic: true,
    description: 'Entries that a server may be behind and still count as ready.',
  },
  'svc.server.plugins': {
    type: 'string',
    default: '',
    description:
      'Names of plugins, or name:class, between commas. mcp and prometheus are on by themselves.',
  },
} as const satisfies Record<string, SettingRow>;
