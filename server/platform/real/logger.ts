/**
 * The log of the process: one JSON line an event to standard error, above a level.
 *
 * Never throws and never blocks the server for long: a value that cannot be written becomes its
 * name, a closed pipe is ignored. Errors are written as name, message and stack.
 */
import {writeSync} from 'node:fs';
import type {Logger, LogLevel} from '../logger.ts';

const severity: Record<LogLevel, number> = {debug: 0, info: 1, warn: 2, error: 3};

export interface LoggerOptions {
  /** Events below it are dropped. */
  readonly level: LogLevel;
  /** Fields that every line carries, such as the node's name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Receives each line with its newline; default: standard error. */
  readonly write?: (line: string) => void;
}

export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? writeToStandardError;
  return {
    log(level, event, fields) {
      if (severity[level] < severity[options.level]) return;
      try {
        const time = new Date().toISOString();
        write(`${toJson({time, level, event, ...options.fields, ...fields})}\n`);
      } catch {
        // A log that cannot be written must not become the failure it reports.
      }
    },
  };
}

function writeToStandardError(line: string): void {
  writeSync(2, line);
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
