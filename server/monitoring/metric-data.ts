/**
 * Figures in the shape of OpenTelemetry, which its exporters take: the serializer of Prometheus'
 * text here, those that push elsewhere.
 *
 * The numbers are ours: instruments of the SDK would cost the paths that count. What is shared is
 * how they are written.
 */
import {type Attributes, type HrTime, ValueType} from '@opentelemetry/api';
import {PrometheusSerializer} from '@opentelemetry/exporter-prometheus';
import {emptyResource} from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import {boundsSeconds, DurationHistogram} from './duration-histogram.ts';
import {families, type Family, type FamilyName, familyNames} from './families.ts';
import type {Figures, Sample} from './figures.ts';

/** Milliseconds of the wall clock: since when counters count, and now. */
export interface Span {
  readonly startedAt: number;
  readonly now: number;
}

/** The families that have a value, in the order of the table. */
export function metricData(figures: Figures, span: Span): MetricData[] {
  return familyNames.flatMap(name => {
    const figure: Figures[FamilyName] = figures[name];
    if (figure === undefined) return [];
    const samples = Array.isArray(figure) ? figure : [{labels: [], value: figure}];
    return samples.length === 0 ? [] : [dataOf(name, samples as readonly Sample[], span)];
  });
}

const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);

/** Prometheus' text format 0.0.4: HELP, TYPE and one line a series for each family. */
export function scrapeText(figures: Figures): string {
  const metrics = metricData(figures, {startedAt: 0, now: 0});
  // Names carry their unit, and a line of UNIT belongs to another format.
  const unitless = metrics.map(metric => ({
    ...metric,
    descriptor: {...metric.descriptor, unit: ''},
  }));
  const scope = {name: 'svc'};
  return serializer.serialize({
    resource: emptyResource(),
    scopeMetrics: [{scope, metrics: unitless}],
  });
}

function dataOf(name: FamilyName, samples: readonly Sample[], span: Span): MetricData {
  const family: Family = families[name];
  const common = {
    descriptor: {name, description: family.help, unit: family.unit, valueType: ValueType.DOUBLE},
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = <Value>(valueOf: (sample: Sample) => Value): DataPoint<Value>[] =>
    samples.map(sample => ({
      startTime: timeOf(span.startedAt),
      endTime: timeOf(span.now),
      attributes: attributesOf(family, sample),
      value: valueOf(sample),
    }));
  switch (family.kind) {
    case 'histogram':
      return {...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: points(histogramOf)};
    case 'counter':
      return {
        ...common,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: points(numberOf),
      };
    default:
      return {...common, dataPointType: DataPointType.GAUGE, dataPoints: points(numberOf)};
  }
}

function attributesOf({labels}: Family, sample: Sample): Attributes {
  return Object.fromEntries(labels.map((label, at) => [label, sample.labels[at] ?? '']));
}

function numberOf({value}: Sample): number {
  return typeof value === 'number' ? value : value.count;
}

function histogramOf({value}: Sample): Histogram {
  const {counts, count, sumSeconds, maxSeconds} =
    value instanceof DurationHistogram ? value : new DurationHistogram();
  return {
    buckets: {boundaries: [...boundsSeconds], counts},
    count,
    sum: sumSeconds,
    max: maxSeconds,
  };
}

/** Milliseconds as seconds and nanoseconds. */
export function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
}
