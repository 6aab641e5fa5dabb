/**
 * The settings that say how passwords are kept, how long a login lasts, and how API tokens may
 * travel. Rows of the one table (../settings.ts).
 */
import {DAY, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const securityRows = {
  'svc.server.apiTokenRequireSecureTransport': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: true,
    description:
      'Refuse to make API tokens (412) unless the request came over HTTPS, from this machine, or ' +
      'through a listed proxy; when off, the log warns instead.',
  },
  'svc.server.apiTokenTrustedProxies': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'Addresses or ranges (10.0.0.0/8), between commas, of proxies that end TLS: their ' +
      'X-Forwarded-Proto and Forwarded headers are believed when an API token is made.',
  },
  'svc.server.httpAuthSessionExpireTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 30 * MINUTE,
    min: SECOND,
    max: 30 * DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a login may stay unused before its token ends.',
  },
  'svc.server.httpAuthSessionAbsoluteTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 0,
    min: 0,
    max: 365 * DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a login lasts at most, used or not; 0 for no such end.',
  },
  'svc.server.httpAuthSessionMax': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Most logins that are open at once; a tenth of them is for root alone.',
  },
  'svc.server.httpAuthSessionMaxPerUser': {
    type: 'integer',
    default: 1_000,
    min: 1,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Most logins that one user has open at once; root may have all.',
  },
  'svc.server.saltIterations': {
    type: 'integer',
    default: 65_536,
    min: 1_000,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Rounds of PBKDF2 for passwords that are set from now on.',
  },
  'svc.security.hashConcurrencyMax': {
    type: 'integer',
    default: 1,
    min: 1,
    max: 64,
    scope: 'server',
    dynamic: false,
    description: 'Passwords that are hashed at the same time; the others take turns by address.',
  },
  'svc.security.failureDelay': {
    type: 'duration',
    unit: 'milliseconds',
    default: 500,
    min: 0,
    max: 10_000,
    scope: 'server',
    dynamic: true,
    description: 'How late wrong credentials are refused, and what is beyond the share of a user.',
  },
} as const satisfies Record<string, SettingRow>;
