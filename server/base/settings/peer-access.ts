/**
 * The settings that say who may connect as a member, and over which TLS. Rows of the one table
 * (../settings.ts).
 */
import {DAY, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const peerAccessRows = {
  'svc.ha.peerAllowlist.enabled': {
    type: 'boolean',
    default: true,
    description:
      'Whether connections are taken only from the addresses that the names of the members ' +
      'lead to.',
  },
  'svc.ha.grpcAllowlistRefreshMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    range: [SECOND, DAY],
    description: 'How often these names are looked up again.',
  },
  'svc.ha.peerAllowlistStartupGraceMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [0, DAY],
    description:
      'How long strangers are let in after a start while some name leads nowhere; 0 lets none in.',
  },
  'svc.ha.peerAllowlistStickyTtlMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    range: [0, DAY],
    description: 'How long an address is let in after its name leads elsewhere.',
  },
  'svc.ha.tls.enabled': {
    type: 'boolean',
    default: false,
    description: 'Whether the connections between the members are encrypted.',
  },
  'svc.ha.tls.certChainFile': {
    type: 'path',
    default: '',
    description: 'PEM file with the certificate of this server and those that vouch for it.',
  },
  'svc.ha.tls.privateKeyFile': {
    type: 'path',
    default: '',
    description: 'PEM file with its private key (PKCS#8).',
  },
  'svc.ha.tls.trustCertCollectionFile': {
    type: 'path',
    default: '',
    description: 'PEM file with the authorities whose certificates are believed.',
  },
  'svc.ha.tls.mutualAuth': {
    type: 'boolean',
    default: true,
    description: 'Whether whoever connects must show a certificate too.',
  },
} as const satisfies Record<string, SettingRow>;
