/**
 * The options by which every command that speaks to a server finds it, the password's ways in, and
 * what is said when it does not work.
 *
 * A password comes from `SVC_PASSWORD`, from the file that `--password-file` (or
 * `SVC_PASSWORD_FILE`) names, or from a prompt that does not show it; never from an argument,
 * where other users of the machine could read it.
 */
import {readFileSync} from 'node:fs';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {environmentName, resolveSettings} from '#server/base/setting-values.ts';
import {Client} from '#server/client/client.ts';
import {NotConnected, ServerError, UnknownOutcome} from '#server/client/server-error.ts';
import {type Arguments, CommandError, type OptionRow, type RunContext} from './command.ts';
import {askHidden} from './hidden-prompt.ts';

/** Spread into the options of a command that connects. */
export const connectionOptions = {
  url: {value: 'URL', says: 'the server (default http://127.0.0.1:2480, or SVC_URL)'},
  user: {value: 'NAME', says: 'who asks (default root, or SVC_USER)'},
  'password-file': {value: 'FILE', says: 'holds the password; else SVC_PASSWORD, else a prompt'},
} as const satisfies Record<string, OptionRow>;

/** Opens a client as the options and the environment say. The caller closes it. */
export async function connect(given: Arguments, context: RunContext): Promise<Client> {
  const {environment} = context;
  const url = urlOf(given, context);
  const user = given.value('user') ?? environment['SVC_USER'] ?? 'root';
  const password = await passwordFor(user, given, context);
  const electionRetries = electionRetriesOf(environment);
  return new Client({url, credentials: {kind: 'basic', user, password}, electionRetries});
}

/** Where the server is, by option, environment or default. @throws {CommandError} for no URL. */
export function urlOf(given: Arguments, {environment}: RunContext): string {
  const url = given.value('url') ?? environment['SVC_URL'] ?? 'http://127.0.0.1:2480';
  checkUrl(url);
  return url;
}

/** @throws {Refusal} `setting.value`. */
function electionRetriesOf(environment: RunContext['environment']): {
  readonly count: number;
  readonly delayMillis: number;
} {
  const keys = ['svc.ha.clientElectionRetryCount', 'svc.ha.clientElectionRetryDelayMs'] as const;
  const values = Object.fromEntries(keys.map(key => [key, environment[environmentName(key)]]));
  const {settings} = resolveSettings([{name: 'environment', values}]);
  const [count, delayMillis] = keys.map(key => settings.get(key)) as [number, number];
  return {count, delayMillis};
}

/** Runs `work` with a client and closes the client whatever happens. */
export async function withClient<T>(
  given: Arguments,
  context: RunContext,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connect(given, context);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

function checkUrl(url: string): void {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === 'http:' || protocol === 'https:') return;
  throw new CommandError(`the URL '${url}' is none: give one like http://127.0.0.1:2480`);
}

async function passwordFor(user: string, given: Arguments, context: RunContext): Promise<string> {
  const file = given.value('password-file');
  if (file !== undefined) return passwordFrom(file);
  const fromEnvironment = context.environment['SVC_PASSWORD'];
  if (fromEnvironment !== undefined) return fromEnvironment;
  const fileFromEnvironment = context.environment['SVC_PASSWORD_FILE'];
  if (fileFromEnvironment !== undefined) return passwordFrom(fileFromEnvironment);
  if (context.stdin.isTTY !== true) {
    throw new CommandError(
      `no password for user ${user}: set SVC_PASSWORD, or give --password-file FILE`,
    );
  }
  return askHidden(context, `Password of ${user}: `);
}

function passwordFrom(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`cannot read the password file ${file}: ${reasonOf(error)}`);
  }
}

/** What went wrong, where, and what to do; `undefined` for a failure nobody foresaw. */
export function sentenceOf(error: unknown): string | undefined {
  if (error instanceof NotConnected) {
    return `${error.message}: start a server with 'svc start', or give its --url`;
  }
  if (error instanceof UnknownOutcome) {
    return `${error.message}; whether the request was carried out is not known`;
  }
  if (error instanceof ServerError) {
    if (error.status === 401) {
      return `${error.message}: check --user and SVC_PASSWORD or --password-file`;
    }
    return error.requestId === undefined
      ? error.message
      : `${error.message}, request ${error.requestId}`;
  }
  if (error instanceof CommandError || error instanceof Refusal) return error.message;
  return undefined;
}
