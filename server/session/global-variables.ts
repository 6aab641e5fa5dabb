/**
 * The variables of SET GLOBAL: of one database on this server, for every statement of every user,
 * until the database is closed.
 *
 * Invariant: no record is kept, only its id, so that a reader sees what the record is when he
 * reads it, and only with a right to it. A variable changes at once and is part of no transaction.
 */
import {Refusal} from '#server/base/errors.ts';
import {isNumberArray} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {RecordValue, type Value} from '#server/model/value.ts';

const variablesMax = 1_000;
const textLengthMax = 1_048_576;

export class GlobalVariables {
  /** By the name that statements ask for: `$name`. */
  readonly #values = new Map<string, Value>();

  /**
   * Null takes the variable away.
   *
   * @throws {Refusal} `argument` when there are too many, or the value is too large.
   */
  set(name: string, value: Value): void {
    const key = `$${name}`;
    if (value === null) {
      this.#values.delete(key);
      return;
    }
    const kept = withoutRecords(value);
    if (jsonText(kept).length > textLengthMax) {
      throw new Refusal('argument', `$${name} is longer than ${textLengthMax} characters`);
    }
    if (!this.#values.has(key) && this.#values.size >= variablesMax) {
      throw new Refusal('argument', `there are ${variablesMax} global variables already`);
    }
    this.#values.set(key, kept);
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
