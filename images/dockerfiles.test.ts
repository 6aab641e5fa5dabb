/** The Dockerfiles describe the images of the table, each instruction of them. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {imageTable} from './image-table.ts';
import {userId} from './runtime-files.ts';

const root = join(import.meta.dirname, '..');

for (const {name, config} of imageTable) {
  test(`images/${name}.Dockerfile says what the table says`, () => {
    const text = readFileSync(join(root, `images/${name}.Dockerfile`), 'utf8');
    const last = text.slice(text.indexOf('FROM scratch'));
    const said = (instruction: string): string | undefined =>
      new RegExp(`^${instruction} (.+)$`, 'm').exec(last)?.[1];
    const list = (instruction: string): unknown => JSON.parse(said(instruction) ?? '[]');
    const {entrypoint, cmd, env, ports, volumes, workingDir} = config;
    assert.deepEqual(list('ENTRYPOINT'), entrypoint);
    assert.deepEqual(list('CMD'), cmd);
    assert.deepEqual(list('VOLUME'), volumes);
    assert.equal(said('EXPOSE') ?? '', ports.join(' '));
    const pairs = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    assert.equal(said('ENV') ?? '', pairs.join(' '));
    assert.equal(said('WORKDIR'), workingDir);
    assert.equal(said('USER'), `${userId}:${userId}`);
    assert.equal(said('STOPSIGNAL'), 'SIGTERM');
  });
}
