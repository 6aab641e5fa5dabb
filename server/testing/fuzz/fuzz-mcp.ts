/**
 * Messages of agents, made up and spoilt, against a real server: each request is answered once and
 * under its own id and in the types of the protocol, nothing else is answered, and none is a defect
 * of ours.
 */
import assert from 'node:assert/strict';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {checkProtocolTypes} from '../agents/protocol-types.ts';
import {schema} from './bad-statements.ts';
import {type Fuzzer, spoilt} from './fuzzer.ts';
import {HostileWorld} from './fuzz-world.ts';

const messagesAtOnce = 32;

const methods = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'tools/call',
  'tools/call',
  'resources/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'notifications/initialized',
  'nope',
  '',
];
const tools = [
  'list_databases',
  'get_schema',
  'query',
  'execute_command',
  'sample_records',
  'vector_search',
  'full_text_search',
  'hybrid_search',
  'upsert_entity',
  'upsert_relationship',
  'server_status',
  'get_server_settings',
  'constructor',
];
const fields = [
  'database',
  'language',
  'query',
  'command',
  'limit',
  'types',
  'indexName',
  'typeName',
  'queryText',
  'queryVector',
  'matchKeys',
  'setProperties',
  'k',
  'uri',
  'question',
  'sourceText',
  '__proto__',
];
const texts = [
  'hostile',
  'sql',
  'cypher',
  'SELECT FROM V',
  'INSERT INTO D SET i = 1',
  'MATCH (n) RETURN n LIMIT 1',
  'V',
  'V` RETURN 1',
  "'; DROP TYPE V; --",
  '</question>',
  'svc://hostile/schema',
  'svc://../schema',
  '\u0000',
  '\ud800',
  '',
];

function valueOf(random: SeededRandom, depth = 0): unknown {
  switch (random.below(depth > 2 ? 5 : 8)) {
    case 0:
      return random.pick(texts);
    case 1:
      return random.pick([0, 1, -1, 3, 1.5, 1e308, 2 ** 31, -0]);
    case 2:
      return random.chance(50);
    case 3:
      return null;
    case 4:
      return random.pick(texts);
    case 5:
      return Array.from({length: random.below(4)}, () => valueOf(random, depth + 1));
    default:
      return objectOf(random, depth + 1);
  }
}

function objectOf(random: SeededRandom, depth: number): Record<string, unknown> {
  const chosen = fields.filter(() => random.chance(25));
  return Object.fromEntries(chosen.map(name => [name, valueOf(random, depth)]));
}

/** Mostly what a client would send: the right arguments, of which some are spoilt. */
function paramsOf(random: SeededRandom): unknown {
  if (random.chance(10)) return valueOf(random);
  const given = {
    database: 'hostile',
    language: random.pick(['sql', 'cypher']),
    query: 'SELECT FROM V',
    command: 'INSERT INTO D SET i = 1',
    typeName: 'V',
    matchKeys: {k: 1},
    ...(random.chance(60) ? objectOf(random, 0) : {}),
  };
  return {
    name: random.pick([...tools, 'graphrag_query', 'build_knowledge_graph']),
    uri: random.pick(texts),
    arguments: random.chance(90) ? given : valueOf(random),
  };
}

function messageOf(random: SeededRandom): unknown {
  if (random.chance(4)) return valueOf(random);
  const message: Record<string, unknown> = {
    jsonrpc: '2.0',
    id: random.pick([1, 2, 'a', 'b', '', -5, Number.MAX_SAFE_INTEGER]),
    method: random.pick(methods),
    params: paramsOf(random),
  };
  for (const name of Object.keys(message)) {
    if (random.chance(6)) delete message[name];
    else if (random.chance(3)) message[name] = valueOf(random);
  }
  return message;
}

/**
 * The ids that must come back, as texts of JSON; undefined: the bytes are no JSON, or have a number
 * that nothing here can hold, such as 5e+308.
 */
function expectedIds(bytes: Buffer): readonly string[] | undefined {
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
    value = JSON.parse(text, (_name, part: unknown) => {
      if (typeof part === 'number' && !Number.isFinite(part)) throw new RangeError('no number');
      return part;
    });
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return idsOf(value);
  return value.length === 0 ? ['null'] : value.flatMap(idsOf);
}

function idsOf(message: unknown): readonly string[] {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return ['null'];
  const {id, method, result, error} = message as Record<string, unknown>;
  const isAnswer = method === undefined && (result !== undefined || error !== undefined);
  if (id === undefined) return method === undefined ? ['null'] : [];
  if (isAnswer) return [];
  // Half of a surrogate pair is no character, and comes back as the sign that stands for one.
  if (typeof id === 'string') return [JSON.stringify(id.toWellFormed())];
  return [Number.isInteger(id) ? JSON.stringify(id) : 'null'];
}

function checkAnswer(text: string, expected: readonly string[] | undefined): void {
  const value: unknown = text === '' ? [] : JSON.parse(text);
  const answers = (Array.isArray(value) ? value : [value]) as readonly Record<string, unknown>[];
  for (const answer of answers) {
    assert.equal(answer['jsonrpc'], '2.0');
    assert.equal('result' in answer, !('error' in answer));
    checkProtocolTypes(answer);
    const {code} = (answer['error'] ?? {}) as {readonly code?: number};
    assert.notEqual(code, -32_603);
  }
  const ids = answers.map(({id}) => JSON.stringify(id));
  assert.deepEqual(ids.toSorted(), (expected ?? ['null']).toSorted());
}

export async function mcpFuzzer(seed: number): Promise<Fuzzer> {
  const random = createSeededRandom(seed);
  const world = await HostileWorld.start({});
  await world.administer('create database hostile');
  for (const statement of schema) await world.command(statement);
  const admin = world.server.client();
  await admin.agentConfiguration({
    enabled: true,
    allowInsert: true,
    allowUpdate: true,
    allowSchemaChange: true,
  });
  admin.close();
  let messages = 0;
  let unreadable = 0;

  async function one(): Promise<void> {
    const batch = random.chance(25);
    const value = batch
      ? Array.from({length: random.below(6)}, () => messageOf(random))
      : messageOf(random);
    const whole = Buffer.from(JSON.stringify(value) ?? 'null');
    const bytes = random.chance(30) ? spoilt(random, whole) : whole;
    const {status, text} = await world.call('/mcp', {method: 'POST', body: bytes});
    messages++;
    const expected = expectedIds(bytes);
    if (expected === undefined) unreadable++;
    try {
      assert.equal(status, text === '' ? 202 : 200);
      checkAnswer(text, expected);
    } catch (error) {
      const sent = JSON.stringify(bytes.toString('latin1'));
      throw new Error(`${status} ${text.slice(0, 400)}\nfor ${sent}`, {cause: error});
    }
  }

  return {
    async step() {
      await Promise.all(Array.from({length: messagesAtOnce}, one));
      if (!world.isAlive || world.server.log.includes('mcp.failed')) {
        throw new Error(`the server failed: ${world.server.log}`);
      }
    },
    summary: () => `${messages} messages, of which ${unreadable} were no JSON`,
    close: () => world.dispose(),
  };
}
