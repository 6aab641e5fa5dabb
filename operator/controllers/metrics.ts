/**
 * The metrics of the operator, in Prometheus' text: passes, the queue, informers, and the
 * conditions of every cluster, which alerts are made from.
 *
 * Names and labels are kept once released; docs/kubernetes/operator.md lists them.
 */
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Attributes} from '@opentelemetry/api';
import {PrometheusExporter} from '@opentelemetry/exporter-prometheus';
import {MeterProvider} from '@opentelemetry/sdk-metrics';
import type {ClusterStatus} from '#operator/api/cluster-status.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import type {Figures} from './figures.ts';
import type {Operator} from './operator.ts';

export interface Metrics extends Figures {
  /** Answers `/metrics`. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Makes the gauges speak of this operator from now on. */
  observe(operator: Operator): void;
}

const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120];

export function createMetrics(): Metrics {
  const exporter = new PrometheusExporter({preventServerStart: true});
  const meter = new MeterProvider({readers: [exporter]}).getMeter('svc-operator');
  const passes = meter.createCounter('svc_operator_reconcile', {
    description: 'Passes over a resource, by kind and outcome.',
  });
  const seconds = meter.createHistogram('svc_operator_reconcile_seconds', {
    description: 'How long passes took.',
    advice: {explicitBucketBoundaries: SECONDS},
  });
  let operator: Operator | undefined;
  const gauge = (
    name: string,
    description: string,
    values: (of: Operator) => Iterable<readonly [number, Attributes]>,
  ): void => {
    meter.createObservableGauge(name, {description}).addCallback(result => {
      if (operator === undefined) return;
      for (const [value, attributes] of values(operator)) result.observe(value, attributes);
    });
  };
  gauge('svc_operator_leader', 'Whether this operator is the one that acts.', of => [
    [of.isLeading ? 1 : 0, {}],
  ]);
  gauge('svc_operator_workqueue_depth', 'Keys that wait for a worker.', of => [
    [of.queueFigures.depth, {}],
  ]);
  gauge('svc_operator_workqueue_unfinished', 'Keys that are worked on.', of => [
    [of.queueFigures.unfinished, {}],
  ]);
  gauge('svc_operator_workqueue_adds', 'Keys that were added since the start.', of => [
    [of.queueFigures.adds, {}],
  ]);
  gauge('svc_operator_workqueue_retries', 'Keys that came again after a failure.', of => [
    [of.queueFigures.retries, {}],
  ]);
  gauge('svc_operator_informer_failures', 'Lists and watches that failed.', of => [
    [of.store.informers().reduce((sum, informer) => sum + informer.figures.failures, 0), {}],
  ]);
  gauge('svc_operator_informer_objects', 'Objects that are held in memory.', of => [
    [of.store.informers().reduce((sum, informer) => sum + informer.figures.objects, 0), {}],
  ]);
  gauge('svc_operator_cluster_condition', 'Conditions of clusters: 1 where true.', conditions);
  gauge('svc_operator_cluster_members', 'Members of clusters by what is said of them.', members);
  return {
    reconciled(work, outcome, ms) {
      passes.add(1, {controller: work, outcome});
      seconds.record(ms / 1_000, {controller: work});
    },
    answer: (request, response) => exporter.getMetricsRequestHandler(request, response),
    observe: of => void (operator = of),
  };
}

function* clustersOf(
  operator: Operator,
): Iterable<readonly [SvcCluster['spec'], ClusterStatus, Attributes]> {
  for (const object of operator.store.all(kinds.cluster)) {
    const {namespace = '', name} = object.metadata;
    const status = (object.status ?? {}) as unknown as ClusterStatus;
    const spec = (object.spec ?? {}) as unknown as SvcCluster['spec'];
    yield [spec, status, {namespace, name}];
  }
}

function* conditions(operator: Operator): Iterable<readonly [number, Attributes]> {
  for (const [, status, cluster] of clustersOf(operator)) {
    for (const {type, status: is, reason} of status.conditions ?? []) {
      yield [is === 'True' ? 1 : 0, {...cluster, type, reason}];
    }
  }
}

function* members(operator: Operator): Iterable<readonly [number, Attributes]> {
  for (const [spec, status, cluster] of clustersOf(operator)) {
    yield [spec.replicas, {...cluster, state: 'wanted'}];
    yield [status.readyReplicas ?? 0, {...cluster, state: 'ready'}];
    yield [status.voters ?? 0, {...cluster, state: 'voting'}];
  }
}
