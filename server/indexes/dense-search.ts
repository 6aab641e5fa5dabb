/**
 * The records nearest to a vector, for one reader: exact for its snapshot, with its own writes.
 *
 * Where a graph is kept it names candidates, and each is measured: by the vector that the graph
 * keeps, or where it keeps less by the entry that the reader shows. Else every entry is measured.
 * Either way an answer is a record of the snapshot with its distance in the snapshot; only that
 * nothing nearer was missed depends on the graph.
 */
import {Refusal} from '#server/base/errors.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {type DenseIndexOptions, denseOptionsOf} from '#server/catalog/vector-options.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {readVector, ridOfVectorEntry, vectorEntryKey} from '#server/layout/posting-key.ts';
import type {Rid} from '#server/model/value.ts';
import {
  createPackedRows,
  eachRow,
  getManyGrowing,
  packKeys,
  rowHeaderBytes,
} from '#server/storage/packed-rows.ts';
import type {Reader} from '#server/storage/store.ts';
import {
  type Candidate,
  type CandidateRequest,
  exactDistance,
  type Similarity,
} from './dense-vectors.ts';
import {BestRecords, type ScoredRid} from './ranked/best-records.ts';
import type {Effort} from './ranked/effort.ts';
import {RowWalker} from './row-walker.ts';

/** Candidates for a snapshot, and records that are to be measured beside them. */
export interface NearRecords {
  readonly candidates: readonly Candidate[];
  readonly changed: readonly Rid[];
}

export interface NearSource {
  /** Undefined, or its answer: nothing is kept for the reader. */
  readonly near?:
    | ((vector: Float32Array, wish: CandidateRequest) => NearRecords | undefined)
    | undefined;
}

export interface DenseSource extends NearSource {
  readonly reader: Reader;
  readonly index: Pick<IndexDefinition, 'id' | 'name' | 'options'>;
  readonly effort: Effort;
}

export interface DenseRequest extends Omit<CandidateRequest, 'leaveOut'> {
  readonly vector: Float32Array;
  /** Nothing farther is answered. */
  readonly maxDistance?: number | undefined;
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
}

/** What a row, a look-up and a candidate cost, in rows of a scan. */
const lookUpCost = 4;
/** Up to this number records are measured without a graph: looking at it costs as much. */
const measuredMax = 64;
/** Entries that are read by one call of the store. */
const readAtOnce = 256;

/**
 * Nearest first, of equal distances the lesser record id; the score is the distance with its sign
 * turned.
 *
 * @throws {Refusal} `argument` for a vector that cannot be compared.
 */
export function searchDense(source: DenseSource, request: DenseRequest): readonly ScoredRid[] {
  const options = denseOptionsOf(source.index);
  requireVector(request.vector, options);
  const measured = new Measured(source, request, options);
  const {among, accept} = request;
  if (among !== undefined && among.length <= measuredMax) {
    measured.lookUp(among);
    return measured.sorted();
  }
  const near = source.near?.(request.vector, {
    ...request,
    efSearch: request.efSearch ?? options.efSearch,
    leaveOut: accept && ((bucket, position) => !accept(bucket, position)),
  });
  if (near === undefined) measured.scan();
  else {
    measured.take(near.candidates);
    if (near.changed.length > 0) {
      const eligible = among && new Set(among.map(keyOf));
      measured.lookUp(near.changed.filter(rid => eligible?.has(keyOf(rid)) ?? true));
    }
  }
  return measured.sorted();
}

const keyOf = ({bucket, position}: Rid): string => `${bucket}:${position}`;

/** @throws {Refusal} `argument`. */
export function requireVector(
  vector: Float32Array,
  {dimensions, similarity}: DenseIndexOptions,
): void {
  if (vector.length !== dimensions) {
    throw new Refusal(
      'argument',
      `Query vector dimension ${vector.length} does not match index dimension ${dimensions}`,
    );
  }
  if (!vector.every(element => Number.isFinite(element))) {
    throw new Refusal('argument', 'Query vector must contain finite numbers only');
  }
  if (similarity === 'COSINE' && vector.every(element => element === 0)) {
    throw new Refusal('argument', 'Query vector must contain at least one non-zero value');
  }
}

class Measured {
  readonly #source: DenseSource;
  readonly #request: DenseRequest;
  readonly #similarity: Similarity;
  readonly #best: BestRecords;
  readonly #vector: Float32Array;

  constructor(source: DenseSource, request: DenseRequest, options: DenseIndexOptions) {
    this.#similarity = options.similarity;
    this.#source = source;
    this.#request = request;
    this.#best = new BestRecords(request.k);
    this.#vector = new Float32Array(options.dimensions);
  }

  sorted(): readonly ScoredRid[] {
    return this.#best.sorted();
  }

  /** Reads no entry of a candidate whose distance is known. */
  take(candidates: readonly Candidate[]): void {
    const unknown: Rid[] = [];
    for (const {rid, distance} of candidates) {
      if (distance === undefined) unknown.push(rid);
      else if (this.#isWanted(rid)) this.#offerAt(rid, distance);
    }
    this.lookUp(unknown);
  }

  /** Measures those that have an entry in the reader. Cost: a read of the store a record. */
  lookUp(rids: readonly Rid[]): void {
    const {reader, index, effort} = this.#source;
    const {buckets, accept} = this.#request;
    const isWhole = buckets === undefined && accept === undefined;
    const wanted = isWhole ? rids : rids.filter(rid => this.#isWanted(rid));
    for (let from = 0; from < wanted.length; ) {
      const asked = wanted.slice(from, from + readAtOnce);
      const keys = asked.map(rid => vectorEntryKey(index.id, rid));
      const rowBytes = rowHeaderBytes + (keys[0]?.length ?? 0) + this.#vector.byteLength;
      const room = createPackedRows(rowBytes * asked.length);
      const rows = getManyGrowing(reader, packKeys(keys), asked.length, room);
      effort.spend(lookUpCost * rows.rowCount);
      for (const {value} of eachRow(rows)) {
        const rid = wanted[from++];
        if (value === undefined || rid === undefined) continue;
        readVector(value, 0, value.length, this.#vector);
        this.#offer(rid);
      }
    }
  }

  scan(): void {
    const {reader, index, effort} = this.#source;
    const {among} = this.#request;
    const eligible = among && new Set(among.map(keyOf));
    const walker = new RowWalker(reader, [indexRange(index.id)], scanned);
    try {
      while (walker.next()) {
        effort.spend(1);
        const {bytes, keyEnd, end} = walker;
        const rid = ridOfVectorEntry(bytes, keyEnd);
        if (!this.#isWanted(rid)) continue;
        if (eligible !== undefined && !eligible.has(keyOf(rid))) continue;
        readVector(bytes, keyEnd, end, this.#vector);
        this.#offer(rid);
      }
    } finally {
      walker.close();
    }
  }

  #isWanted({bucket, position}: Rid): boolean {
    const {buckets, accept} = this.#request;
    if (buckets !== undefined && !buckets.has(bucket)) return false;
    return accept === undefined || accept(bucket, position);
  }

  #offer(rid: Rid): void {
    const {vector} = this.#request;
    this.#offerAt(rid, exactDistance(vector, this.#vector, this.#similarity));
  }

  #offerAt(rid: Rid, distance: number): void {
    const {maxDistance} = this.#request;
    if (maxDistance !== undefined && distance > maxDistance) return;
    this.#best.offer(-distance, rid.bucket, rid.position);
  }
}

/** All entries take no room in the cache: the graph that is made of them answers next time. */
const scanned = {bufferBytes: 64 << 10, bufferBytesMax: 512 << 10, once: true};
