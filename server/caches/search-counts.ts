/** How often each search index of a database was searched, by its number. */
export class SearchCounts {
  readonly #counts = new Map<number, number>();

  add(indexId: number): void {
    this.#counts.set(indexId, this.of(indexId) + 1);
  }

  of(indexId: number): number {
    return this.#counts.get(indexId) ?? 0;
  }
}
