/**
 * Recall of the ten nearest at the defaults, against comparing all: 100,000 clustered vectors of
 * 128 dimensions, and 10,000 handwritten digits; each similarity with NONE and INT8, COSINE with
 * the others; then filtered, and after half has changed. `ONLY=EUCLIDEAN-INT8` takes one of them,
 * `ONLY=digits` the digits alone.
 */
import {
  type DenseOptions,
  DenseVectors,
  exactDistance,
  type Quantization,
  type Similarity,
} from '#server/indexes/dense-vectors.ts';
import {denseOptionsOf} from '#server/catalog/vector-options.ts';
import {clusteredVectors, nearestOf} from '#server/indexes/vector/testing-vectors.ts';
import {Rid} from '#server/model/value.ts';
import type {Report} from '../report.ts';
import {digitDimensions, handwrittenDigits} from './digits.ts';
import type {BenchOptions} from '../bench-options.ts';

const dimensions = 128;
const k = 10;
const questions = 100;
const vectorsMax = 100_000;

const kinds: readonly (readonly [Similarity, Quantization])[] = [
  ['COSINE', 'NONE'],
  ['COSINE', 'INT8'],
  ['EUCLIDEAN', 'NONE'],
  ['EUCLIDEAN', 'INT8'],
  ['DOT_PRODUCT', 'NONE'],
  ['DOT_PRODUCT', 'INT8'],
  ['COSINE', 'PRODUCT'],
  ['COSINE', 'BINARY'],
];

export async function denseRecall(report: Report, {megabytes}: BenchOptions): Promise<void> {
  const count = Math.min(vectorsMax, Math.floor((megabytes * 1e6) / (4 * dimensions)));
  const only = process.env['ONLY'] ?? '';
  for (const [similarity, quantization] of kinds) {
    const name = `${similarity}-${quantization}`;
    if (only !== '' && only !== name) continue;
    const {next} = clusteredVectors(11, {dimensions, clusters: 1_000, spread: 0.8});
    const given = denseOptionsOf({options: new Map([['dimensions', dimensions]])});
    new Collection({...given, similarity, quantization}, count, next).measure(report, name);
  }
  if (only === '' || only === 'digits') await digitRecall(report);
}

/** Real vectors, that come in an order of chance; the last of them are the questions. */
async function digitRecall(report: Report): Promise<void> {
  const digits = await handwrittenDigits();
  for (const [similarity, quantization] of kinds) {
    if (similarity === 'COSINE' && quantization !== 'NONE' && quantization !== 'INT8') continue;
    let at = 0;
    const next = (): Float32Array => digits[at++] as Float32Array;
    const given = denseOptionsOf({options: new Map([['dimensions', digitDimensions]])});
    const count = digits.length - questions;
    const options = {...given, similarity, quantization};
    new Collection(options, count, next).measureOnce(
      report,
      `digits ${similarity}-${quantization}`,
    );
  }
}

class Collection {
  readonly #index: DenseVectors;
  readonly #options: DenseOptions;
  readonly #vectors = new Map<number, Float32Array>();
  readonly #next: () => Float32Array;
  readonly #count: number;

  constructor(options: DenseOptions, count: number, next: () => Float32Array) {
    this.#options = options;
    this.#count = count;
    this.#index = new DenseVectors(options);
    this.#next = next;
    for (let position = 0; position < count; position += 1) this.#put(position);
  }

  /** Answers the recall of what has come first. */
  measureOnce(report: Report, name: string): number {
    const startedAt = performance.now();
    this.#settle();
    const perSecond = (this.#count * 1_000) / (performance.now() - startedAt);
    report.say(
      `${name}: ${this.#count} vectors, linked ${Math.round(perSecond)} a second, ` +
        `${Math.round(this.#index.byteLength / 1e6)} MB`,
    );
    const fresh = this.#recall();
    // Codes of a bit an element are for vectors of models made for them: printed, not bounded.
    const isBounded = this.#options.quantization !== 'BINARY';
    this.#add(report, `${name} fresh`, fresh, isBounded ? 0.95 : 0);
    return fresh;
  }

  measure(report: Report, name: string): void {
    const fresh = this.measureOnce(report, name);
    if (this.#options.similarity !== 'COSINE' || this.#options.quantization !== 'NONE') return;
    for (const percent of [50, 10, 1, 0.1]) {
      const step = Math.round(100 / percent);
      const among = new Map([...this.#vectors].filter(([at]) => at % step === 0));
      this.#add(report, `${name} among ${percent} %`, this.#recall(among));
    }
    this.#churn();
    this.#add(report, `${name} after half has changed`, this.#recall(), fresh - 0.01);
  }

  #put(position: number): void {
    const vector = this.#next();
    this.#vectors.set(position, vector);
    if (!this.#index.put(new Rid(1, position), vector)) throw new Error('no room for the vectors');
  }

  #settle(): void {
    while (this.#index.work());
  }

  /** A quarter goes, a quarter is replaced, a quarter comes. */
  #churn(): void {
    for (let position = 0; position < this.#count; position += 4) {
      this.#index.remove(new Rid(1, position));
      this.#vectors.delete(position);
    }
    for (let position = 1; position < this.#count; position += 4) this.#put(position);
    for (let position = this.#count; position < 1.25 * this.#count; position += 1) {
      this.#put(position);
    }
    this.#settle();
  }

  #recall(among?: ReadonlyMap<number, Float32Array>): number {
    const {similarity} = this.#options;
    const rids = among && Array.from(among.keys(), position => new Rid(1, position));
    let [found, wanted] = [0, 0];
    for (let question = 0; question < questions; question += 1) {
      const vector = this.#next();
      const truth = nearestOf(vector, among ?? this.#vectors, k, similarity);
      const measured = this.#index
        .candidates(vector, {k, among: rids})
        .map(({rid: {position}}) => ({
          position,
          distance: exactDistance(vector, this.#vectors.get(position) ?? vector, similarity),
        }))
        .sort((one, other) => one.distance - other.distance)
        .slice(0, k);
      found += measured.filter(({position}) => truth.includes(position)).length;
      // Of a few that may be answered there may be fewer than ten.
      wanted += truth.length;
    }
    return found / wanted;
  }

  #add(report: Report, point: string, recall: number, least = 0.95): void {
    report.add({
      class: 'recall',
      point,
      unit: 'share',
      ours: [recall],
      peer: 'comparing all',
      theirs: [1],
      durability: 'reads',
      gate: {at: 'least', bound: least},
    });
  }
}
