/**
 * The module `mcp` of a real server: its configuration survives a start, follows the file, and can
 * be changed from the command line; a plugin that nobody knows stops the start.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  runSvc,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

test('the configuration is kept, follows its file, and is changed by svc mcp', async () => {
  const root = temporaryRoot('mcp-module');
  const port = await freePort();
  const path = join(root, 'config/mcp-config.json');
  const environment = {SVC_PASSWORD: rootPassword, SVC_URL: `http://127.0.0.1:${port}`};
  const svc = async (...words: string[]): Promise<Record<string, unknown>> => {
    const {code, out, error} = await runSvc(['mcp', 'config', ...words], environment);
    assert.equal(code, 0, error);
    return JSON.parse(out);
  };
  try {
    const first = await startServer({root, port, settings: {'svc.server.plugins': 'MCP:x.Y'}});
    assert.equal((await svc())['enabled'], false);
    const changed = await svc('enabled=true', 'databases.ghost={"allowReads":false}');
    assert.equal(changed['enabled'], true);
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).enabled, true);
    const bad = await runSvc(['mcp', 'config', 'allowReads=perhaps'], environment);
    assert.deepEqual([bad.code, bad.out], [1, '']);
    assert.match(bad.error, /'allowReads' must be a boolean/);

    writeFileSync(path, '{"enabled": true, "allowInsert": true}');
    while ((await svc())['allowInsert'] !== true);
    await first.stop();

    const second = await startServer({root, port});
    assert.deepEqual([(await svc())['enabled'], (await svc())['allowInsert']], [true, true]);
    writeFileSync(path, '{"enabled": 7');
    while (!/mcp\.configuration.*not valid JSON/.test(second.log)) await svc();
    assert.equal((await svc())['allowInsert'], true);
    await second.stop();
    assert(existsSync(path));

    const words = [
      'start',
      '--set',
      `svc.server.rootPath=${root}`,
      '--set',
      'svc.server.plugins=x',
    ];
    const refused = await runSvc(words, environment);
    assert.equal(refused.code, 1);
    assert.match(refused.error, /svc\.server\.plugins names 'x': this build has mcp, prometheus/);
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});

test('snippets name the endpoint and hold no secret', async () => {
  const environment = {SVC_URL: 'https://db.example:2490/', SVC_PASSWORD: rootPassword};
  for (const client of ['claude', 'cursor', 'vscode', 'windsurf']) {
    const {code, out, error} = await runSvc(['mcp', 'snippet', client], environment);
    assert.equal(code, 0);
    assert.match(JSON.stringify(JSON.parse(out)), /"https:\/\/db\.example:2490\/api\/v1\/mcp"/);
    assert.match(error, new RegExp(`^${client}: `));
    assert(!out.includes(rootPassword));
  }
  const {code, error} = await runSvc(['mcp', 'snippet', 'curser'], environment);
  assert.equal(code, 2);
  assert.match(error, /did you mean cursor\?/);
});
