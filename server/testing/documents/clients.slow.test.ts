/** Runs the programs of docs/clients.md against a server, each where its language is installed. */
import assert from 'node:assert/strict';
import {execFile, execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {promisify} from 'node:util';
import {freePort} from '../worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '../worlds/server-process.ts';
import {blocksOf} from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/clients.md'), 'utf8');

/** What runs a block of a language, and the file that it is. */
const programs = [
  {language: 'sh', command: 'bash', needs: ['curl', '--version'], file: 'clients.sh'},
  {
    language: 'js',
    command: process.execPath,
    needs: [process.execPath, '--version'],
    file: 'clients.mjs',
  },
  {language: 'python', command: 'python3', needs: ['python3', '--version'], file: 'clients.py'},
  {language: 'java', command: 'java', needs: ['java', '-version'], file: 'Clients.java'},
] as const;

let server: ServerProcess | undefined;
before(async () => {
  server = await startServer({root: temporaryRoot('clients'), port: await freePort()});
});
after(async () => {
  await server?.dispose();
});

for (const {language, command, needs, file} of programs) {
  test(`the program in ${language} prints what it wrote`, {skip: missing(needs)}, async () => {
    assert.ok(server !== undefined);
    const blocks = blocksOf(page).filter(block => block.language === language);
    assert.equal(blocks.length, 1);
    const folder = join(server.root, language);
    mkdirSync(folder);
    const path = join(folder, file);
    writeFileSync(path, `${blocks[0]?.text ?? ''}\n`);
    const {stdout} = await promisify(execFile)(command, [path], {
      env: {...process.env, SVC_URL: server.url, SVC_PASSWORD: rootPassword},
      timeout: 60_000,
    });
    assert.equal(stdout, 'Bob\n37\n');
  });
}

function missing([command, argument]: readonly [string, string]): string | false {
  try {
    execFileSync(command, [argument], {stdio: 'ignore'});
    return false;
  } catch {
    return `${command} is not installed`;
  }
}
