/**
 * The doors of a user without rights: each tries over HTTP to take all of something, again and
 * again, until it is told to stop.
 *
 * A refusal is what a door is to meet, so it counts answers by their status and judges none.
 */

/** Who sends requests to one server. */
export interface Caller {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

export interface Sent {
  readonly status: number;
  readonly body: string;
  readonly session: string | undefined;
}

/** One request as `caller`. @throws {Error} when there is no answer within `timeoutMillis`. */
export async function send(
  {url, user, password}: Caller,
  request: {
    readonly path: string;
    readonly method?: string;
    readonly body?: unknown;
    readonly session?: string | undefined;
    readonly timeoutMillis?: number;
  },
): Promise<Sent> {
  const {path, method = 'POST', body, session, timeoutMillis = 20_000} = request;
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      'content-type': 'application/json',
      ...(session === undefined ? {} : {'svc-session-id': session}),
    },
    ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    signal: AbortSignal.timeout(timeoutMillis),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    body: text,
    session: answer.headers.get('svc-session-id') ?? undefined,
  };
}

/** What one round of a door sends; the answers of it. */
export type Door = (caller: Caller, database: string, round: number) => Promise<readonly Sent[]>;

const waitMillis = 10_000;
const megabyte = 'x'.repeat(1_000_000);

async function begun(caller: Caller, database: string): Promise<Sent> {
  return send(caller, {path: `begin/${database}`});
}

/** What root gives everybody to call, and what nobody should be able to make slow for others. */
export const slowFunction = {
  language: 'sql',
  command:
    'DEFINE FUNCTION bad.test "return new RegExp(pattern).test(text)" ' +
    'PARAMETERS [pattern, text] LANGUAGE js',
};

/** The doors, each under the finding whose rule it tries. */
export const doors: Readonly<Record<string, Door>> = {
  'H1 session parameters': async (caller, database, round) => {
    const {session, ...first} = await begun(caller, database);
    const sent: Sent[] = [{session, ...first}];
    for (let at = 0; at < 10; at += 1) {
      const command = {
        language: 'opencypher',
        command: `SESSION SET $p${round}x${at} = $v`,
        params: {v: megabyte},
      };
      const answer = await send(caller, {path: `command/${database}`, body: command, session});
      sent.push(answer);
      if (answer.status !== 200) break;
    }
    return sent;
  },
  'H3 endless statements': async (caller, database) => {
    const command =
      'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b ' +
      'UNWIND range(1, 100000) AS c RETURN sum(a * b + c) AS n';
    const body = {language: 'opencypher', command, awaitResponse: false};
    return [await send(caller, {path: `command/${database}`, body})];
  },
  'H7 calls of JavaScript': async (caller, database) => {
    const params = {p: '^(a+)+$', t: `${'a'.repeat(50)}!`};
    const body = {language: 'sql', command: 'SELECT bad.test(:p, :t)', params};
    return [await send(caller, {path: `query/${database}`, body})];
  },
  'H8 passwords of nobody': async ({url}, database, round) => {
    const strangers = Array.from({length: 40}, (_, at) =>
      send(
        {url, user: `nobody${round}x${at}`, password: 'no password'},
        {path: `query/${database}`, body: {language: 'sql', command: 'SELECT 1'}},
      ),
    );
    return Promise.all(strangers);
  },
  'M2 wrong passwords of another': async ({url}, database) => {
    const request = {path: `query/${database}`, body: {language: 'sql', command: 'SELECT 1'}};
    return [await send({url, user: 'victim', password: 'not the right one'}, request)];
  },
  'M3 batches that wait': async ({url, user, password}, database) => {
    // A line that never ends.
    const body = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(Buffer.from('{')),
    });
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const init: RequestInit & {readonly duplex: 'half'} = {
      method: 'POST',
      headers: {authorization, 'content-type': 'application/x-ndjson'},
      body,
      duplex: 'half',
      signal: AbortSignal.timeout(waitMillis),
    };
    const answer = await fetch(`${url}/api/v1/batch/${database}`, init).catch(() => undefined);
    return answer === undefined ? [] : [{status: answer.status, body: '', session: undefined}];
  },
  'M8 files of another server': async (caller, database) => {
    const command = `LOAD CSV FROM '${caller.url}/api/v1/health' AS row RETURN row`;
    const body = {language: 'opencypher', command};
    return [await send(caller, {path: `query/${database}`, body})];
  },
  'M11 global variables': async (caller, database, round) => {
    const body = {language: 'sql', command: `SET GLOBAL $g${round} = :v`, params: {v: megabyte}};
    return [await send(caller, {path: `command/${database}`, body})];
  },
  'L13 bodies under way': async (caller, database) => {
    const body = {language: 'sql', command: 'SELECT 1', params: {v: megabyte.repeat(20)}};
    return Promise.all([1, 2, 3].map(() => send(caller, {path: `query/${database}`, body})));
  },
  'calls of an agent': async ({url, user, password}, database) => {
    const args = {database, language: 'sql', query: 'SELECT 1'};
    const params = {name: 'query', arguments: args};
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const answer = await fetch(`${url}/api/v1/mcp`, {
      method: 'POST',
      headers: {authorization, 'content-type': 'application/json'},
      body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params}),
      signal: AbortSignal.timeout(waitMillis),
    });
    await answer.arrayBuffer();
    return [{status: answer.status, body: '', session: undefined}];
  },
  'M3 transactions': (caller, database) =>
    Promise.all(Array.from({length: 40}, () => begun(caller, database))),
  'M3 logins': caller => Promise.all(Array.from({length: 40}, () => send(caller, {path: 'login'}))),
  'bombs of memory': async (caller, database) => {
    const command = 'UNWIND range(1, 50000000) AS a RETURN collect(toString(a)) AS n';
    return [
      await send(caller, {path: `query/${database}`, body: {language: 'opencypher', command}}),
    ];
  },
};
