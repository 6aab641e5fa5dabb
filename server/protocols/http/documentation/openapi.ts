/**
 * The OpenAPI 3.1 document of the routes. A test holds it against the router: every route is
 * described, and nothing else.
 */
import {agentRows} from './openapi-agents.ts';
import {clusterRows} from './openapi-cluster.ts';
import {searchRows} from './openapi-searches.ts';
import type {Described, Row} from './openapi-row.ts';

interface OperationDocument extends Described {
  readonly tags: readonly string[];
  readonly security?: readonly [];
  readonly parameters: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

const statementBody = {
  type: 'object',
  required: ['language', 'command'],
  properties: {
    language: {type: 'string', example: 'sql'},
    command: {type: 'string', example: 'SELECT 1 AS one'},
    params: {description: 'An object by name or an array by position', type: ['object', 'array']},
    limit: {type: 'integer', description: 'Most rows; 0 or less: as many as one answer carries'},
    serializer: {type: 'string', enum: ['record', 'graph', 'studio']},
    typeHints: {type: 'boolean'},
    profileExecution: {type: 'string', description: 'detailed adds timings to the plan'},
  },
};
const commandBody = {
  ...statementBody,
  properties: {
    ...statementBody.properties,
    awaitResponse: {type: 'boolean', default: true},
    autoCommit: {type: 'boolean', default: true},
    retries: {type: 'integer', description: 'Further attempts after a conflict'},
  },
};
const userBody = {
  type: 'object',
  properties: {
    name: {type: 'string', minLength: 4, maxLength: 256},
    password: {type: 'string', minLength: 8, maxLength: 256},
    databases: {
      type: 'object',
      additionalProperties: {type: 'array', items: {type: 'string'}},
      example: {shop: ['readonly']},
    },
  },
};

const groupBody = {
  type: 'object',
  required: ['database', 'name'],
  properties: {
    database: {type: 'string'},
    name: {type: 'string'},
    access: {
      type: 'array',
      items: {enum: ['updateSecurity', 'updateSchema', 'updateDatabaseSettings']},
    },
    types: {type: 'object', example: {'*': {access: ['readRecord']}}},
    resultSetLimit: {type: 'integer', default: -1},
    readTimeout: {type: 'integer', default: -1, description: 'Milliseconds'},
  },
};

const tokenBody = {
  type: 'object',
  required: ['name'],
  properties: {
    name: {type: 'string', maxLength: 256},
    database: {type: 'string', default: '*', description: 'The one it opens; * for all'},
    expiresAt: {type: 'integer', default: 0, description: 'Milliseconds since 1970; 0: never'},
    permissions: {
      type: 'object',
      properties: {
        types: {type: 'object', example: {'*': {access: ['readRecord']}}},
        database: groupBody.properties.access,
      },
    },
  },
};

const rows: readonly Row[] = [
  {
    at: 'get /health',
    tag: 'Server',
    summary: 'Alive',
    description: 'Answers as long as the process runs; touches nothing else.',
    answers: [204],
    isOpen: true,
  },
  {
    at: 'get /ready',
    tag: 'Server',
    summary: 'Ready',
    description: 'Whether the server takes requests: 503 while it starts or stops.',
    answers: [204, 503],
    isOpen: true,
  },
  {
    at: 'post /login',
    tag: 'Security',
    summary: 'Open a login',
    description: 'Gives a token that stands for the user as Bearer until it is left unused.',
    answers: [200, 401],
  },
  {
    at: 'post /logout',
    tag: 'Security',
    summary: 'End a login',
    description: 'Ends the login whose token the request carries.',
    answers: [204, 401],
  },
  {
    at: 'get /sessions',
    tag: 'Security',
    summary: 'List logins',
    description: 'The open logins of this server. Root only.',
    answers: [200, 401, 403],
  },
  {
    at: 'get /databases',
    tag: 'Databases',
    summary: 'List databases',
    description: 'Names of the databases that the user was granted.',
    answers: [200, 401],
  },
  {
    at: 'get /languages',
    tag: 'Databases',
    summary: 'List languages',
    description: 'The languages of statements: keywords, what statements begin with, functions.',
    answers: [200, 401],
  },
  {
    at: 'get /exists/{database}',
    tag: 'Databases',
    summary: 'Ask for a database',
    description: 'Whether a database exists; false as well when the user was not granted it.',
    answers: [200, 401],
  },
  {
    at: 'get /progress/{database}',
    tag: 'Databases',
    summary: 'List long work',
    description: 'Work on the database that takes long, with how far it is.',
    answers: [200, 401, 403, 404],
  },
  {
    at: 'get /query/{database}/{language}/{command}',
    tag: 'Statements',
    summary: 'Read',
    description: 'Runs a statement that reads; parameters limit, serializer and typeHints.',
    answers: [200, 400, 401, 403, 404, 413, 503],
  },
  {
    at: 'post /query/{database}',
    tag: 'Statements',
    summary: 'Read',
    description:
      'Runs a statement that reads. With Accept: application/x-ndjson rows come as lines.',
    body: statementBody,
    answers: [200, 400, 401, 403, 404, 413, 503],
  },
  {
    at: 'post /command/{database}',
    tag: 'Statements',
    summary: 'Read or write',
    description:
      'Runs a statement in a transaction of its own, or in that of the header svc-session-id. ' +
      'A repeated X-Request-Id answers what was answered and runs nothing.',
    body: commandBody,
    answers: [200, 202, 400, 401, 403, 404, 409, 413, 503],
  },
  {
    at: 'post /begin/{database}',
    tag: 'Transactions',
    summary: 'Begin',
    description: 'Begins a transaction; its id comes back in the header svc-session-id.',
    body: {
      type: 'object',
      properties: {isolationLevel: {type: 'string', enum: ['READ_COMMITTED', 'REPEATABLE_READ']}},
    },
    answers: [204, 400, 401, 403, 404, 409],
  },
  {
    at: 'post /commit/{database}',
    tag: 'Transactions',
    summary: 'Commit',
    description: 'Commits the transaction of the header svc-session-id.',
    answers: [204, 401, 404, 409, 500, 503],
  },
  {
    at: 'post /rollback/{database}',
    tag: 'Transactions',
    summary: 'Roll back',
    description: 'Rolls back the transaction of the header svc-session-id; an ended one is fine.',
    answers: [204, 401],
  },
  {
    at: 'post /batch/{database}',
    tag: 'Statements',
    summary: 'Load many records',
    description: 'Vertices, then edges, as JSON lines or CSV, streamed.',
    answers: [200, 400, 401, 403, 404, 408, 409, 503],
  },
  {
    at: 'post /import/{database}',
    tag: 'Databases',
    summary: 'Import a file',
    description:
      'The body is a file of any format that imports read; the query has the options of an ' +
      'import, name (of the file) and new (true: makes the database). Root only.',
    answers: [200, 400, 401, 403, 404, 409, 503],
  },
  {
    at: 'get /export/{database}',
    tag: 'Databases',
    summary: 'Export a database',
    description: 'A .tgz of one file; the query has format: jsonl, graphml or graphson. Root only.',
    answers: [200, 400, 401, 403, 404],
  },
  {
    at: 'get /server',
    tag: 'Server',
    summary: 'Describe the server',
    description: 'Identity; with mode=default also figures and settings.',
    answers: [200, 401],
  },
  {
    at: 'post /server',
    tag: 'Server',
    summary: 'Give a server command',
    description:
      'One line: list databases; create, drop, open, close or align database <name>; create ' +
      'user <json>; drop user <name>; set server setting <key> <value>; set database setting ' +
      '<database> <key> <value>; get server events; list queries; terminate query <id>; ' +
      'terminate queries tag <label>; list transactions; terminate transaction <id>; trigger ' +
      'backup, list backups <database>; delete backup <database> <file>; restore backup ' +
      '<database> <file> as <name>; get or set backup config; import database <name> <url>; ' +
      'export database <name>; connect cluster <address>; disconnect cluster; shutdown.',
    body: {type: 'object', required: ['command'], properties: {command: {type: 'string'}}},
    answers: [200, 400, 401, 403, 404, 409, 501],
  },
  {
    at: 'get /server/events',
    tag: 'Server',
    summary: 'List events',
    description: 'Latest events of the server. Root only.',
    answers: [200, 401, 403],
  },
  {
    at: 'get /server/users',
    tag: 'Security',
    summary: 'List users',
    description: 'Users with their grants. Root only.',
    answers: [200, 401, 403],
  },
  {
    at: 'post /server/users',
    tag: 'Security',
    summary: 'Create a user',
    description: 'Root only.',
    body: {...userBody, required: ['name', 'password']},
    answers: [201, 400, 401, 403, 409],
  },
  {
    at: 'put /server/users',
    tag: 'Security',
    summary: 'Change a user',
    description: 'Changes the password, the grants, or both, of ?name=. Root only.',
    body: userBody,
    answers: [200, 400, 401, 403, 404],
  },
  {
    at: 'delete /server/users',
    tag: 'Security',
    summary: 'Drop a user',
    description: 'Drops the user of ?name= and ends what it left open. Root only.',
    answers: [200, 400, 401, 403, 404],
  },
  {
    at: 'get /server/groups',
    tag: 'Security',
    summary: 'List groups',
    description: 'The groups document: what each group may do, by database. Root only.',
    answers: [200, 401, 403],
  },
  {
    at: 'post /server/groups',
    tag: 'Security',
    summary: 'Save a group',
    description: 'Creates or replaces a group of a database, or of * for all. Root only.',
    body: groupBody,
    answers: [200, 400, 401, 403],
  },
  {
    at: 'delete /server/groups',
    tag: 'Security',
    summary: 'Delete a group',
    description: 'Deletes the group ?name= of ?database=. Root only.',
    answers: [200, 400, 401, 403, 404],
  },
  {
    at: 'get /server/api-tokens',
    tag: 'Security',
    summary: 'List API tokens',
    description: 'API tokens with what they may do, never with their values. Root only.',
    answers: [200, 401, 403],
  },
  {
    at: 'post /server/api-tokens',
    tag: 'Security',
    summary: 'Create an API token',
    description:
      'Makes a secret for a program: Authorization: Bearer <token>. Its value is in this answer ' +
      'and nowhere else. Permissions that are not given give nothing. Root only.',
    body: tokenBody,
    answers: [201, 400, 401, 403, 409, 412],
  },
  {
    at: 'delete /server/api-tokens',
    tag: 'Security',
    summary: 'Delete an API token',
    description: 'Deletes the token with the hash ?token=; what it left open ends. Root only.',
    answers: [200, 400, 401, 403, 404],
  },
  ...agentRows,
  {
    at: 'get /ws',
    isOutside: true,
    tag: 'Statements',
    summary: 'Hear of committed changes',
    description:
      'Opens a WebSocket. A message {"action": "subscribe", "database": "shop"} subscribes to ' +
      'changes of records, with type and changeTypes to some of them; unsubscribe ends it.',
    answers: [101, 401, 403, 404, 503],
  },
  ...searchRows,
  ...clusterRows,
  {
    at: 'get /openapi.json',
    tag: 'Server',
    summary: 'This document',
    description: 'The API as an OpenAPI document.',
    answers: [200, 401],
  },
  {
    at: 'get /docs',
    tag: 'Server',
    summary: 'This document as a page',
    description: 'The API for people.',
    answers: [200, 401],
  },
];

const phrases: Readonly<Record<number, string>> = {
  101: 'A WebSocket from now on',
  200: 'Done',
  201: 'Created',
  202: 'Accepted',
  204: 'Done, nothing to say',
  206: 'The rest, from the byte that was asked for',
  304: 'The same as the one that is there',
  400: 'The request is wrong',
  401: 'Credentials are missing or wrong',
  403: 'The user may not do this',
  404: 'Something named does not exist',
  408: 'The body ended too early',
  409: 'It contradicts what is there',
  412: 'The connection is not secure enough for this',
  413: 'Too large',
  415: 'The body is in a coding',
  500: 'The outcome is not known, or a defect',
  501: 'Not available yet',
  503: 'Try again',
};

/** The document for a server of the given version. */
export function openApiDocument(version: string): {
  readonly openapi: string;
  readonly info: {readonly title: string; readonly version: string; readonly description: string};
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationDocument>>>>;
  readonly security: readonly unknown[];
  readonly components: unknown;
} {
  const paths: Record<string, Record<string, OperationDocument>> = {};
  for (const row of rows) {
    const [method = '', below = ''] = row.at.split(' ');
    const path = row.isOutside === true ? below : `/api/v1${below}`;
    const operations = paths[path] ?? {};
    operations[method] = operationDocument(row, below);
    paths[path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: {title: 'Svc HTTP API', version, description: 'The HTTP API of this server.'},
    security: [{basic: []}, {bearer: []}],
    paths,
    components: {
      securitySchemes: {
        basic: {type: 'http', scheme: 'basic'},
        bearer: {type: 'http', scheme: 'bearer'},
      },
      schemas: {Failure: failureSchema},
    },
  };
}

const failureSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {type: 'string', description: 'Short label'},
    requestId: {type: 'string'},
    exception: {type: 'string', description: 'Class to branch on'},
    exceptionArgs: {type: 'string', description: 'Machine data of the class'},
    detail: {type: 'string', description: 'What happened and what to do'},
  },
};

