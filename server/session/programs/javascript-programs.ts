/**
 * Functions and triggers in JavaScript, for one run of a statement.
 *
 * Values go in and come out as JSON: records and maps as objects, whole numbers beyond what a
 * number of JavaScript holds as BigInt, dates as texts. The sandbox is made when the first program
 * is called and ends with the run, so nothing that a program leaves behind is met by another
 * statement.
 */
import {Refusal} from '#server/base/errors.ts';
import type {FunctionDefinition, TriggerDefinition} from '#server/catalog/definition.ts';
import {jsonText} from '#server/model/json.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {
  JavaScriptEngine,
  JavaScriptSandbox,
  JavaScriptWorld,
} from '#server/platform/javascript.ts';

/** What a program may ask of the database: `query` reads, `command` may write. */
export interface DatabaseQuestion {
  readonly kind: 'query' | 'command';
  readonly language: string;
  readonly text: string;
  readonly parameters: ReadonlyMap<string, Value>;
}

/** A record as a trigger sees it before and after; a map stands for one that is not stored yet. */
export interface RecordImages {
  readonly record: Value;
  readonly oldRecord: Value;
}

/** What a trigger says: whether it forbids what it was called for, and what it set. */
export interface TriggerVerdict {
  readonly forbids: boolean;
  /** Properties that it gave other values, undefined for those that it took away. */
  readonly changes: ReadonlyMap<string, Value | undefined>;
}

export interface ProgramWorld extends Omit<JavaScriptWorld, 'answer'> {
  readonly answer: (question: DatabaseQuestion) => readonly Value[];
}

export class JavaScriptPrograms {
  readonly #engine: JavaScriptEngine;
  readonly #world: ProgramWorld;
  #sandbox: JavaScriptSandbox | undefined;
  readonly #programs = new Map<object, (input: string) => string>();

  constructor(engine: JavaScriptEngine, world: ProgramWorld) {
    this.#engine = engine;
    this.#world = world;
  }

  /** @throws {Refusal} `javascript.failed`. */
  call(definition: FunctionDefinition, args: readonly Value[]): Value {
    const program = this.#program(definition, () => functionSource(definition));
    return valueOf(program(textOf(args)));
  }

  /** @throws {Refusal} `javascript.failed`, and what a question to the database is refused for. */
  fire(trigger: TriggerDefinition, {record, oldRecord}: RecordImages): TriggerVerdict {
    const program = this.#program(trigger, () => triggerSource(trigger.code));
    return verdictOf(valueOf(program(textOf([record, oldRecord]))));
  }

  close(): void {
    this.#sandbox?.close();
    this.#sandbox = undefined;
  }

  #program(definition: object, source: () => string): (input: string) => string {
    const known = this.#programs.get(definition);
    if (known !== undefined) return known;
    const program = this.#open().program(source());
    this.#programs.set(definition, program);
    return program;
  }

  #open(): JavaScriptSandbox {
    const world = this.#world;
    const {now, random, isEnded, answer} = world;
    this.#sandbox ??= this.#engine.open({
      get callMsMax() {
        return world.callMsMax;
      },
      now,
      random,
      isEnded,
      answer: question => textOf(answer(questionOf(question))),
    });
    return this.#sandbox;
  }
}

/**
 * What a trigger's program answered. Its author may have replaced what the answer is made with, so
 * nothing about its form is certain.
 */
function verdictOf(said: Value): TriggerVerdict {
  const parts = said instanceof Map ? (said as MapValue) : new Map<string, Value>();
  const [set, removed] = [parts.get('set'), parts.get('removed')];
  if (!(set instanceof Map) || !Array.isArray(removed)) {
    throw new Refusal('javascript.failed', 'the trigger changed what its answer is written with');
  }
  const changes = new Map<string, Value | undefined>(set as MapValue);
  for (const name of removed) {
    if (typeof name === 'string') changes.set(name, undefined);
  }
  return {forbids: parts.get('forbids') === true, changes};
}

/** Refuses code that cannot be read; nothing of it runs. @throws {Refusal} `javascript.failed`. */
export function checkJavaScript(
  engine: JavaScriptEngine,
  routine: FunctionDefinition | Pick<TriggerDefinition, 'code' | 'event'>,
): void {
  const never = (): never => {
    throw new Refusal('javascript.failed', 'code that is only read asks nothing');
  };
  const world = {callMsMax: 1_000, now: 0, random: () => 0, isEnded: () => false};
  const sandbox = engine.open({...world, answer: never});
  try {
    sandbox.program('event' in routine ? triggerSource(routine.code) : functionSource(routine));
  } finally {
    sandbox.close();
  }
}

