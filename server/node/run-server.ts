/**
 * `svc start`: one server in the foreground, from its settings to a clean stop.
 *
 * Order: settings, password of the first start, engine, services, listener, then, on a terminal,
 * one line that says where it is. SIGINT and SIGTERM stop it in the reverse order: no new requests,
 * running ones end within their time, everything applied becomes durable, exit 0. A second signal
 * ends the process at once; nothing acknowledged is lost by that either. A start that is not over
 * is broken off by the first signal: it may wait for others without end, nothing was acknowledged,
 * and each of its steps survives a kill. Whoever calls this ends the process with the answer.
 */
import type {Input, Output} from '#server/commands/command.ts';
import {print} from '#server/commands/command.ts';
import {askHidden} from '#server/commands/hidden-prompt.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {Configuration} from './configuration.ts';
import {demoDatabase, demoQueries} from './demo.ts';
import {type RunningServer, startServer} from './start-server.ts';

export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Runs until it is told to stop; answers the exit code. */
export async function runServer(configuration: Configuration, streams: Streams): Promise<number> {
  const begun = await begin(configuration, streams);
  if (typeof begun === 'number') return begun;
  const {server, stop} = begun;
  // Elsewhere `server.ready` of the log says it, one object a line.
  if (streams.stdout.isTTY === true) await print(streams.stdout, greeting(server));
  const reason = await Promise.race([stop, server.ended]);
  await print(streams.stderr, `svc: stopping (${reason})\n`);
  await server.close();
  return server.failure === undefined ? 0 : 1;
}

/**
 * Runs a server whose standard input and output belong to an agent, which speaks for root. Only an
 * end of the input is a good one: then the answer is 0.
 */
export async function runAgentServer(
  configuration: Configuration,
  streams: Streams,
): Promise<number> {
  const {settings, refused} = configuration;
  if (refused.length === 0 && settings.get('svc.server.rootPassword') === '') {
    const says = 'an agent speaks for root: give its password as svc.server.rootPassword, such as';
    await print(streams.stderr, `svc: ${says} SVC_SETTINGS="-Dsvc.server.rootPassword=..."\n`);
    return 1;
  }
  const begun = await begin(configuration, streams);
  if (typeof begun === 'number') return 1;
  const {server, stop} = begun;
  const write = (line: string): Promise<void> => print(streams.stdout, line);
  const served = server
    .serveAgent({input: streams.stdin, write})
    .then(() => undefined)
    .catch(refusalMessage);
  const reason = await Promise.race([stop, server.ended, served]);
  if (reason !== undefined) await print(streams.stderr, `svc: stopping (${reason})\n`);
  await server.close();
  return reason === undefined && server.failure === undefined ? 0 : 1;
}

function refusalMessage(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  throw error;
}

interface Begun {
  readonly server: RunningServer;
  /** Resolves at the first signal to stop. */
  readonly stop: Promise<string>;
}

/** A server that is ready, or the exit code where there is none. */
async function begin(configuration: Configuration, streams: Streams): Promise<Begun | number> {
  const {settings, refused} = configuration;
  if (refused.length > 0) {
    for (const refusal of refused) await print(streams.stderr, `svc: ${refusal.message}\n`);
    return 1;
  }
  const stop = stopSignal();
  try {
    const starting = startServer(
      settings,
      {
        isTerminal: streams.stdin.isTTY === true && streams.stderr.isTTY === true,
        ask: question => askHidden(streams, question),
        tell: line => void streams.stderr.write(`${line}\n`),
      },
      configuration,
    );
    const started = await Promise.race([starting, stop]);
    if (typeof started !== 'string') return {server: started, stop};
    await print(streams.stderr, `svc: stopping (${started}): the start is broken off\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Corruption)) throw error;
    await print(streams.stderr, `svc: ${error.message}\n`);
    return 1;
  }
}

/** One requested to stop may arrive twice: from the terminal's group and passed on by a parent. */
const sameRequestMs = 1_000;

/** Resolves at the first SIGINT or SIGTERM; a later one ends the process. */
function stopSignal(): Promise<string> {
  return new Promise(resolve => {
    let askedAt: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        const now = performance.now();
        if (askedAt !== undefined && now - askedAt > sameRequestMs) process.exit(1);
        askedAt ??= now;
        resolve(signal);
      });
    }
  });
}

function greeting(server: RunningServer): string {
  const {secureUrl} = server;
  const places = secureUrl === undefined ? server.url : `${server.url} and ${secureUrl}`;
  const lines = [`Svc ${server.version} is ready at ${places}`];
  const password = server.rootPasswordPath;
  if (password !== '') lines.push(`The password of root lies in ${password}`);
  if (server.hasDemo) {
    const options = [
      server.isDefaultPort ? '' : ` --url ${server.url}`,
      password === '' ? '' : ` --password-file ${password}`,
    ].join('');
    lines.push('Try:');
    for (const {statement} of demoQueries) {
      lines.push(`  bin/svc query ${demoDatabase} ${shellQuoted(statement)}${options}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Quotes a text as one word of a POSIX shell. */
function shellQuoted(text: string): string {
  return text.includes("'") ? `"${text.replaceAll(/(["\\$`])/g, '\\$1')}"` : `'${text}'`;
}
