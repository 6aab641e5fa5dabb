/** Documents that are written into their files while the server runs, on a clock by hand. */
import assert from 'node:assert/strict';
import {rmSync, utimesSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {watchDocuments} from './written-documents.ts';

const groups = 'server-groups.json';

test('a file that differs is taken once it rests; what the log says is passed over', async () => {
  const directory = temporaryRoot('written-documents');
  closing({close: () => rmSync(directory, {recursive: true, force: true})});
  const timers = new ManualTimers();
  const kept = new Map([[groups, Buffer.from('first')]]);
  const taken: string[] = [];
  const logged: string[] = [];
  const path = join(directory, groups);
  let writes = 0;
  const write = (text: string): void => {
    writes += 1;
    writeFileSync(path, text);
    utimesSync(path, writes, writes);
  };
  write('first');
  const end = watchDocuments({
    configDirectory: directory,
    names: [groups],
    kept: name => kept.get(name),
    adopt: async (name, bytes) => {
      if (String(bytes) === 'damaged') throw new Error(`line 7 of ${name}`);
      taken.push(`${name} ${String(bytes)}`);
      kept.set(name, Buffer.from(bytes));
    },
    timers,
    event: 'document',
    logger: {
      log: (_level, event, fields) => {
        const reason = fields?.['reason'];
        logged.push(typeof reason === 'string' ? `${event} ${reason}` : event);
      },
    },
  });
  const pass = async (ms: number): Promise<void> => {
    timers.advance(ms);
    await new Promise(resolve => setImmediate(resolve));
  };
  await pass(4_000);
  assert.deepEqual(taken, [], 'nothing was written');
  write('half');
  await pass(2_000);
  write('whole');
  await pass(250);
  assert.deepEqual(taken, [], 'it was written again meanwhile');
  await pass(250);
  assert.deepEqual(taken, [`${groups} whole`]);
  // What the log says is written into the file as well.
  kept.set(groups, Buffer.from('by a command'));
  write('by a command');
  await pass(3_000);
  rmSync(path);
  await pass(3_000);
  assert.deepEqual(taken.splice(0), [`${groups} whole`]);
  assert.deepEqual(logged.splice(0), ['document.taken']);
  write('damaged');
  await pass(3_000);
  assert.deepEqual(logged.splice(0), [`document.refused line 7 of ${groups}`]);
  write('mended');
  await pass(3_000);
  assert.deepEqual(taken, [`${groups} mended`]);
  end();
  write('later');
  await pass(10_000);
  assert.deepEqual(taken, [`${groups} mended`]);
});
