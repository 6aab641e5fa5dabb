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
import {RecordValue, type Value} from '#server/model/value.ts';

const variablesMax = 1_000;
const textLengthMax = 1_048_576;

export class KeptVariables {
  /** By the name of the parameter that reads them. */
  readonly #values = new Map<string, Value>();

  /** @throws {Refusal} `argument` when there are too many, or the value is too large. */
  set(name: string, value: Value): void {
    const kept = withoutRecords(value);
    if (jsonText(kept).length > textLengthMax) {
      throw new Refusal('argument', `${name} is longer than ${textLengthMax} characters`);
    }
    if (!this.#values.has(name) && this.#values.size >= variablesMax) {
      throw new Refusal('argument', `there are ${variablesMax} variables already`);
    }
    this.#values.set(name, kept);
  }

  delete(name: string): void {
    this.#values.delete(name);
  }

  clear(): void {
    this.#values.clear();
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
