/**
 * Values that outlive the statement that set them: the variables of SET GLOBAL, of one database on
 * this server for every statement of every user until it is closed; the parameters of SESSION SET,
 * of one session.
 *
 * Invariant: no record is kept, only its id, so that a reader sees what the record is when he
 * reads it, and only with a right to it. A variable changes at once and is part of no transaction.
 */
import {Refusal} from '#server/base/errors.ts';
import {isNumberArray} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import type {KeptHolder} from '../kept-memory.ts';
import {RecordValue, type Value} from '#server/model/value.ts';

const variablesMax = 1_000;
const textLengthMax = 1_048_576;

/** What a variable takes beside the text of its value. */
const entryBytes = 256;

interface Variable {
  readonly value: Value;
  readonly memory: KeptHolder;
}

export class KeptVariables {
  /** The variables keyed by the name of the parameter that reads them. */
  readonly #variables = new Map<string, Variable>();
  #values: ReadonlyMap<string, Value> = new Map();

  /**
   * @param memory - Of whoever sets it; the variables close it.
   * @throws {Refusal} `argument` when there are too many, or the value is too large; what the
   *   memory is refused for.
   */
  set(name: string, value: Value, memory: KeptHolder): void {
    const kept = withoutRecords(value);
    const {length} = jsonText(kept);
    if (length > textLengthMax) {
      throw new Refusal('argument', `${name} is longer than ${textLengthMax} characters`);
    }
    const before = this.#variables.get(name);
    if (before === undefined && this.#variables.size >= variablesMax) {
      throw new Refusal('argument', `there are ${variablesMax} variables already`);
    }
    memory.resize(2 * (length + name.length) + entryBytes);
    before?.memory.close();
    this.#variables.set(name, {value: kept, memory});
    this.#changed();
  }

  delete(name: string): void {
    this.#variables.get(name)?.memory.close();
    this.#variables.delete(name);
    this.#changed();
  }

  clear(): void {
    for (const {memory} of this.#variables.values()) memory.close();
    this.#variables.clear();
    this.#changed();
  }

  #changed(): void {
    this.#values = new Map(Array.from(this.#variables, ([name, {value}]) => [name, value]));
  }

  /** The parameters of a statement, which stand before variables of the same name. */
  under(parameters: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
    return this.#values.size === 0 ? parameters : new Map([...this.#values, ...parameters]);
  }
}

function withoutRecords(value: Value): Value {
  if (value instanceof RecordValue) return value.rid;
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [key, withoutRecords(item)]));
  }
  if (!Array.isArray(value) || isNumberArray(value)) return value;
  return (value as readonly Value[]).map(withoutRecords);
}
