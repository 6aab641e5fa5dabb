/**
 * Whatever a client of such servers may ask for and is not here, the answer names it: every route,
 * server command and setting of the recorded lists.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {httpWorld} from '../worlds/http-world.ts';
import {sharedFolder} from './conformance.ts';

const folder = join(sharedFolder(), 'conformance/http-transcripts');
const skip = existsSync(folder) ? false : 'the lists are not here: set SVC_SHARED';

interface Recorded {
  readonly request: {readonly p: string; readonly b?: {readonly command?: unknown} | null};
  readonly answer: {readonly body?: {readonly error?: unknown} | null};
}

function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

test('every route answers, or is named by what it is not', {skip}, async () => {
  const {paths} = JSON.parse(read('openapi.json')) as {readonly paths: Record<string, object>};
  const world = await httpWorld();
  const unnamed: string[] = [];
  try {
    for (const [path, operations] of Object.entries(paths)) {
      const filled = path.replace('{database}', 'db').replaceAll(/\{\w+\}/g, 'x');
      for (const word of Object.keys(operations)) {
        const method = word.toUpperCase();
        const body = ['POST', 'PUT', 'PATCH'].includes(method) ? {body: {}} : {};
        const {status, text} = await world.call(`/${filled}`, {method, ...body});
        const isKnown = ![404, 405, 501].includes(status) || text.includes('not found');
        if (!isKnown && !text.includes(filled))
          unnamed.push(`${method} ${path}: ${status} ${text}`);
      }
    }
  } finally {
    await world.server.close(0);
  }
  assert.deepEqual(unnamed, []);
});

const notValid = 'Server command not valid';

test('every server command is known, or named by what it is not', {skip}, async () => {
  const commands = new Set<string>();
  for (const line of read('http.jsonl').split('\n').filter(Boolean)) {
    const {request, answer} = JSON.parse(line) as Recorded;
    const {command} = request.b ?? {};
    const isCommand = request.p.endsWith('/server') && typeof command === 'string';
    if (isCommand && answer.body?.error !== notValid && command !== 'shutdown') {
      commands.add(command);
    }
  }
  const world = await httpWorld();
  const unnamed: string[] = [];
  try {
    for (const command of commands) {
      const {status, text} = await world.call('/server', {body: {command}});
      const [, named = ''] = command.split(' ');
      const isBare = text.includes(notValid) && !text.includes('detail');
      // The world has no backups and no exchange.
      const isNamed = text.includes(named.replace(/s$/, '')) || text.includes('this server');
      if (isBare || (status === 501 && !isNamed)) unnamed.push(`${command}: ${status} ${text}`);
    }
  } finally {
    await world.server.close(0);
  }
  assert.ok(commands.size > 60);
  assert.deepEqual(unnamed, []);
});

test('every setting is taken, or refused by its name', {skip}, () => {
  const listed = JSON.parse(read('settings.json')) as unknown;
  const rows = (Array.isArray(listed) ? listed : Object.values(listed as object)[0]) as readonly {
    readonly key: string;
  }[];
  const unnamed: string[] = [];
  for (const {key} of rows) {
    const own = key.replace(/^[^.]+/, 'svc');
    const {refused} = resolveSettings([{name: 'test', values: {[own]: 'no such value'}}]);
    if (!refused.every(({message}) => message.includes(own))) unnamed.push(own);
  }
  assert.ok(rows.length > 200);
  assert.deepEqual(unnamed, []);
});
