/** Figures as text: of the format, with every family explained, and its labels as they are. */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {test} from 'node:test';
import {parseExposition, scrapedValue} from '#server/testing/metrics/exposition.ts';
import {DurationHistogram} from './duration-histogram.ts';
import {families, type Family, type FamilyName, familyNames} from './families.ts';
import type {Figures, Sample} from './figures.ts';
import {metricData, scrapeText} from './metric-data.ts';

/** A value for each family of the table, two series where it has labels. */
function everything(): Figures {
  const entries = familyNames.map(name => {
    const {kind, labels}: Family = families[name];
    const value = (): number | DurationHistogram => {
      if (kind !== 'histogram') return 7;
      const histogram = new DurationHistogram();
      for (const ms of [0.05, 3, 60_000]) histogram.add(ms);
      return histogram;
    };
    if (labels.length === 0) return [name, value()];
    const series = (word: string): Sample => ({labels: labels.map(() => word), value: value()});
    return [name, [series('one'), series('a"b\\c\nd')]];
  });
  return Object.fromEntries(entries) as Figures;
}

test('every family is told with its help, its type and its labels', () => {
  const scraped = parseExposition(scrapeText(everything()));
  assert.deepEqual([...scraped.keys()], [...familyNames]);
  for (const name of familyNames) {
    const {kind, help, labels}: Family = families[name];
    const family = scraped.get(name);
    assert.deepEqual([family?.type, family?.help], [kind, help]);
    for (const sample of family?.samples ?? []) {
      const {le: _, ...own} = sample.labels;
      assert.deepEqual(Object.keys(own), [...labels], name);
    }
  }
});

test('a label is what it is called, whatever stands in it', () => {
  const peer = 'a"b\\c\nd';
  const figures = {svc_ha_follower_replication_lag: [{labels: [peer], value: 2}]};
  const scraped = parseExposition(scrapeText(figures));
  assert.equal(scrapedValue(scraped, 'svc_ha_follower_replication_lag', {peer}), 2);
});

test('a figure that nobody tells, and a family without a series, are left out', () => {
  const scraped = parseExposition(scrapeText({svc_ha_term: 3, svc_http_requests_seconds: []}));
  assert.deepEqual([...scraped.keys()], ['svc_ha_term']);
});

test('buckets hold what is at most their bound, those before them too', () => {
  const histogram = new DurationHistogram();
  for (const ms of [0.05, 0.1, 3, 250, 60_000]) histogram.add(ms);
  const labels = ['GET', '/api/v1/server', '200', ''];
  const text = scrapeText({svc_http_requests_seconds: [{labels, value: histogram}]});
  const scraped = parseExposition(text);
  const bucket = (le: string) => scrapedValue(scraped, 'svc_http_requests_seconds_bucket', {le});
  assert.deepEqual(
    ['0.0001', '0.0025', '0.005', '0.1', '0.25', '10', '+Inf'].map(bucket),
    [2, 2, 3, 3, 4, 4, 5],
  );
  assert.equal(scrapedValue(scraped, 'svc_http_requests_seconds_sum'), 60.25315);
  assert.equal(scrapedValue(scraped, 'svc_http_requests_seconds_count'), 5);
});

test('counters say since when they count', () => {
  const span = {startedAt: 1_500, now: 2_250};
  const [data] = metricData({svc_engine_queries_total: 4}, span);
  const [point] = data?.dataPoints ?? [];
  assert.deepEqual(point?.startTime, [1, 500_000_000]);
  assert.deepEqual(point?.endTime, [2, 250_000_000]);
});

test("names follow Prometheus' habits", () => {
  for (const name of familyNames) {
    const {kind, labels}: Family = families[name];
    assert.match(name, /^svc_[a-z0-9]+(_[a-z0-9]+)*$/);
    assert.equal(kind === 'counter', name.endsWith('_total'), name);
    for (const label of labels) assert.ok(label !== 'le' && /^[a-z_]+$/.test(label), label);
    const known: readonly FamilyName[] = familyNames;
    assert.equal(known.filter(other => other === name).length, 1);
  }
});

test('promtool finds nothing that the format forbids', context => {
  const {status, stdout, stderr, error} = spawnSync('promtool', ['check', 'metrics'], {
    input: scrapeText(everything()),
    encoding: 'utf8',
  });
  if (error !== undefined) return context.skip('promtool is not installed');
  // Habits that names of the reference do not keep (`_perc`, `_ms`) are warned of with status 3.
  assert.ok(status === 0 || status === 3, `${stdout}${stderr}`);
  assert.doesNotMatch(`${stdout}${stderr}`, /error|no help text|no type/i);
});
