/**
 * The latest events of the server, kept for `get server events`: everything logged as a warning
 * or worse, and what an administrator did.
 */
import {eventMoment} from '#server/monitoring/moments.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {ServerEvent} from '#server/session/administration.ts';

const eventsMax = 1_000;

const eventTypes = {debug: 'INFO', info: 'INFO', warn: 'WARNING', error: 'ERROR'} as const;

export class EventLog {
  readonly #events: ServerEvent[] = [];
  readonly #counts = {INFO: 0, WARNING: 0, ERROR: 0, CRITICAL: 0};

  /** A logger that also keeps what it is given. */
  tee(logger: Logger): Logger {
    return {
      log: (level, event, fields) => {
        if (level !== 'debug') this.#add(eventTypes[level], event, fields ?? {});
        logger.log(level, event, fields);
      },
    };
  }

  /** Something that an administrator did. */
  record(component: string, message: string): void {
    this.#add('INFO', component, {reason: message});
  }

  /** Since the start. */
  get counts(): Readonly<Record<ServerEvent['type'], number>> {
    return this.#counts;
  }

  list(): readonly ServerEvent[] {
    return this.#events;
  }

  #add(type: ServerEvent['type'], event: string, fields: Readonly<Record<string, unknown>>): void {
    const [word = 'server'] = event.split('.');
    const {database, reason, plugin, file} = fields;
    const isPlugin = typeof plugin === 'string';
    const said = typeof reason === 'string' ? reason : file;
    // What a plugin fails at, nobody else tells of.
    const severity = isPlugin && type === 'ERROR' ? 'CRITICAL' : type;
    this.#counts[severity] += 1;
    this.#events.push({
      time: eventMoment(Date.now()),
      type: severity,
      component: isPlugin ? plugin : word,
      db: typeof database === 'string' ? database : null,
      message: typeof said === 'string' ? `${event}: ${said}` : event,
    });
    if (this.#events.length > eventsMax) this.#events.shift();
  }
}