function questionOf(text: string): DatabaseQuestion {
  const question = valueOf(text) as MapValue;
  const kind = question.get('kind') === 'query' ? 'query' : 'command';
  const part = (name: string): string => {
    const value = question.get(name);
    if (typeof value === 'string') return value;
    const form = `database.${kind}(language, text, parameters)`;
    throw new Refusal('javascript.failed', `${form} needs a text as its ${name}`);
  };
  const given = question.get('parameters');
  const parameters = given instanceof Map ? (given as MapValue) : new Map<string, Value>();
  return {kind, language: part('language'), text: part('text'), parameters};
}

/** Marks the digits of a whole number that a number of JavaScript would round. */
const mark = '\\u0000digits:';
const tokens = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;
const marked = /"\\u0000digits:(-?\d+)"/g;

function textOf(values: readonly Value[]): string {
  const text = jsonText(values);
  if (!/\d{16}/.test(text)) return text;
  return text.replace(tokens, token => {
    const isSafe = token.startsWith('"') || Number.isSafeInteger(Number(token));
    return isSafe ? token : `"${mark}${token}"`;
  });
}

function valueOf(text: string): Value {
  return parseJsonText(text.includes(mark) ? text.replace(marked, '$1') : text);
}

// What follows is in the language of the programs.

/** `unpack` reads what `textOf` wrote, `pack` writes what `valueOf` reads. */
const marshalling = `
  const mark = '\\u0000digits:';
  const isMarked = value => typeof value === 'string' && value.startsWith(mark);
  const revive = (key, value) => (isMarked(value) ? BigInt(value.slice(mark.length)) : value);
  const unpack = text => JSON.parse(text, text.includes('u0000digits') ? revive : undefined);
  const replace = (key, value) => (typeof value === 'bigint' ? mark + value : value);
  const pack = value => JSON.stringify(value, replace) ?? 'null';
`;

/** The code is the body of a function, which returns its answer. */
function functionSource({parameters, code}: FunctionDefinition): string {
  const parts = [...parameters, code].map(part => JSON.stringify(part)).join(', ');
  return `(() => {
  ${marshalling}
  const body = new Function(${parts});
  return input => pack(body(...unpack(input)));
})()`;
}

/**
 * The code is a body that returns, or a script whose last value counts. A class's static block
 * tells them apart: no return stands in it, and the test runs nothing.
 */
function triggerSource(code: string): string {
  return `(() => {
  ${marshalling}
  const code = ${JSON.stringify(code)};
  const names = ['record', 'oldRecord', 'database'];
  let isScript = true;
  try {
    new Function('class Script { static {' + code + '\\n} }');
  } catch {
    isScript = false;
  }
  const evaluated = 'return eval(' + JSON.stringify(code) + ')';
  const body = new Function(...names, isScript ? evaluated : code);
  const methods = {
    get(name) { return this[name] ?? null; },
    set(name, value) { this[name] = value; return this; },
    has(name) { return Object.hasOwn(this, name); },
    remove(name) { delete this[name]; return this; },
  };
  const recordOf = properties =>
    properties === null ? null : Object.assign(Object.create(methods), properties);
  const textsOf = record => {
    const names = Object.keys(record).filter(name => !name.startsWith('@'));
    return new Map(names.map(name => [name, pack(record[name])]));
  };
  return (input, ask) => {
    const [given, old] = unpack(input);
    const asking = kind => (language, text, parameters) =>
      unpack(ask(pack({kind, language, text, parameters: Object.assign({}, parameters)})));
    const database = {query: asking('query'), command: asking('command')};
    const record = recordOf(given);
    const before = textsOf(record);
    const said = body(record, recordOf(old), database);
    const after = textsOf(record);
    const set = [...after.keys()].filter(name => after.get(name) !== before.get(name));
    return pack({
      forbids: said === false,
      set: Object.fromEntries(set.map(name => [name, record[name] ?? null])),
      removed: [...before.keys()].filter(name => !after.has(name)),
    });
  };
})()`;
}
