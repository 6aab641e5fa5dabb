/** What a server asks single members of its cluster for, on behalf of an administrator. */
export interface MemberRequests {
  /**
   * Has another member end in good order; resolves when it has said that it will.
   *
   * @param name - Its name, or its id.
   * @throws {Refusal} `cluster.peer` for nobody or several, `cluster.no-quorum` when it is silent.
   */
  shutDown(name: string): Promise<void>;
  /**
   * Refuses an address that is none, and that of this server.
   *
   * @param entry - As an entry of `svc.ha.serverList`.
   * @throws {Refusal} `argument`, `cluster.peer`.
   */
  refuseSelf(entry: string): Promise<void>;
  /**
   * Adds a server to the cluster, on its leader; resolves when it is a member.
   *
   * @throws {Refusal} `argument`, `cluster.peer`, `cluster.membership`, `cluster.not-leader`,
   *   `cluster.no-quorum`.
   */
  add(entry: string): Promise<void>;
  /**
   * Takes this server out of the cluster; the only member stays as it is.
   *
   * @param force - Leaves although too few of the others answer.
   * @throws {Refusal} `cluster.membership`, `cluster.no-quorum`.
   */
  leave(force: boolean): Promise<void>;
}
