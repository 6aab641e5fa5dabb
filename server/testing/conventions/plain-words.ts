/**
 * The part of the conventions about words: doc comments are sentences or noun phrases, and the
 * private words that this code once had do not come back.
 *
 * What a program can check is little: how a one-line doc comment begins, and names that were
 * replaced for good. Everything else is a reviewer's work; docs/design/glossary.md has the words.
 */
import {lineAt} from './source-text.ts';

export interface WordViolation {
  readonly rule: 'comment-fragment' | 'retired-word' | 'rotting-figure';
  readonly line: number;
  readonly message: string;
}

/** Beginnings that leave a doc comment without a subject: "Of what `#own` began with". */
const BEGINNINGS =
  'Of|By|For|In|Into|As of|As `|So [mlf]\\w+|Those|Behind|Beside|Before|Since|Until|Under|Like|' +
  'With|Without|From|To|On|At|As|Above|Below|Between|Over|After|Among|Through|' +
  'Again|Not so';
const FRAGMENT = new RegExp(`/\\*\\*\\s+(?:\\*\\s+)?(${BEGINNINGS})\\b`, 'g');

/** Names that were replaced, with the one to use. */
const RETIRED: readonly (readonly [RegExp, string])[] = [
  [/\bfast[- ]?lane\b/i, 'raw HTTP path'],
  [/\b\w*Wish\b/, '...Request or ...Options'],
  [/\b(?:Apply|Logged|Inline|Commit)Pipe\b/, '...Pipeline'],
  [/\bLone ?Client\b/i, 'single client'],
  [/\b(?:Kept|Shared|Held)Views?\b/, 'DerivedCaches, SnapshotPool, PinnedSnapshot'],
  [/\bLeaderLines?\b/, 'LeaderConnection'],
  [/\b(?:Snapshot|Memory)Shelf\b/, 'SnapshotStore, InMemoryDisk'],
  [/\b(?:Tail(?:Lender|Borrower)|LentEnd)\b/, 'LogTailOwner, LogTailBorrower, LogTailState'],
  [/\bUndecidedCommits\b|\b(?:on|sees|knows)Undecided\b/, 'in-flight commits'],
  [/\bRunParts\b/, 'StatementContext'],
  [/\b(?:Self|Copy)Care\b|\bOwnTroubles\b/, 'ReplicaRepairPolicy, ReplicaRepairer, LocalHealth'],
  [/\b(?:PeerTalk|ReadQuestions|ListeningClock)\b/, 'see docs/design/glossary.md'],
  [/\b(?:ThreadOrder|ThreadNews)\b/, 'PlanTask, PlanTaskEvent'],
  [/\bisForLeader\b|\bisOfOwnCopy\b/, 'requiresLeader, isLocalCopyDamaged'],
  [/\b(?:shown|begun|told|given|tried|offered)Index\b/, 'readableIndex, applyStartedIndex, ...'],
  [/\bforeign members?\b|\bfolded values?\b/i, 'stray members, compressed values'],
  // One word, one meaning.
  [/\b(?:store|column) views?\b|\bas of (?:one|a|the) view\b/i, 'snapshot, column cache'],
  [/\bviewIndex\b|\b(?:Live|Check|Log|Server|Principal|Database|Cluster)Views?\b/, 'snapshot, ...'],
  [/\bsegmentRows\b/, 'rowGroupRows'],
  [/\bargumentFrame\b/, 'argumentCursor'],
  // Documents that are not in the repository.
  [/\b[Rr]eferences? \d\.\d|\b[Ss]ource: (?:specification|reference)\b/, 'cite a page of docs/'],
];

const COMMENT_LINE = /^\s*(?:\*|\/\/|\/\*\*).*/gm;
/**
 * A time or a size that was measured, as its hedge tells ("about 50 ms") or its scale ("20 ns"):
 * true of one machine on one day. A limit or an interval is said without a hedge.
 */
const MEASURED: readonly RegExp[] = [
  /\b(?:about|some|around|roughly|costs?|holds|takes?) \d[\d.,]* ?(?:m?s|[KMG]B)\b/,
  /\d (?:to|and|or) \d+ ?(?:ms|[KMG]B)\b|\d-\d+ ms\b/,
  /\d ?(?:ns|us|\u00b5s)\b/,
  /\bsome (?:tens of |hundred )?(?:micro|nano)seconds\b/,
];

/** Measured figures in the comments of `text`. */
export function figureViolations(text: string): readonly WordViolation[] {
  return [...text.matchAll(COMMENT_LINE)]
    .filter(({0: comment}) => MEASURED.some(pattern => pattern.test(comment)))
    .map(({index, 0: comment}) => ({
      rule: 'rotting-figure',
      line: lineAt(text, index + comment.length),
      message: 'a measured figure rots: give the reason here, the figure in a design note',
    }));
}

/** What of `text`, the source of one file, breaks the rule; lines count from 1. */
export function wordViolations(text: string): readonly WordViolation[] {
  const fragments = [...text.matchAll(FRAGMENT)].map(
    ({index, 1: words = ''}): WordViolation => ({
      rule: 'comment-fragment',
      line: lineAt(text, index),
      message: `a doc comment begins with "${words}": say who or what does something`,
    }),
  );
  const retired = RETIRED.flatMap(([pattern, instead]) =>
    [...text.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map(
      ({index, 0: word}): WordViolation => ({
        rule: 'retired-word',
        line: lineAt(text, index),
        message: `${word} was replaced: ${instead}`,
      }),
    ),
  );
  return [...fragments, ...retired];
}
