/**
 * What `svc.ha.stopServerOnReplicationFailure` does, seen on members whose log fails under their
 * feet: from some moment on the system lets them write no file beyond a size.
 */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, test} from 'node:test';
import type {Member} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {rootPassword} from '../worlds/server-process.ts';

const isThere = spawnSync('prlimit', ['--version']).error === undefined;
const skip = isThere ? false : 'prlimit is not installed';
const fileBytesMax = 512 << 10;
const key = 'svc.ha.stopServerOnReplicationFailure';

const [stops, stays] = isThere
  ? await Promise.all(
      [true, false].map(value => startSvcCluster({size: 1, settings: {[key]: value}})),
    )
  : [];
after(() => Promise.all([stops?.dispose(), stays?.dispose()]));

/** A request below `/api/v1` as root. */
function ask(member: Member, path: string, body: object): Promise<Response> {
  return fetch(`${member.url}/api/v1${path}`, {
    method: 'POST',
    headers: {authorization: `Basic ${btoa(`root:${rootPassword}`)}`},
    body: JSON.stringify(body),
  });
}

/** Writes to the only member until its log fails and it does not take a write. */
async function failLog(cluster: SvcCluster | undefined): Promise<Member> {
  const [member] = cluster?.members ?? [];
  assert.ok(member !== undefined);
  await ask(member, '/server', {command: 'create database db'});
  await ask(member, '/command/db', {language: 'sql', command: 'CREATE DOCUMENT TYPE Item'});
  const limit = ['--pid', String(member.process.pid), `--fsize=${fileBytesMax}`];
  assert.equal(spawnSync('prlimit', limit).status, 0);
  const command = 'INSERT INTO Item SET text = :text';
  const insert = {language: 'sql', command, params: {text: 'x'.repeat(100_000)}};
  try {
    while ((await ask(member, '/command/db', insert)).ok);
  } catch {
    // It ended in the middle of one.
  }
  return member;
}

test('a member whose log failed ends where it is told to', {skip}, async () => {
  const member = await failLog(stops);
  await eventually('it has ended', () => !member.process.isRunning);
  assert.doesNotMatch(member.process.log, /"cluster\.halted"/);
});

test('else it stays, says so, and answers reads', {skip}, async () => {
  const member = await failLog(stays);
  await eventually('it says so', () => /"cluster\.halted"/.test(member.process.log));
  const count = {language: 'sql', command: 'SELECT count(*) AS n FROM Item'};
  const answer = await ask(member, '/query/db', count);
  assert.equal(answer.status, 200);
  const {result} = (await answer.json()) as {readonly result: readonly {readonly n: number}[]};
  assert.ok((result[0]?.n ?? 0) > 0);
  assert.ok(member.process.isRunning);
});
