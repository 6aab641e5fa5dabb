/**
 * `svc mcp`: what agents may do at a server, how their clients are told where it is, and a server
 * of one's own over standard input and output.
 */
import {printJson} from '#server/client/json-text.ts';
import {nearest} from './arguments.ts';
import {type Arguments, type Command, print, type RunContext, UsageError} from './command.ts';
import {connectionOptions, urlOf, withClient} from './connection.ts';
import {startOptions, startOptionsOf} from './start.ts';

type Field = 'word' | 'names' | 'entries';

/** The fields of the configuration, by how their values are written. */
const fields: Readonly<Record<string, Field>> = {
  enabled: 'word',
  allowReads: 'word',
  allowInsert: 'word',
  allowUpdate: 'word',
  allowDelete: 'word',
  allowSchemaChange: 'word',
  allowAdmin: 'word',
  profile: 'word',
  allowedUsers: 'names',
  allowedOrigins: 'names',
  principalProfiles: 'entries',
  databases: 'entries',
};

interface Action {
  readonly says: string;
  readonly run: (
    words: readonly string[],
    given: Arguments,
    context: RunContext,
  ) => Promise<number>;
}

const actions: Readonly<Record<string, Action>> = {
  config: {says: 'FIELD=VALUE... changes the configuration; without any it is shown', run: config},
  snippet: {says: 'the name of a client, whose configuration is printed', run: snippet},
  stdio: {says: 'nothing', run: stdio},
};

export const mcpCommand: Command = {
  name: 'mcp',
  says: 'shows and changes what agents may do, and connects their clients',
  arguments: [
    {name: 'ACTION', says: Object.keys(actions).join(', ')},
    {name: 'WORD', says: 'as the action asks', count: 'any'},
  ],
  options: {...connectionOptions, ...startOptions},
  examples: [
    'svc mcp config',
    'svc mcp config enabled=true allowInsert=true profile=rag',
    'svc mcp config allowedUsers=root,apitoken:bot principalProfiles.apitoken:bot=rag',
    `svc mcp config 'databases.shop={"allowUpdate":false}' databases.old=null`,
    'svc mcp snippet claude --url http://db1:2480',
    'SVC_SETTINGS="-Dsvc.server.rootPassword=..." svc mcp stdio',
  ],
  run: (given, context) => {
    const [word = '', ...words] = given.positional;
    const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
    if (action !== undefined) return action.run(words, given, context);
    throw noChoice('action', word, Object.keys(actions));
  },
};

async function config(
  words: readonly string[],
  given: Arguments,
  context: RunContext,
): Promise<number> {
  const change = words.length === 0 ? undefined : changeOf(words);
  const answer = await withClient(given, context, client => client.agentConfiguration(change));
  await print(context.stdout, `${printJson(answer, 2)}\n`);
  return 0;
}

/** A partial configuration of words like `allowInsert=true` and `databases.shop=null`. */
function changeOf(words: readonly string[]): Readonly<Record<string, unknown>> {
  const change: Record<string, unknown> = {};
  for (const word of words) {
    const [, path = '', text = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (path === '') throw new UsageError(`'${word}' is not of the form FIELD=VALUE`);
    const dot = path.indexOf('.');
    const field = dot < 0 ? path : path.slice(0, dot);
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (kind === undefined) throw noChoice('field', field, Object.keys(fields));
    if (dot < 0) change[field] = kind === 'names' ? namesIn(text) : valueOf(text);
    else if (kind === 'entries') {
      const entries = (change[field] ??= {}) as Record<string, unknown>;
      entries[path.slice(dot + 1)] = valueOf(text);
    } else throw new UsageError(`the field ${field} has no entries: write ${field}=VALUE`);
  }
  return change;
}

function namesIn(text: string): unknown {
  if (text.trimStart().startsWith('[')) return valueOf(text);
  return text.split(',').filter(name => name !== '');
}

/** JSON where it is, else a text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Snippet {
  readonly place: string;
  readonly lines: (endpoint: string) => object;
}

const bearer = (token: string): object => ({Authorization: `Bearer ${token}`});

/** The configurations of clients; the secret is an API token that none of them holds. */
const snippets: Readonly<Record<string, Snippet>> = {
  claude: {
    place: '.mcp.json of a project; SVC_TOKEN is read from the environment',
    lines: url => ({mcpServers: {svc: {type: 'http', url, headers: bearer('${SVC_TOKEN}')}}}),
  },
  'claude-desktop': {
    place: 'claude_desktop_config.json; the server is started by the client',
    lines: () => ({
      mcpServers: {
        svc: {
          command: '/path/to/svc/bin/mcp-stdio.sh',
          env: {
            SVC_SETTINGS:
              '-Dsvc.server.rootPath=/path/to/data -Dsvc.server.rootPassword=<PASSWORD>',
          },
        },
      },
    }),
  },
  cursor: {
    place: '~/.cursor/mcp.json; SVC_TOKEN is read from the environment',
    lines: url => ({mcpServers: {svc: {url, headers: bearer('${env:SVC_TOKEN}')}}}),
  },
  vscode: {
    place: '.vscode/mcp.json; the token is asked for once',
    lines: url => ({
      inputs: [
        {type: 'promptString', id: 'svc-token', description: 'API token of Svc', password: true},
      ],
      servers: {svc: {type: 'http', url, headers: bearer('${input:svc-token}')}},
    }),
  },
  windsurf: {
    place: '~/.codeium/windsurf/mcp_config.json; SVC_TOKEN is read from the environment',
    lines: url => ({mcpServers: {svc: {serverUrl: url, headers: bearer('${env:SVC_TOKEN}')}}}),
  },
};

/** The place on standard error, so that standard output is the file. */
async function snippet(
  [name = '']: readonly string[],
  given: Arguments,
  context: RunContext,
): Promise<number> {
  const found = Object.hasOwn(snippets, name) ? snippets[name] : undefined;
  if (found === undefined) throw noChoice('client', name, Object.keys(snippets));
  const endpoint = `${urlOf(given, context).replace(/\/+$/, '')}/api/v1/mcp`;
  await print(context.stderr, `${name}: ${found.place}\n`);
  await print(context.stdout, `${JSON.stringify(found.lines(endpoint), undefined, 2)}\n`);
  return 0;
}

function stdio(words: readonly string[], given: Arguments, context: RunContext): Promise<number> {
  if (words.length > 0) throw new UsageError(`the action stdio takes no '${words[0]}'`);
  return context.startForAgent(startOptionsOf(given));
}

function noChoice(what: string, word: string, choices: readonly string[]): UsageError {
  const near = word === '' ? undefined : nearest(word, choices);
  const hint = near === undefined ? `choose one of ${choices.join(', ')}` : `did you mean ${near}?`;
  return new UsageError(`there is no ${what} '${word}': ${hint}`);
}
