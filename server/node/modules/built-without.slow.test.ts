/** A build without the module `mcp`: its routes are not there, and `svc version` says so. */
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {cpSync, rmSync, symlinkSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {test} from 'node:test';
import {Client} from '#server/client/client.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {rootPassword, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const repository = resolve(import.meta.dirname, '../../..');

test('a build without mcp answers 404 on both routes', async () => {
  const root = temporaryRoot('built-without');
  try {
    for (const part of ['server', 'bin', 'package.json']) {
      cpSync(join(repository, part), join(root, part), {recursive: true});
    }
    for (const part of ['node_modules', 'build']) {
      symlinkSync(join(repository, part), join(root, part));
    }
    const build =
      "import('./bin/build-bundle.mjs').then(({buildBundle}) => buildBundle(process.cwd()))";
    const environment = {...process.env, SVC_BUILD_WITHOUT: 'MCP'};
    execFileSync(process.execPath, ['-e', build], {cwd: root, env: environment});
    const svc = join(root, 'bin/svc');
    assert.match(execFileSync(svc, ['version'], {encoding: 'utf8'}), /^without module mcp$/m);

    const port = await freePort();
    const settings = [
      `svc.server.rootPath=${join(root, 'data')}`,
      'svc.server.httpIncomingHost=127.0.0.1',
      `svc.server.httpIncomingPort=${port}`,
    ];
    const child = spawn(svc, ['start', ...settings.flatMap(word => ['--set', word])], {
      env: {...process.env, SVC_SERVER_ROOTPASSWORD: rootPassword},
      stdio: 'ignore',
    });
    const ended = new Promise(settle => child.once('exit', settle));
    const credentials = {kind: 'basic', user: 'root', password: rootPassword} as const;
    const client = new Client({url: `http://127.0.0.1:${port}`, credentials});
    try {
      while (!(await client.ready())) assert.equal(child.exitCode, null, 'the server has ended');
      for (const path of ['/api/v1/mcp', '/api/v1/mcp/config']) {
        const got = await client.send({method: 'GET', path, again: true});
        const sent = await client.send({method: 'POST', path, body: '{}', again: false});
        assert.deepEqual([got.status, sent.status], [404, 404], path);
      }
    } finally {
      client.close();
      child.kill('SIGTERM');
      await ended;
    }
    const stdio = spawn(join(root, 'bin/mcp-stdio.sh'), [], {
      env: {
        ...process.env,
        SVC_SETTINGS: `-D${settings.join(' -D')} -Dsvc.server.rootPassword=${rootPassword}`,
      },
      stdio: 'ignore',
    });
    assert.equal(await new Promise(settle => stdio.once('exit', settle)), 1);
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});
