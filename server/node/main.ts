/**
 * The entry point of `svc`: ties the process to the command line.
 *
 * The server itself is imported when `svc start` asks for it, so that the other commands answer
 * at once.
 */
import {setFlagsFromString} from 'node:v8';
import {readConfiguration} from './configuration.ts';
import {builtWithout} from './modules/optional-modules.ts';
import {formatsOf} from '#server/engine/formats/levels.ts';
import {version} from './version.ts';
import {runCommandLine} from '#server/commands/command-line.ts';
import type {StartOptions} from '#server/commands/command.ts';

/** The level that this build writes, and those that it reads. */
function databaseFormats(): {readonly reads: string; readonly writes: string} {
  const {level} = formatsOf(version);
  const writes = String(level);
  return {reads: level === 1 ? writes : `${level - 1} and ${level}`, writes};
}

/** The server itself is imported here, and the process ends with it. */
async function start(options: StartOptions, duty: 'runServer' | 'runAgentServer'): Promise<number> {
  // What the server writes holds hashes of passwords and all data: nobody else reads it.
  process.umask(0o077);
  // Of this thread alone (bin/svc): others start from here, and have less to keep.
  setFlagsFromString('--initial-old-space-size=0');
  const run = (await import('./run-server.ts'))[duty];
  const code = await run(readConfiguration(options, process.env), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
  });
  // What a start that was refused or broken off had begun must not keep the process.
  process.exit(code);
}

// Whoever reads the answer of a command may stop early (`svc query ... | head`).
if (process.argv[2] !== 'start') {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(1);
  });
}

process.exitCode = await runCommandLine({
  argv: process.argv.slice(2),
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  about: {
    version,
    runtime: `Node.js ${process.version}`,
    formats: {database: databaseFormats(), log: {reads: '1', writes: '1'}},
    without: builtWithout,
  },
  start: options => start(options, 'runServer'),
  startForAgent: options => start(options, 'runAgentServer'),
  settings: options => {
    const {settings, refused} = readConfiguration(options, process.env);
    const [first] = refused;
    if (first !== undefined) throw first;
    return settings.report();
  },
});
