/**
 * The settings that say how passwords are kept, how long a login lasts, and how API tokens may
 * travel. Rows of the one table (../settings.ts).
 */
import {DAY, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const securityRows = {
  'svc.server.apiTokenRequireSecureTransport': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description:
      'Refuse to make API tokens (412) unless the request came over HTTPS, from this machine, or ' +
      'through a listed proxy; when off, the log warns instead.',
  },
  'svc.server.apiTokenTrustedProxies': {
    type: 'string',
    default: '',
    description:
      'Addresses or ranges (10.0.0.0/8), between commas, of proxies that end TLS: their ' +
      'X-Forwarded-Proto and Forwarded headers are believed when an API token is made.',
  },
  'svc.server.httpAuthSessionExpireTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 30 * MINUTE,
    range: [SECOND, 30 * DAY],
    dynamic: true,
    description: 'How long a login may stay unused before its token ends.',
  },
  'svc.server.httpAuthSessionAbsoluteTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 0,
    range: [0, 365 * DAY],
    dynamic: true,
    description: 'How long a login lasts at most, used or not; 0 for no such end.',
  },
  'svc.server.httpAuthSessionMax': {
    type: 'integer',
    default: 10_000,
    range: [1, 10_000_000],
    dynamic: true,
    description: 'Most logins that are open at once; a tenth of them is for root alone.',
  },
  'svc.server.httpAuthSessionMaxPerUser': {
    type: 'integer',
    default: 1_000,
    range: [1, 10_000_000],
    dynamic: true,
    description: 'Most logins that one user has open at once; root may have all.',
  },
  'svc.server.saltIterations': {
    type: 'integer',
    default: 65_536,
    range: [1_000, 10_000_000],
    dynamic: true,
    description: 'Rounds of PBKDF2 for passwords that are set from now on.',
  },
  'svc.security.hashConcurrencyMax': {
    type: 'integer',
    default: 1,
    range: [1, 64],
    description: 'Passwords that are hashed at the same time; the others take turns by address.',
  },
  'svc.security.failureDelay': {
    type: 'duration',
    unit: 'milliseconds',
    default: 500,
    range: [0, 10_000],
    dynamic: true,
    description: 'How late wrong credentials are refused, and what is beyond the share of a user.',
  },
} as const satisfies Record<string, SettingRow>;
