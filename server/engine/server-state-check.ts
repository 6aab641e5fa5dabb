/**
 * A server state that came from outside: every part of it is looked at before it is believed.
 *
 * Names in it become paths, so one that could lead elsewhere is refused like a state that
 * contradicts itself; what is refused is said by name.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {checkHeldName} from './database-name.ts';
import {isServerDocument} from './database-set.ts';
import type {ServerState} from './server-state.ts';

/**
 * The state that `value`, as JSON gave it, is.
 *
 * @throws {Corruption} naming the part that cannot be.
 */
export function checkedServerState(value: unknown): ServerState {
  const state = objectOf(value, 'the server state');
  if (state['version'] !== 1) throw wrong(`version ${String(state['version'])}`);
  if (typeof state['logId'] !== 'string' || !/^[0-9a-f]{32}$/.test(state['logId'])) {
    throw wrong('the id of its log');
  }
  for (const name of ['formatLevel', 'index', 'durableIndex', 'nextDatabaseId']) {
    naturalOf(state[name], name);
  }
  checkDatabases(state);
  for (const [name, document] of Object.entries(objectOf(state['documents'], 'its documents'))) {
    if (!isServerDocument(name)) throw wrong(`a document named '${name}'`);
    const {version, base64} = objectOf(document, `the document ${name}`);
    naturalOf(version, `the version of ${name}`);
    if (typeof base64 !== 'string') throw wrong(`the document ${name}`);
  }
  return state as unknown as ServerState;
}

function checkDatabases(state: Record<string, unknown>): void {
  const {databases} = state;
  if (!Array.isArray(databases)) throw wrong('its list of databases');
  const positions = objectOf(state['positions'], 'its positions');
  const names = new Set<string>();
  const ids = new Set<number>();
  for (const entry of databases as unknown[]) {
    const {id, name} = objectOf(entry, 'a database');
    if (typeof name !== 'string') throw wrong('a database without a name');
    checkName(name);
    ids.add(naturalOf(id, `the id of ${name}`));
    names.add(name);
    const index = naturalOf(positions[String(id)], `the position of ${name}`);
    if (index > Number(state['durableIndex'])) throw wrong(`the position of ${name}`);
  }
  if (names.size < databases.length || ids.size < databases.length) {
    throw wrong('a database that is named twice');
  }
}

function checkName(name: string): void {
  try {
    checkHeldName(name);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw wrong(`a database name: ${error.message}`);
  }
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(what);
  return value as Record<string, unknown>;
}

function naturalOf(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw wrong(what);
  return value;
}

function wrong(what: string): Corruption {
  return new Corruption(`a snapshot holds what cannot be: ${what}`);
}
