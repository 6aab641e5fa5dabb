/**
 * GET `/prometheus`: the figures of the server as text for whoever scrapes them, one line each.
 *
 * What `GET /server?mode=default` shows as `metrics`, under names that a scraper can tell apart:
 * `svc_engine_*` of the stores and statements, `svc_ha_*` of the cluster; behind them how long
 * requests took (request-timings.ts). A figure that is not known is left out or -1, never 0.
 * Source: docs/http.md.
 */
import {clusterFigures} from '#server/cluster/metrics.ts';
import {authenticate} from '../message/authentication.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';

/** Outside the API, where scrapers look for it. */
export const scrapePath = '/prometheus';

const textType = 'text/plain; version=0.0.4; charset=utf-8';
/** By the name of the value in a group of figures. */
const units: Readonly<Record<string, string>> = {count: '', space: '_bytes', perc: ''};

/** A number, or numbers by the peer that they are of. */
type Figure = number | Readonly<Record<string, number>>;

/** @throws {PlainFailure} 401, 404 when it is switched off, 405. @throws {Refusal} `security.*`. */
export async function answerScrape(exchange: Exchange): Promise<void> {
  const {settings, administration, options} = exchange.context;
  const {method} = exchange.request;
  if (!settings.get('svc.serverMetrics')) {
    throw new PlainFailure(404, 'Not Found', {detail: 'svc.serverMetrics is false'});
  }
  if (method !== 'GET' && method !== 'HEAD') {
    throw new PlainFailure(405, 'Method Not Allowed', {headers: ['Allow', 'GET, HEAD']});
  }
  if (settings.get('svc.serverMetrics.prometheus.requireAuthentication') !== 'false') {
    await authenticate(exchange);
  }
  const {profiler, events} = administration.metrics();
  const ha = options.cluster && clusterFigures(options.cluster.state());
  const figures = {...engineFigures(profiler), ...eventFigures(events), ...ha};
  const {timings} = exchange.context;
  exchange.answer(200, `${scrapeText(figures)}${timings?.text() ?? ''}`, textType);
}

/** One line of type and one or more of values for each figure, in the order of names. */
export function scrapeText(figures: Readonly<Record<string, Figure>>): string {
  const lines: string[] = [];
  for (const [name, figure] of Object.entries(figures).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    lines.push(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`);
    if (typeof figure === 'number') lines.push(`${name} ${figure}`);
    else {
      for (const [peer, value] of Object.entries(figure)) {
        lines.push(`${name}{peer="${escaped(peer)}"} ${value}`);
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

/** `{diskFreeSpace: {space: 7}}` is `svc_engine_disk_free_space_bytes 7`; texts are no figures. */
function engineFigures(group: unknown): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [name, value] of entriesOf(group)) {
    for (const [unit, number] of entriesOf(value)) {
      const suffix = units[unit];
      if (suffix === undefined || typeof number !== 'number') continue;
      figures[`svc_engine_${snakeCase(name)}${suffix}`] = number;
    }
  }
  return figures;
}

function eventFigures(group: unknown): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [kind, count] of entriesOf(group)) {
    if (typeof count === 'number') figures[`svc_events_${snakeCase(kind)}`] = count;
  }
  return figures;
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

function escaped(label: string): string {
  return label.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
}
