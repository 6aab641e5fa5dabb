/**
 * A real Prometheus scrapes a server that works: every scrape is taken, and the counters are those
 * of the client. Skipped where the Debian package `prometheus` is not installed. `make promtool`
 * runs it for a minute; it is a few seconds long in `make test`.
 */
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {AskedServer} from '#server/testing/settings/asked-server.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

const isThere = spawnSync('prometheus', ['--version']).error === undefined;
const skip = isThere ? false : 'prometheus is not installed';
const seconds = Number(process.env['SECONDS'] || 5);
const clients = 4;

/** The value of an expression that has one series; NaN for none. */
async function valueOf(port: number, expression: string): Promise<number> {
  const query = encodeURIComponent(expression);
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${query}`);
  const {data} = (await answer.json()) as {
    readonly data: {readonly result: readonly {readonly value: readonly [number, string]}[]};
  };
  return Number(data.result[0]?.value[1]);
}

/** Statements that were carried out, by clients that ask until the time is over. */
async function load(server: AskedServer): Promise<{commands: number; queries: number}> {
  const counts = {commands: 0, queries: 0};
  const end = performance.now() + seconds * 1_000;
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      assert.equal((await server.run('INSERT INTO Item SET n = 1')).status, 200);
      counts.commands += 1;
      assert.equal((await server.query('SELECT 1 AS n')).status, 200);
      counts.queries += 1;
    }
  };
  await Promise.all(Array.from({length: clients}, work));
  return counts;
}

/** Runs a Prometheus that scrapes the server each second, as a user of its own password. */
async function withPrometheus(
  server: AskedServer,
  work: (port: number) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const folder = join(server.process.root, 'prometheus');
  mkdirSync(folder);
  const configuration = {
    global: {scrape_interval: '1s'},
    scrape_configs: [
      {
        job_name: 'svc',
        metrics_path: '/prometheus',
        basic_auth: {username: 'root', password: rootPassword},
        static_configs: [{targets: [new URL(server.process.url).host]}],
      },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(configuration));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    {stdio: 'ignore'},
  );
  try {
    await eventually('a first scrape', async () => (await valueOf(port, 'up')) === 1);
    await work(port);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

test('a real Prometheus counts what the client did', {skip, timeout: 240_000}, async t => {
  const server = await AskedServer.start();
  try {
    await server.rows('CREATE DOCUMENT TYPE Item');
    await withPrometheus(server, async port => {
      const {commands, queries} = await load(server);
      const counted = (type: string): Promise<number> =>
        valueOf(port, `sum(svc_query_duration_seconds_count{type="${type}",db="db"})`);
      await eventually('the last scrape', async () => (await counted('query')) === queries);
      // One command made the type.
      assert.equal(await counted('command'), commands + 1);
      const over = `[${seconds + 60}s]`;
      const scrapes = await valueOf(port, `count_over_time(up${over})`);
      assert.equal(await valueOf(port, `sum_over_time(up${over})`), scrapes);
      const samples = await valueOf(port, 'scrape_samples_scraped');
      t.diagnostic(`${commands} commands, ${queries} queries, ${scrapes} scrapes of ${samples}`);
    });
  } finally {
    await server.dispose();
  }
});
