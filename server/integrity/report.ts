/**
 * The answer of a check: one row in the words that clients of the reference know, and the list of
 * findings with what was done, or can be done, about each.
 *
 * All findings are counted; the lists show the first `listedMax` of them, so that the answer about
 * a database that is damaged all over stays an answer.
 */
import type {MapValue, Value} from '#server/model/value.ts';
import {ridOfText} from '#server/model/rid.ts';
import type {CheckState} from './check-state.ts';
import {type Finding, type FindingKind, findingKinds, isWarning, remedyOf} from './finding.ts';

/** What a check may write. */
export interface Repairs {
  readonly fix: boolean;
  readonly deleteOrphans: boolean;
  readonly reclaimFiles: boolean;
}

const listedMax = 1_000;

interface Tally {
  found: number;
  mended: number;
  readonly places: Set<string>;
}

export class CheckReport {
  readonly #repairs: Repairs;
  readonly #tallies = new Map<FindingKind, Tally>();
  readonly #findings: Value[] = [];
  readonly #warnings: string[] = [];
  readonly #indexes = {damaged: new Set<string>(), mended: new Set<string>()};

  constructor(repairs: Repairs) {
    this.#repairs = repairs;
  }

  /** Notes the finding; whether it is to be mended. */
  add(finding: Finding): boolean {
    const {kind, place, says, index} = finding;
    const canMend = finding.mend !== undefined || remedyOf(kind) === 'reclaim';
    const isMended = canMend && this.#mends(kind);
    let tally = this.#tallies.get(kind);
    if (tally === undefined) {
      tally = {found: 0, mended: 0, places: new Set()};
      this.#tallies.set(kind, tally);
    }
    tally.found += 1;
    if (isMended) tally.mended += 1;
    if (tally.places.size < listedMax) tally.places.add(place);
    if (index !== undefined) this.#noteIndex(index, isMended);
    if (isWarning(kind) && this.#warnings.length < listedMax) {
      this.#warnings.push(`${place}: ${says}`);
    }
    if (this.#findings.length < listedMax) {
      const repair = isMended ? 'done' : wayOf(finding);
      this.#findings.push(new Map(Object.entries({kind, place, says, repair})));
    }
    return isMended;
  }

  /** The one row that is answered. */
  row(state: CheckState): MapValue {
    const {document, vertex} = state.records;
    const edge = [...state.lightsOfBucket.values()].reduce(add, state.records.edge);
    const undecodable = this.#places('record-damaged');
    const corrupted = this.#places('record-damaged', 'record-type-unknown', 'record-kind-wrong');
    const orphans = [
      'record-without-bucket',
      'edge-end-missing',
      'light-edge-end-missing',
    ] as const;
    const unreachable = ['edge-end-missing', 'light-edge-end-missing'] as const;
    const edgeKeys = ['edge-key-missing-out', 'edge-key-missing-in'] as const;
    const removed = this.#mended(...orphans);
    const errorKinds = [...this.#tallies.keys()].filter(kind => !isWarning(kind));
    const fields: Record<string, Value> = {
      operation: 'check database',
      totalActiveRecords: document + vertex + edge,
      totalActiveDocuments: document,
      totalActiveVertices: vertex,
      totalActiveEdges: edge,
      adjacencyEntriesScanned: state.adjacencyRows,
      totalErrors: this.#total(false),
      totalWarnings: this.#total(true),
      warnings: this.#warnings,
      corruptedRecords: corrupted,
      totalCorruptedRecords: this.#found(
        'record-damaged',
        'record-type-unknown',
        'record-kind-wrong',
      ),
      undecodableRecords: undecodable,
      totalUndecodableRecords: this.#found('record-damaged'),
      constraintViolatingRecords: this.#places('rule-broken'),
      totalConstraintViolations: this.#found('rule-broken'),
      corruptedIndexes: [...this.#indexes.damaged],
      rebuiltIndexes: [...this.#indexes.mended],
      edgesMissingOutReference: this.#found('edge-key-missing-out'),
      edgesMissingInReference: this.#found('edge-key-missing-in'),
      reconnectedEdges: this.#mended(...edgeKeys),
      missingReferenceBack: this.#found('edge-key-dangling'),
      prunedDanglingEntries: this.#mended('edge-key-dangling'),
      recoveredLightEdges: this.#mended('light-edge-half'),
      duplicateLightEdges: this.#found('edge-duplicate'),
      unreachableEdgeRecords: this.#found(...unreachable),
      unreachableEdgeRecordsFound: this.#places(...unreachable),
      invalidLinks: this.#found('link-dangling'),
      staleRecordCounters: this.#found('count-wrong'),
      staleRecordCountersFixed: this.#mended('count-wrong'),
      unreferencedFiles: this.#places('file-unreferenced'),
      reclaimedUnreferencedFiles:
        this.#mended('file-unreferenced') === 0 ? [] : this.#places('file-unreferenced'),
      removedRecords: removed,
      deletedRecordsAfterFix: removed === 0 ? [] : this.#places(...orphans),
      autoFix: this.#mended(...errorKinds),
      findings: this.#findings,
    };
    return new Map(Object.entries(fields));
  }

  #mends(kind: FindingKind): boolean {
    const {fix, deleteOrphans, reclaimFiles} = this.#repairs;
    const remedy = remedyOf(kind);
    if (remedy === 'reclaim') return reclaimFiles;
    return (fix && remedy === 'fix') || (deleteOrphans && remedy === 'orphan');
  }

  #noteIndex(name: string, isMended: boolean): void {
    this.#indexes.damaged.add(name);
    if (isMended) this.#indexes.mended.add(name);
  }

  #found(...kinds: readonly FindingKind[]): number {
    return kinds.reduce((sum, kind) => sum + (this.#tallies.get(kind)?.found ?? 0), 0);
  }

  #mended(...kinds: readonly FindingKind[]): number {
    return kinds.reduce((sum, kind) => sum + (this.#tallies.get(kind)?.mended ?? 0), 0);
  }

  #total(warnings: boolean): number {
    const kinds = [...this.#tallies.keys()].filter(kind => isWarning(kind) === warnings);
    return this.#found(...kinds);
  }

  #places(...kinds: readonly FindingKind[]): readonly Value[] {
    const texts = kinds.flatMap(kind => [...(this.#tallies.get(kind)?.places ?? [])]);
    return texts.slice(0, listedMax).map(text => ridOfText(text) ?? text);
  }
}

function add(left: number, right: number): number {
  return left + right;
}

/** What can be done about a finding that this check left as it is. */
function wayOf({kind, mend}: Finding): string {
  const {remedy} = findingKinds[kind];
  if (remedy === 'reclaim') return 'FIX RECLAIM UNREFERENCED FILES';
  if (mend === undefined || remedy === 'restore') return remedy === 'user' ? 'by hand' : 'restore';
  if (remedy === 'user') return 'by hand';
  return remedy === 'fix' ? 'FIX' : 'FIX DELETE ORPHANS';
}
