/** What a scraper gets, who may have it, and how it is switched off. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {leaderState} from '#server/testing/cluster/member-states.ts';
import {parseExposition, scrapedValue} from '#server/testing/metrics/exposition.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

const worlds: HttpWorld[] = [];
after(() => Promise.all(worlds.map(({server}) => server.close(0))));

const ofUser = {authorization: `Basic ${btoa('anna:anna-pass')}`};

async function scrape(
  settings: Readonly<Record<string, string | boolean>> = {},
  request: RequestInit = {headers: ofUser},
): Promise<{readonly status: number; readonly type: string | null; readonly text: string}> {
  const cluster = new MemoryCluster(leaderState());
  const world = await httpWorld(settings, undefined, {cluster});
  worlds.push(world);
  const answer = await fetch(`http://127.0.0.1:${world.port}/prometheus`, request);
  const {status, headers} = answer;
  return {status, type: headers.get('content-type'), text: await answer.text()};
}

test('the figures of a member, each with its type, once', async () => {
  const {status, type, text} = await scrape();
  assert.equal(status, 200);
  assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
  const scraped = parseExposition(text);
  assert.equal(scrapedValue(scraped, 'svc_ha_leader'), 1);
  assert.equal(scrapedValue(scraped, 'svc_ha_elections_total'), 1);
  const lag = 'svc_ha_follower_replication_lag';
  assert.equal(scrapedValue(scraped, lag, {peer: '127.0.0.1_2431'}), 0);
});

test('only the word false opens it to everybody', async () => {
  const setting = 'svc.serverMetrics.prometheus.requireAuthentication';
  assert.equal((await scrape({}, {})).status, 401);
  assert.equal((await scrape({[setting]: 'no'}, {})).status, 401);
  assert.equal((await scrape({[setting]: 'false'}, {})).status, 200);
});

test('another method, and metrics that are switched off, are refused', async () => {
  assert.equal((await scrape({}, {method: 'POST', headers: ofUser})).status, 405);
  assert.equal((await scrape({'svc.serverMetrics': false})).status, 404);
});

test('how long requests took, whichever way they came', async () => {
  const world = await httpWorld({});
  worlds.push(world);
  const ask = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const url = `http://127.0.0.1:${world.port}${path}`;
    const asked = {method: 'POST', headers: {...ofUser, ...headers}, body: JSON.stringify(body)};
    await (await fetch(url, asked)).arrayBuffer();
  };
  const answered = world.server.laneAnswers;
  await ask('/api/v1/query/db', {language: 'sql', command: 'rows 1'});
  await ask('/api/v1/query/db', {language: 'sql', command: 'rows 1'});
  await ask('/api/v1/query/db', {language: 'sql', command: 'fail commit.conflict'});
  assert.equal(world.server.laneAnswers, answered + 3, 'those are of the raw HTTP path');
  await ask('/api/v1/query/db', {language: 'sql', command: 'rows 1'}, {'x-request-id': 'mine'});
  await ask('/api/v1/query/other', {language: 'sql', command: 'rows 1'}, {'x-request-id': 'two'});
  await ask('/nowhere', {});
  const url = `http://127.0.0.1:${world.port}/prometheus`;
  const text = await (await fetch(url, {headers: ofUser})).text();
  assert.match(text, /^# TYPE svc_http_requests_seconds histogram$/m);
  const counts = [...text.matchAll(/^svc_http_requests_seconds_count\{(.*)\} (\d+)$/gm)];
  const query = 'method="POST",path="/api/v1/query/{database}"';
  assert.deepEqual(
    counts.map(([, labels, count]) => [labels, Number(count)]),
    [
      [`${query},status="200",db="db"`, 3],
      [`${query},status="403",db=""`, 1],
      [`${query},status="503",db=""`, 1],
      ['method="POST",path="unmatched",status="404",db=""', 1],
    ],
  );
});
