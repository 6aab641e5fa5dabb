/**
 * Requests that the OpenAPI document of the server describes, filled with what fits and what does
 * not: an answer is one of those that the document names, and never a defect of ours.
 */
import type {SeededRandom} from '#server/simulation/seeded-random.ts';
import {openApiDocument} from '#server/protocols/http/documentation/openapi.ts';
import {jsonDocument} from './fuzz-json.ts';
import {spoilt} from './fuzzer.ts';

export interface DescribedRequest {
  readonly method: string;
  /** Absolute, with its query. */
  readonly path: string;
  readonly body: Buffer | undefined;
  /** Whether it shows the credentials of root. */
  readonly isRoot: boolean;
  /** What the document says that it may be answered. */
  readonly answers: ReadonlySet<number>;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly example?: unknown;
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly body: Schema | undefined;
  readonly answers: ReadonlySet<number>;
}

/** Operations that would end the run, or need what a request of this kind has not. */
const leftOut = new Set(['get /ws', 'put /api/v1/server/users', 'post /api/v1/logout']);

const operations: readonly Operation[] = Object.entries(openApiDocument('1.0').paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, {requestBody, responses}]) => ({
      path,
      method,
      body: bodyOf(requestBody),
      answers: new Set(Object.keys(responses).map(Number)),
    })),
  )
  .filter(({path, method}) => !leftOut.has(`${method} ${path}`));

const names = ['hostile', 'hostile', 'hostile', 'no-such', 'a b', '..', '%2f', '%ff', '*', '1'];
const texts = [
  'sql',
  'SELECT FROM V LIMIT 3',
  'INSERT INTO D SET i = 1',
  'hostile',
  'list queries',
  'list databases',
  'admin',
  '',
  '\u0000',
  'x'.repeat(300),
  '0',
];
const parameterNames = [
  'limit',
  'name',
  'database',
  'token',
  'mode',
  'file',
  'serializer',
  'force',
];

/** One request. */
export function describedRequest(random: SeededRandom): DescribedRequest {
  const {path, method, body, answers} = random.pick(operations);
  const filled = path.replaceAll(/\{\w+\}/g, () => random.pick(names).replaceAll(' ', '%20'));
  const query = random.chance(30)
    ? `?${random.pick(parameterNames)}=${encodeURIComponent(random.pick(texts))}`
    : '';
  return {
    method: method.toUpperCase(),
    path: filled + query,
    body: method === 'get' || method === 'delete' ? undefined : bodyFor(random, body),
    isRoot: random.chance(80),
    answers,
  };
}

function bodyOf(requestBody: unknown): Schema | undefined {
  const {content} = (requestBody ?? {}) as {content?: Readonly<Record<string, {schema: Schema}>>};
  return content?.['application/json']?.schema;
}

function bodyFor(random: SeededRandom, schema: Schema | undefined): Buffer {
  if (random.chance(10)) return Buffer.from(jsonDocument(random));
  const bytes = Buffer.from(schema === undefined ? '{}' : JSON.stringify(valueOf(random, schema)));
  return random.chance(15) ? spoilt(random, bytes) : bytes;
}

function valueOf(random: SeededRandom, schema: Schema): unknown {
  if (random.chance(10)) return random.pick([null, 0, -1, 1.5, true, [], {}, '', [null]]);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.example !== undefined && random.chance(50)) return schema.example;
  switch ([schema.type ?? 'string'].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(() => random.chance(80))
          .map(([name, property]) => [name, valueOf(random, property)]),
      );
    case 'array':
      return Array.from({length: random.below(3)}, () => valueOf(random, schema.items ?? {}));
    case 'integer':
    case 'number':
      return random.pick([0, 1, -1, 7, 2 ** 31, 2 ** 53, 1e300]);
    case 'boolean':
      return random.chance(50);
    default:
      return random.pick(texts);
  }
}
