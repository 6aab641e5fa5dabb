/** JSON inside of a source, whose faults are told with their place. */
import {Refusal} from '#server/base/errors.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import type {Value} from '#server/model/value.ts';
import {malformed} from './exchanged-record.ts';

/** @throws {Refusal} `source.malformed`. */
export function jsonIn(text: string, place: number): Value {
  try {
    return parseJsonText(text);
  } catch (error) {
    if (error instanceof Refusal) throw malformed(place, error.message);
    throw error;
  }
}
