/**
 * One look at a cluster: everything that a decision is made from, as plain facts.
 *
 * It holds no memory of earlier looks but what stands in the status of the resource, and no handle
 * by which anything could be changed.
 */
import type {AuthorityFacts, CertificateFacts} from '#operator/objects/certificates.ts';
import type {Volume} from '#operator/objects/names.ts';
import type {ArchiveVolume} from '#operator/objects/pod-template.ts';
import type {TokenPhase} from '#operator/objects/tokens.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import type {BackupsSeen} from './backup-health.ts';
import type {Answer} from './agreement.ts';

export interface PodFacts {
  readonly ordinal: number;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly templateHash: string | undefined;
  readonly version: string | undefined;
  readonly isReady: boolean;
  /** Milliseconds since 1970 at which it became ready, or stopped being so. */
  readonly readyChangedMs: number;
  readonly createdMs: number;
  /** Undefined before it has one. */
  readonly address: string | undefined;
  /** The process runs. */
  readonly isStarted: boolean;
  /** Its process does not run, or ends again and again: deleting the pod takes nothing away. */
  readonly isBroken: boolean;
  readonly isTerminating: boolean;
  readonly role: string | undefined;
  /** A person asked to replace the member with its volumes. */
  readonly wantsReplacement: boolean;
  /** What it was told of settings that change while it runs, as JSON. */
  readonly settings: string | undefined;
  /** Why it does not run, in Kubernetes' words. */
  readonly trouble: string | undefined;
}

export interface ClaimFacts {
  readonly ordinal: number;
  readonly volume: Volume;
  readonly name: string;
  readonly uid: string;
  /** Quantity that it asks for, and that it has. */
  readonly requested: string;
  readonly capacity: string | undefined;
  /** Its volume is gone. */
  readonly isLost: boolean;
  readonly isTerminating: boolean;
  readonly isOrphaned: boolean;
  /** Its volume lies on a node that is not there any more. */
  readonly isOnMissingNode: boolean;
}

export interface SetFacts {
  readonly uid: string;
  readonly replicas: number;
  readonly isTerminating: boolean;
  /** Sizes of its claim templates. */
  readonly claimSizes: ReadonlyMap<string, string>;
}

/** The Secret that the servers read their tokens from. */
export interface TokenFacts {
  readonly phase: TokenPhase;
  /** How often it was written. */
  readonly step: number;
  /** Whether the servers end with the token that is wanted, when this change is over. */
  readonly leadsToWanted: boolean;
}

export interface CertificatesSeen {
  readonly authority: AuthorityFacts | undefined;
  readonly certificate: CertificateFacts | undefined;
  /** Milliseconds since 1970 of the times in both; NaN for what is none. */
  readonly authorityEndMs: number;
  readonly certificateEndMs: number;
  readonly issuedMs: number;
}

/** Where the archives are. */
export type RecoverySource =
  | {
      readonly kind: 'claim';
      readonly volume: ArchiveVolume;
      /** Files by their database; undefined: the newest of each that is wanted. */
      readonly files: ReadonlyMap<string, string> | undefined;
    }
  | {readonly kind: 'address'; readonly base: string}
  | {readonly kind: 'missing'; readonly message: string};

/** What was seen of a recovery that is under way. */
export interface RecoveryFacts {
  readonly source: RecoverySource;
  /** Databases that the leader serves; undefined: nobody says. */
  readonly present: readonly string[] | undefined;
  /** Databases that have archives on the volume; undefined: nobody says. */
  readonly offered: readonly string[] | undefined;
  /** The database that this operator waits for. */
  readonly running: string | undefined;
  /** Why restores that this operator waited for failed, by database. */
  readonly failures: ReadonlyMap<string, string>;
}

export interface Observation {
  /** Milliseconds since 1970, and the same as RFC 3339 in whole seconds. */
  readonly nowMs: number;
  readonly stamp: string;
  readonly object: KubeObject;
  readonly cluster: SvcCluster;
  /** Why the spec is not carried out. */
  readonly problems: readonly string[];
  /** The objects that the operator makes and that are there, by `Kind/name`. */
  readonly live: ReadonlyMap<string, KubeObject>;
  readonly statefulSet: SetFacts | undefined;
  readonly pods: readonly PodFacts[];
  readonly claims: readonly ClaimFacts[];
  /** Whether the Secrets with the password and the token hold their keys. */
  readonly secrets: Readonly<Record<'root' | 'token', boolean>>;
  /** Undefined: the Secret that servers read their tokens from is not there. */
  readonly tokens: TokenFacts | undefined;
  /** The step of its copy; undefined: the copy is not there. */
  readonly tokenStepKept: number | undefined;
  /** What the operator knows of certificates that it made. */
  readonly certificates: CertificatesSeen;
  /** Its schedules and runs of backups. */
  readonly backups: Omit<BackupsSeen, 'nowMs'>;
  /** Undefined: `bootstrap.recovery` is not wanted, or is over. */
  readonly recovery: RecoveryFacts | undefined;
  /** What each server answered, keyed by peer id. Empty where no pod runs. */
  readonly answers: ReadonlyMap<string, Answer>;
}
