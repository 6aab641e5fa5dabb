/** What a server asks single members of its cluster for, on behalf of an administrator. */
export interface MemberRequests {
  /**
   * Has another member end in good order; resolves when it has said that it will.
   *
   * @param name - Its name, or its id.
   * @throws {Refusal} `cluster.peer` for nobody or several, `cluster.no-quorum` when it is silent.
   */
  shutDown(name: string): Promise<void>;
}
