/**
 * GET `/prometheus`: the metric families of the server (monitoring/families.ts) as text for whoever
 * scrapes them. Source: docs/monitoring.md.
 */
import {clusterFamilies, clusterFigures} from '#server/cluster/metrics.ts';
import type {Figures, Sample} from '#server/monitoring/figures.ts';
import type {HttpContext} from '../context.ts';
import {authenticate} from '../message/authentication.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';

/** Outside the API, where scrapers look for it. */
export const scrapePath = '/prometheus';

const textType = 'text/plain; version=0.0.4; charset=utf-8';

/** @throws {PlainFailure} 401, 404 when it is switched off, 405. @throws {Refusal} `security.*`. */
export async function answerScrape(exchange: Exchange): Promise<void> {
  const {settings} = exchange.context;
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
  // Read when first asked for: a start has no need of it.
  const {scrapeText} = await import('#server/monitoring/metric-data.ts');
  exchange.answer(200, scrapeText(allFigures(exchange.context)), textType);
}

/** The families of every part of the server at this moment. */
export function allFigures(context: HttpContext): Figures {
  const {administration, options, timings} = context;
  const {cluster} = options;
  return {
    ...timings?.figures(),
    ...administration.figures(),
    ...connectionFigures(context),
    ...(cluster && clusterFamilies(clusterFigures(cluster.state()))),
  };
}

function connectionFigures({acceptors}: HttpContext): Figures {
  const byProtocol = (figure: 'open' | 'accepted' | 'refused'): Sample<number>[] =>
    Object.entries(acceptors).map(([protocol, {counts}]) => ({
      labels: [protocol],
      value: counts[figure],
    }));
  return {
    svc_network_connections_open: byProtocol('open'),
    svc_network_connections_total: byProtocol('accepted'),
    svc_network_connections_refused_total: byProtocol('refused'),
  };
}
