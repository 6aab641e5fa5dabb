/**
 * Server events: what an administrator wants to know later of what happened here. Everything that
 * is logged as `info` or worse is one, and what the health monitor warns of.
 *
 * The latest thousand are kept in memory, all of them in files (event-files.ts) once there is a
 * place for those.
 */
import type {Logger, LogLevel} from '#server/platform/logger.ts';
import {type EventFiles, requirePlainName} from './event-files.ts';
import {eventMoment} from './moments.ts';
import type {EventType, ServerEvent} from './server-event.ts';

const eventsMax = 1_000;

const eventTypes: Readonly<Record<Exclude<LogLevel, 'debug'>, EventType>> = {
  info: 'INFO',
  warn: 'WARNING',
  error: 'CRITICAL',
};

/** The component that each first word of what is logged stands for; any other stands for itself. */
const components: Readonly<Record<string, string>> = {
  server: 'Server',
  cluster: 'HA',
  raft: 'HA',
  peer: 'HA',
  health: 'JVM',
};

export class ServerEvents {
  readonly #now: () => number;
  readonly #events: ServerEvent[] = [];
  readonly #counts: Record<EventType, number> = {HINT: 0, INFO: 0, WARNING: 0, CRITICAL: 0};
  #files: EventFiles | undefined;

  /** `now`: milliseconds of the wall clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A logger whose lines are events too. */
  tee(logger: Logger): Logger {
    return {
      log: (level, event, fields) => {
        if (level !== 'debug') this.#logged(eventTypes[level], event, fields ?? {});
        logger.log(level, event, fields);
      },
    };
  }

  /** Writes events there as well from now on, with those that came before. */
  keepIn(files: EventFiles): void {
    this.#files = files;
    for (const event of this.#events) files.append(event);
  }

  /** Takes an event that is no line of the log. */
  add(type: EventType, component: string, message: string, database?: string): void {
    const time = eventMoment(this.#now());
    const event = {time, type, component, db: database ?? null, message};
    this.#counts[type] += 1;
    this.#events.push(event);
    if (this.#events.length > eventsMax) this.#events.shift();
    this.#files?.append(event);
  }

  /** How many there were since the start. */
  get counts(): Readonly<Record<EventType, number>> {
    return this.#counts;
  }

  /** The latest of this start, oldest first. */
  list(): readonly ServerEvent[] {
    return this.#events;
  }

  /** Names of the files, the newest first. */
  files(): readonly string[] {
    return this.#files?.list() ?? [];
  }

  /** The events of a file. @throws {Refusal} `user.invalid` for a name with a path in it. */
  read(file: string): readonly ServerEvent[] {
    requirePlainName(file);
    return this.#files?.read(file) ?? [];
  }

  close(): void {
    this.#files?.close();
  }

  #logged(type: EventType, event: string, fields: Readonly<Record<string, unknown>>): void {
    const [word = 'server'] = event.split('.');
    const {database, reason, plugin, file} = fields;
    const said = typeof reason === 'string' ? reason : file;
    this.add(
      type,
      typeof plugin === 'string' ? plugin : (components[word] ?? word),
      typeof said === 'string' ? `${event}: ${said}` : event,
      typeof database === 'string' ? database : undefined,
    );
  }
}
