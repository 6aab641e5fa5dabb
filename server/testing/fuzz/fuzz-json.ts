/**
 * JSON documents, whole and spoilt, through our parser and the platform's: what one refuses the
 * other refuses, and what both read is the same.
 */
import {Refusal} from '#server/base/errors.ts';
import {jsonText} from '#server/model/json.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {type Fuzzer, spoilt} from './fuzzer.ts';

const depthMax = 64;
const texts = [
  '',
  'a',
  'é',
  '😀',
  '\u0000',
  '"',
  '\\',
  '\n',
  '__proto__',
  '\ud83d',
  'x'.repeat(60),
];
const numbers = ['0', '-0', '1', '-1.5', '1e5', '1E-7', '123456789012345678', '1e308', '0.1'];

/** A document as text. */
export function jsonDocument(random: SeededRandom, depth = 0): string {
  switch (random.below(depth > 5 ? 4 : 6)) {
    case 0:
      return random.pick(['true', 'false', 'null']);
    case 1:
      return random.pick(numbers);
    case 2:
    case 3:
      return JSON.stringify(random.pick(texts));
    case 4:
      return `[${several(random, () => jsonDocument(random, depth + 1))}]`;
    default:
      return `{${several(
        random,
        () => `${JSON.stringify(random.pick(texts))} : ${jsonDocument(random, depth + 1)}`,
      )}}`;
  }
}

function several(random: SeededRandom, make: () => string): string {
  return Array.from({length: random.below(4)}, make).join(' ,\n');
}

export function jsonFuzzer(seed: number): Fuzzer {
  const random = createSeededRandom(seed);
  const parser = new JsonParser(depthMax);
  const strict = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
  let documents = 0;
  let refused = 0;
  return {
    step() {
      const whole = Buffer.from(jsonDocument(random));
      const bytes = random.below(4) === 0 ? whole : spoilt(random, whole);
      documents++;
      const ours = attempt(() => parser.parse(bytes), Refusal);
      const theirs = attempt(() => JSON.parse(strict.decode(bytes)) as unknown, Error);
      if (ours === undefined) refused++;
      // What we refuse beyond the platform: numbers that are no doubles, and depth.
      if (ours === undefined && theirs === undefined) return;
      if (ours === undefined) {
        if (/[0-9]{4}|[eE][+-]?[0-9]/.test(bytes.toString())) return;
        throw new Error(`refused what is JSON: ${JSON.stringify(bytes.toString())}`);
      }
      if (theirs === undefined) throw new Error(`read ${JSON.stringify(bytes.toString())}`);
      // JSON.parse of this platform now and then takes a key that is one escape for a backslash.
      if (/"\\(?:u[0-9a-fA-F]{4}|.)"\s*:/.test(bytes.toString())) return;
      const again = JSON.stringify(JSON.parse(jsonText(ours.value)));
      const wanted = JSON.stringify(wellFormed(theirs.value));
      if (again !== wanted) throw new Error(`read ${again} for ${wanted}`);
    },
    summary: () => `${documents} documents, ${refused} refused`,
  };
}

function attempt<T>(
  read: () => T,
  expected: abstract new (...parts: never[]) => Error,
): {readonly value: T} | undefined {
  try {
    return {value: read()};
  } catch (error) {
    if (error instanceof expected) return undefined;
    throw error;
  }
}

/** Lone surrogates replaced, the liberty that our parser takes. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, entry]) => [key.toWellFormed(), wellFormed(entry)]));
}
