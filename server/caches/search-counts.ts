/** How often each search index of a database was searched, and in how many parts, by its number. */
export class SearchCounts {
  readonly #counts = new Map<number, number>();
  readonly #parts = new Map<number, number>();

  add(indexId: number): void {
    this.#counts.set(indexId, this.of(indexId) + 1);
  }

  of(indexId: number): number {
    return this.#counts.get(indexId) ?? 0;
  }

  /** The records of a search were split. */
  addParts(indexId: number, parts: number): void {
    this.#parts.set(indexId, this.partsOf(indexId) + parts);
  }

  partsOf(indexId: number): number {
    return this.#parts.get(indexId) ?? 0;
  }
}
