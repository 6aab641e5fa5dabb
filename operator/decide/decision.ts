/**
 * What is to be done next, as plain values: `act/` carries them out in their order and stops at the
 * first that fails.
 */
import type {ClusterStatus} from '#operator/api/cluster-status.ts';
import type {Role} from '#operator/api/group.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import type {Told} from '#operator/api/reasons.ts';
import type {AuthorityPhase} from '#operator/objects/certificates.ts';
import type {TokenPhase} from '#operator/objects/tokens.ts';

/** The leader under whom a change of the members was decided: it is made under no other. */
export interface Under {
  readonly leader: string;
  readonly term: number;
}

export type Action =
  | {readonly kind: 'apply'; readonly object: KubeObject}
  /** What the spec wants no more: a budget or a policy. */
  | {readonly kind: 'delete-object'; readonly object: KubeObject}
  | {readonly kind: 'generate-secret'; readonly which: 'root' | 'token'}
  /**
   * Writes the tokens that servers read at their next start, as they follow from those that are
   * there: `wanted` and nothing else, or the next of the rounds of tokens.ts.
   */
  | {
      readonly kind: 'write-tokens';
      /** That which the Secret was seen at. */
      readonly step: number | undefined;
      readonly to: TokenPhase | 'wanted';
    }
  /** Makes the Secret of the tokens anew out of its copy, or the copy out of it. */
  | {readonly kind: 'restore-tokens' | 'keep-tokens'; readonly step: number}
  /** Writes the authority of the certificates, as it follows from the one that is there. */
  | {
      readonly kind: 'write-authority';
      /** That which the Secret was seen at. */
      readonly step: number | undefined;
      readonly to: AuthorityPhase;
    }
  /** Makes the servers' certificate anew, by the authority that is there then. */
  | {readonly kind: 'issue-certificate'}
  /** Gives root the password that the Secret holds. */
  | {readonly kind: 'set-root-password'; readonly peerId: string}
  /** Takes the stateful set away and leaves its pods: what it cannot change is made anew. */
  | {readonly kind: 'recreate-set'; readonly name: string; readonly uid: string}
  /** Holds for the pod as it was seen: one that got well or began meanwhile stays. */
  | {
      readonly kind: 'delete-pod';
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    }
  | {readonly kind: 'delete-claim'; readonly name: string; readonly uid: string}
  | {readonly kind: 'label-pod'; readonly name: string; readonly role: Role}
  | {readonly kind: 'mark-claim'; readonly name: string; readonly isOrphaned: boolean}
  | {readonly kind: 'grow-claim'; readonly name: string; readonly size: string}
  | {
      readonly kind: 'set-settings';
      readonly pod: string;
      readonly peerId: string;
      readonly values: Readonly<Record<string, string>>;
      readonly annotation: string;
    }
  | {
      readonly kind: 'add-peer';
      readonly under: Under;
      readonly peerId: string;
      readonly address: string;
      readonly name: string;
      readonly priority: number;
    }
  | {readonly kind: 'remove-peer'; readonly under: Under; readonly peerId: string}
  /** Takes as long as it takes: it is begun, and what came of it is seen later. */
  | {
      readonly kind: 'restore-database';
      /** The server that restores. */
      readonly peerId: string;
      readonly database: string;
      readonly from: RestoreFrom;
    }
  | {readonly kind: 'transfer-leader'; readonly under: Under; readonly to: string};

/** An archive of the directory of backups, by its name or the newest of the database, or a URL. */
export type RestoreFrom =
  | {readonly kind: 'archive'; readonly file: string | undefined}
  | {readonly kind: 'address'; readonly url: string};

export interface Decision {
  readonly actions: readonly Action[];
  readonly status: ClusterStatus;
  readonly events: readonly Told[];
  /** The time after which the cluster is looked at again if nothing wakes anybody before. */
  readonly recheckMs: number;
}
