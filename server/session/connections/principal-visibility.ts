/** What SHOW may tell a principal of the server: root of everybody, others of themselves. */
import type {
  VisibleServer,
  VisibleTransaction,
  VisibleUser,
} from '#server/execution/external-access.ts';
import type {Security} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RunningQuery, RunningTransaction} from '../session.ts';

/** The lists of a service, each cut to what the principal may see. */
interface Running {
  queries(principal: Principal): RunningQuery[];
  transactions(principal: Principal): RunningTransaction[];
}

export class PrincipalVisibility implements VisibleServer {
  readonly #principal: Principal;
  readonly #running: Running;
  readonly #security: Security;

  constructor(principal: Principal, running: Running, security: Security) {
    this.#principal = principal;
    this.#running = running;
    this.#security = security;
  }

  get user(): string {
    return this.#principal.name;
  }

  users(): readonly VisibleUser[] {
    return this.#security
      .users()
      .filter(({name}) => this.#principal.root || name === this.user)
      .map(({name, databases}) => ({name, databases: Object.keys(databases)}));
  }

  transactions(): readonly VisibleTransaction[] {
    const open = this.#running.transactions(this.#principal);
    return [
      ...this.#running.queries(this.#principal),
      ...open.map(transaction => ({...transaction, text: undefined})),
    ];
  }
}
