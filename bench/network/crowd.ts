/**
 * `make bench CLASS=crowd`: what others feel of a crowd at the door.
 *
 * Point reads of a few clients, alone and beside 5,000 connections that say nothing and 500 that
 * have sent half a head; how much memory the crowd takes, and whether all of it is gone by its
 * deadline. The same reads beside 32 clients who guess passwords without a pause, from one address
 * and from as many.
 */
import {connect, type Socket} from 'node:net';
import {startSvc} from '../peers/svc.ts';
import {measure, prepare, type Target} from '../peers/target.ts';
import {memoryOf, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';
import {guess} from './guessers.ts';

const database = 'bench';
const records = 10_000;
const idle = 5_000;
const halfOpen = 500;
const guessers = 32;
const atOnce = 100;
/** Long enough for the reads of all rounds beside the crowd. */
const patienceMillis = 60_000;
/** Clocks of connections are coarse: ticks of a second, and a look every five. */
const slackMillis = 20_000;
const memoryBytesMax = 64 * 2 ** 20;

export async function crowd(report: Report, options: BenchOptions): Promise<void> {
  const settings = {
    'svc.network.socketTimeout': patienceMillis,
    'svc.network.keepAliveTimeout': patienceMillis,
    // None of the crowd is closed for the next of it.
    'svc.network.maxPreAuthConnections': 2 * (idle + halfOpen),
  };
  // With all processors: guesses are checked on threads of their own.
  const svc = await startSvc({settings, pin: false});
  try {
    await prepare(svc, database, [
      'CREATE VERTEX TYPE Pt',
      'CREATE PROPERTY Pt.id LONG',
      'CREATE INDEX ON Pt (id) UNIQUE',
    ]);
    const lines = Array.from({length: records}, (_, id) => {
      return `{"@type":"v","@class":"Pt","id":${id}}\n`;
    });
    await svc.client.batch(database, lines.join(''));
    await warmUp(() => reads(svc, options), {secondsMin: 4, secondsMax: 12});
    for (const apart of [false, true]) await besideGuesses(svc, report, options, apart);
    await besideConnections(svc, report, options);
  } finally {
    await svc.dispose();
  }
}

function reads(target: Target, {seconds}: BenchOptions) {
  return measure(target, {
    path: `/api/v1/query/${database}`,
    before: '{"language":"sql","command":"SELECT FROM Pt WHERE id = :id","params":{"id":',
    after: '}}',
    numbers: {kind: 'random', count: records, seed: 7},
    clients: 4,
    millis: seconds * 1_000,
  });
}

/** The slowest hundredth of reads, in milliseconds, of each round. */
async function rounds(target: Target, options: BenchOptions): Promise<number[]> {
  const slow: number[] = [];
  for (let round = 0; round < Math.min(5, options.rounds); round += 1) {
    slow.push((await reads(target, options)).p99Millis);
  }
  return slow;
}

async function besideGuesses(
  svc: Target,
  report: Report,
  options: BenchOptions,
  apart: boolean,
): Promise<void> {
  const alone = await rounds(svc, options);
  const {host, port} = svc.address;
  const guessing = guess({url: `http://${host}:${port}`, guessers, apart});
  const beside = await rounds(svc, options);
  const answers = await guessing.end();
  report.add({
    class: 'crowd',
    point: `p99 beside ${guessers} who guess passwords${apart ? ' from as many addresses' : ''}`,
    unit: 'ms',
    ours: beside,
    peer: 'alone',
    theirs: alone,
    durability: 'reads',
    gate: {at: 'most', bound: 1.5},
    notes: {guesses: answers},
  });
}

async function besideConnections(
  svc: Target,
  report: Report,
  options: BenchOptions,
): Promise<void> {
  const alone = await rounds(svc, options);
  const before = memoryOf(svc.pid).resident;
  const openedAt = performance.now();
  const sockets = await openAll(svc);
  const beside = await rounds(svc, options);
  const taken = memoryOf(svc.pid).resident - before;
  const open = (): number => sockets.filter(socket => !socket.destroyed).length;
  const openWhenRead = open();
  const deadline = openedAt + patienceMillis + slackMillis;
  while (open() > 0 && performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 500));
  }
  const left = open();
  for (const socket of sockets) socket.destroy();
  const common = {class: 'crowd', durability: 'reads'};
  report.add({
    ...common,
    point: `p99 beside ${idle} idle and ${halfOpen} half-open connections`,
    unit: 'ms',
    ours: beside,
    peer: 'alone',
    theirs: alone,
    gate: {at: 'most', bound: 2},
    notes: {openWhenRead},
  });
  report.add({
    ...common,
    point: 'memory that they take',
    unit: 'MB',
    ours: [Math.max(0, taken) / 2 ** 20],
    peer: 'bound',
    theirs: [memoryBytesMax / 2 ** 20],
    gate: {at: 'most', bound: 1},
  });
  report.add({
    ...common,
    point: 'open behind their deadline',
    unit: 'connections',
    ours: [left],
    peer: 'none',
    theirs: [],
    gate: {at: 'most', bound: 0},
    notes: {closedAfterMillis: Math.round(performance.now() - openedAt)},
  });
}

async function openAll(svc: Target): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let at = 0; at < idle + halfOpen; at += atOnce) {
    const made = await Promise.all(Array.from({length: atOnce}, () => opened(svc)));
    sockets.push(...made);
  }
  for (const socket of sockets.slice(0, halfOpen)) {
    socket.write('POST /api/v1/query/bench HTTP/1.1\r\nHost: x\r\nAuthori');
  }
  return sockets;
}

function opened({address: {host, port}}: Target): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => resolve(socket));
    socket.on('error', reject);
    // What a server says to the impatient is read, so that its end is seen.
    socket.resume();
  });
}
