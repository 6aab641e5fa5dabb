/**
 * The log of the process: one line an event to standard error, above a level, as a JSON object or
 * as text: `time level component event key=value`.
 *
 * Never throws and never blocks the server for long: a value that cannot be written becomes its
 * name, a closed pipe is ignored. Errors are written as name, message and stack.
 */
import {writeSync} from 'node:fs';
import type {Logger, LogLevel} from '../logger.ts';
import type {TraceIds} from '../trace-scope.ts';

const severity: Record<LogLevel, number> = {debug: 0, info: 1, warn: 2, error: 3};

export interface LoggerOptions {
  /** Events below it are dropped; a function is asked for every event. */
  readonly level: LogLevel | (() => LogLevel);
  /** Default: `json`. */
  readonly format?: 'json' | 'text';
  /** Fields that every line carries, such as the node's name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** The trace that a line belongs to; undefined: none that is told. */
  readonly trace?: () => TraceIds | undefined;
  /** Receives each line with its newline; default: standard error. */
  readonly write?: (line: string) => void;
}

export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? writeToStandardError;
  return {
    log(level, event, fields) {
      const least = typeof options.level === 'string' ? options.level : options.level();
      if (severity[level] < severity[least]) return;
      try {
        const time = new Date().toISOString();
        const line = {time, level, event, ...options.fields, ...fields, ...options.trace?.()};
        write(`${options.format === 'text' ? toText(line) : toJson(line)}\n`);
      } catch {
        // A log that cannot be written must not become the failure it reports.
      }
    },
  };
}

function writeToStandardError(line: string): void {
  writeSync(2, line);
}

/** The component is the first word of the event, the request id stands before other fields. */
function toText({time, level, event, ...fields}: Record<string, unknown>): string {
  const [component = ''] = String(event).split('.', 1);
  const {requestId, ...others} = fields;
  const told = requestId === undefined ? others : {requestId, ...others};
  const pairs = Object.entries(told)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${textOf(value)}`);
  return [time, String(level).toUpperCase().padEnd(5), component, event, ...pairs].join(' ');
}

/** One word stands as it is; all else is quoted, so that a line is one event whatever it tells. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  return toJson({value}).slice('{"value":'.length, -1);
}

function toJson(line: Record<string, unknown>): string {
  const seen = new WeakSet<object>();
  return JSON.stringify(line, (_name, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    if (typeof value === 'function' || typeof value === 'symbol') return String(value);
    if (value instanceof Error) {
      return {name: value.name, message: value.message, stack: value.stack};
    }
    if (typeof value === 'object' && value !== null) {
      if (seen.has(value)) return '(again)';
      seen.add(value);
    }
    return value;
  });
}
