/**
 * The settings that say where the server listens, with which keys, and how long a connection may
 * take. Rows of the one table (../settings.ts).
 */
import {DAY, HOUR, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const networkRows = {
  'svc.server.httpIncomingHost': {
    type: 'string',
    default: '0.0.0.0',
    description: 'Address the HTTP server listens on.',
  },
  'svc.server.httpIncomingPort': {
    type: 'ports',
    default: {from: 2480, to: 2480},
    description: 'Port of the HTTP server, or a range from-to whose first free port is taken.',
  },
  'svc.server.httpsIncomingPort': {
    type: 'ports',
    default: {from: 2490, to: 2490},
    description:
      'Port of HTTPS, or a range from-to whose first free port is taken; see svc.ssl.enabled.',
  },
  'svc.ssl.enabled': {
    type: 'boolean',
    default: false,
    description: 'Whether the server listens for HTTPS too, with the certificate of the key store.',
  },
  'svc.ssl.keyStore': {
    type: 'path',
    default: '',
    description:
      'File with the private key and the chain of certificates: PEM or PKCS#12. A new one in its ' +
      'place is taken over within a minute.',
  },
  'svc.ssl.keyStorePassword': {
    type: 'string',
    default: '',
    secret: true,
    description: 'Password of the key store, if it has one.',
  },
  'svc.ssl.trustStore': {
    type: 'path',
    default: '',
    description:
      'File with the certificates (PEM or PKCS#12) of the authorities that vouch for the HTTPS ' +
      'of other members of the cluster; empty: those that the system knows.',
  },
  'svc.ssl.trustStorePassword': {
    type: 'string',
    default: '',
    secret: true,
    description: 'Password of the trust store, if it is PKCS#12 and has one.',
  },
  'svc.server.httpCorsOrigins': {
    type: 'string',
    default: '',
    description:
      'Origins, between commas, whose pages may use this server from a browser, with ' +
      'credentials: https://app.example, with its port unless it is the usual one.',
  },
  'svc.network.socketTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    range: [100, HOUR],
    description: 'How long a connection may take to send its headers, or pause within a body.',
  },
  'svc.network.requestTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    range: [100, DAY],
    description: 'How long a request may take to arrive as a whole; batches are not counted.',
  },
  'svc.network.keepAliveTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [100, DAY],
    description: 'How long a connection may stay idle between two requests.',
  },
  'svc.network.connectionsMax': {
    type: 'integer',
    default: 10_000,
    range: [1, 1_000_000],
    description:
      'Most connections of clients that are open at once, of one address nine tenths of them; ' +
      'further ones are closed.',
  },
  'svc.network.maxPreAuthConnections': {
    type: 'integer',
    default: 500,
    range: [1, 1_000_000],
    description:
      'Most connections at a port over which nobody has shown yet who he is; the oldest of them ' +
      'is closed for the next.',
  },
} as const satisfies Record<string, SettingRow>;
