/**
 * `make cluster`: three servers that form one cluster, in the foreground, with their data under
 * the folder that is given, so that the next start finds everything again. Ctrl-C stops them all.
 *
 * Usage: foreground.ts FOLDER PASSWORD-FILE. SIZE=5 starts five. Ports count up from those of a
 * single server.
 */
import {mkdirSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {untilLed} from './cluster-system.ts';
import {startSvcCluster, type SvcCluster} from './svc-cluster.ts';

const firstHttpPort = 2480;
const firstRaftPort = 2434;
const sampleDatabase = 'demo';
const readyPollMillis = 100;
const sampleMillisMax = 30_000;

async function main(folder: string, passwordFile: string): Promise<void> {
  const size = Number(process.env['SIZE'] || 3);
  mkdirSync(folder, {recursive: true});
  const cluster = await startSvcCluster({
    size,
    folder,
    password: readFileSync(passwordFile, 'utf8').trim(),
    settings: {'svc.server.sampleDatabase': sampleDatabase},
    addresses: Array.from({length: size}, (_, index) => ({
      host: '127.0.0.1',
      raftPort: firstRaftPort + index,
      httpPort: firstHttpPort + index,
    })),
  });
  process.once('SIGINT', () => void stop(cluster));
  process.once('SIGTERM', () => void stop(cluster));
  const leader = await untilLed(cluster);
  await untilSampled(cluster);
  const file = `--password-file ${relative('.', passwordFile)}`;
  const [first, ...others] = cluster.members.map(({url}) => url);
  process.stdout.write(
    `${cluster.members.map(({name, url}) => `  ${name}  ${url}\n`).join('')}` +
      `${leader.name} leads; the data is in ${folder}, the logs in ${join(folder, 'svc_*.log')}\n` +
      'Who leads, and how the others do; a write at any member; a read at another:\n' +
      `  bin/svc cluster status ${file}\n` +
      `  bin/svc query ${sampleDatabase} "INSERT INTO Artist SET name = 'Ada'" ` +
      `--url ${others[0]} ${file}\n` +
      `  bin/svc query ${sampleDatabase} "SELECT count(*) FROM Artist" ` +
      `--url ${others[1] ?? first} ${file}\n` +
      'Ctrl-C stops all.\n',
  );
}

/** The sample is made by the first leader; a later start finds it. */
async function untilSampled(cluster: SvcCluster): Promise<void> {
  const [member] = cluster.members;
  if (member === undefined) return;
  const client = cluster.client(member);
  const deadline = performance.now() + sampleMillisMax;
  while (!(await client.databases()).includes(sampleDatabase) && performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, readyPollMillis));
  }
  client.close();
}

async function stop(cluster: SvcCluster): Promise<void> {
  process.stdout.write('stopping\n');
  await Promise.all(cluster.members.map(({process: member}) => member.stop()));
  await cluster.dispose(true);
}

const [folder, passwordFile] = process.argv.slice(2);
if (folder === undefined || passwordFile === undefined) {
  process.stderr.write('usage: foreground.ts FOLDER PASSWORD-FILE\n');
  process.exitCode = 2;
} else await main(folder, passwordFile);