/** The answers of a row with those that any route may give: to bad paths, bodies, credentials. */
function allAnswers({at, answers, isOpen}: Row): readonly number[] {
  const always = isOpen === true ? [400, 413] : [400, 401, 413, 503];
  const ofBodies = /^(post|put) /.test(at) ? [408, 415] : [];
  const ofNames = at.includes('{') ? [404] : [];
  return [...new Set([...answers, ...always, ...ofBodies, ...ofNames])].toSorted((a, b) => a - b);
}

function operationDocument(row: Row, path: string): OperationDocument {
  const {summary, description, tag, body, isOpen} = row;
  const names = path.match(/(?<=\{)\w+(?=\})/g) ?? [];
  const failure = {'application/json': {schema: {$ref: '#/components/schemas/Failure'}}};
  const responses = allAnswers(row).map(status => [
    status,
    {description: phrases[status] ?? '', ...(status < 400 ? {} : {content: failure})},
  ]);
  return {
    tags: [tag],
    summary,
    description,
    ...(isOpen ? {security: []} : {}),
    parameters: names.map(name => ({name, in: 'path', required: true, schema: {type: 'string'}})),
    ...(body ? {requestBody: {content: {'application/json': {schema: body}}}} : {}),
    responses: Object.fromEntries(responses),
  };
}
