/**
 * The settings that say what the server says of itself: its log, its warnings, its metrics and
 * spans. Rows of the one table (../settings.ts).
 */
import {DAY, MINUTE, type SettingRow} from '../setting-row.ts';

export const monitoringRows = {
  'svc.server.healthCheck.enabled': {
    type: 'boolean',
    default: true,
    dynamic: true,
    description:
      'Whether the server warns of a disk or a heap that is almost full, and of pauses that grow.',
  },
  'svc.log.level': {
    type: 'enum',
    values: ['error', 'warn', 'info', 'debug'],
    default: 'info',
    dynamic: true,
    description: 'Least severe level of the lines that are logged.',
  },
  'svc.server.logFormat': {
    type: 'enum',
    values: ['auto', 'json', 'text'],
    default: 'auto',
    description: 'How lines are logged: a JSON object each, or text; auto: text on a terminal.',
  },
  'svc.server.logIncludeTrace': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description: 'Whether lines of text name the trace of their request; objects always do.',
  },
  'svc.serverMetrics': {
    type: 'boolean',
    default: true,
    dynamic: true,
    description: 'Whether the figures of the server can be scraped at /prometheus.',
  },
  'svc.serverMetrics.logging': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description: 'Whether the metrics are written into the log too, every minute.',
  },
  'svc.serverMetrics.otlp.enabled': {
    type: 'boolean',
    default: false,
    description: 'Whether the metrics are pushed to a collector too, as OTLP over HTTP.',
  },
  'svc.serverMetrics.otlp.endpoint': {
    type: 'string',
    default: 'http://localhost:4318',
    description: 'Address of the collector of metrics and traces, without the path of a signal.',
  },
  'svc.serverMetrics.otlp.headers': {
    type: 'string',
    default: '',
    secret: true,
    description: 'Headers for the collector, such as a token: name=value, between commas.',
  },
  'svc.serverMetrics.otlp.period': {
    type: 'duration',
    unit: 'seconds',
    default: MINUTE,
    range: [100, DAY],
    description: 'How often metrics are pushed.',
  },
  'svc.serverMetrics.tracing.enabled': {
    type: 'boolean',
    default: false,
    description: 'Whether spans of requests are pushed to the collector, as OTLP over HTTP.',
  },
  'svc.serverMetrics.tracing.samplingRate': {
    type: 'string',
    default: '0.0',
    description:
      'Share of the requests that are traced, 0.0 to 1.0; of those with a traceparent header ' +
      'the ones that it says are sampled.',
  },
  'svc.dumpMetricsEvery': {
    type: 'duration',
    unit: 'seconds',
    default: 0,
    range: [0, DAY],
    dynamic: true,
    description:
      'How often the metrics are written into the log, and when the server stops; 0 never.',
  },
  'svc.serverMetrics.prometheus.requireAuthentication': {
    type: 'string',
    default: 'true',
    description:
      'Whether whoever scrapes must be a user. Only the word false opens it; any other than true ' +
      'is warned of at the start.',
  },
} as const satisfies Record<string, SettingRow>;
