/**
 * The log of a server: how its lines look, what each of them carries, and what is said first, the
 * settings that mean nothing here.
 */
import {AsyncLocalStorage} from 'node:async_hooks';
import type {Settings} from '#server/base/setting-values.ts';
import type {ServerEvents} from '#server/monitoring/server-events.ts';
import type {Logger} from '#server/platform/logger.ts';
import {createLogger} from '#server/platform/real/logger.ts';
import type {TracePlace, TraceScope} from '#server/platform/trace-scope.ts';
import type {Configuration} from '../configuration.ts';
import type {SettingsHolder} from '../create-services.ts';

export interface ServerLog {
  readonly logger: Logger;
  /** A line is told the trace of the request that it is about, where requests are traced. */
  readonly scope: TraceScope;
}

export function createServerLog(
  settings: Settings,
  inForce: SettingsHolder,
  events: ServerEvents,
  passedOver: Configuration['passedOver'],
): ServerLog {
  const scope = new AsyncLocalStorage<TracePlace>();
  const format = logFormat(settings);
  const logger = events.tee(
    createLogger({
      level: () => inForce.settings().get('svc.log.level'),
      format,
      fields: {node: settings.get('svc.server.name')},
      trace: () => {
        const isTold = format === 'json' || inForce.settings().get('svc.server.logIncludeTrace');
        const place = isTold ? scope.getStore() : undefined;
        return place && {traceId: place.traceId, spanId: place.spanId};
      },
    }),
  );
  for (const {key, origin, reason} of passedOver) {
    const fields = {setting: key, origin, reason: `${key}: ${reason}`};
    logger.log('warn', 'setting.without-meaning', fields);
  }
  return {logger, scope};
}

/** Text on a terminal, for people; elsewhere JSON, for machines. */
function logFormat(settings: Settings): 'json' | 'text' {
  const format = settings.get('svc.server.logFormat');
  if (format !== 'auto') return format === 'text' ? 'text' : 'json';
  return process.stderr.isTTY === true ? 'text' : 'json';
}
