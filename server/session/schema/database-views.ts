/** What is kept in memory of one database, made together and given up together. */
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/engine/database.ts';
import {AdjacencyView} from '#server/caches/adjacency-view.ts';
import {ColumnViews} from '#server/caches/column-views.ts';
import {IndexViews} from '#server/caches/index-views.ts';
import type {KeptViews} from '#server/caches/kept-views.ts';
import {ViewMemory} from '#server/caches/view-memory.ts';

/** What all databases of a server may keep together. */
export class KeptMemory {
  readonly edges: ViewMemory;
  readonly columns: ViewMemory;
  readonly columnRecordsMin: () => number;

  constructor(settings: () => Settings) {
    this.edges = new ViewMemory(() => settings().get('svc.graphViewMemoryMax'));
    this.columns = new ViewMemory(() => settings().get('svc.columnViewMemoryMax'));
    this.columnRecordsMin = () => settings().get('svc.columnViewRecordsMin');
  }

  /** Lets go of everything: the memory is needed for answers. */
  dropAll(): void {
    this.edges.dropAll();
    this.columns.dropAll();
  }
}

export class DatabaseViews implements KeptViews {
  readonly adjacency: AdjacencyView;
  readonly columns: ColumnViews;
  readonly indexes: IndexViews;

  constructor(
    database: Database,
    {clock, timers}: {readonly clock: Clock; readonly timers: Timers},
    memory: KeptMemory,
  ) {
    this.adjacency = new AdjacencyView({database, clock, timers, memory: memory.edges});
    this.columns = new ColumnViews(database, memory.columns, memory.columnRecordsMin);
    this.indexes = new IndexViews(database, memory.columns, memory.columnRecordsMin);
  }

  close(): void {
    this.adjacency.close();
    this.columns.close();
    this.indexes.close();
  }
}
