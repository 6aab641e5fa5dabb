/**
 * Small bugs of the core, one text and its replacement each, to see that the tests notice them.
 * `make mutants` puts them in one by one; mutants.test.ts holds the texts against the sources.
 *
 * Only changes that make the core wrong or worse are here: none that is merely another way.
 */

export interface Mutant {
  /** The file's name in server/raft/. */
  readonly file: string;
  /** Occurs there once. */
  readonly text: string;
  readonly replacement: string;
  /** Why it is a bug. */
  readonly because: string;
}

export const mutants: readonly Mutant[] = [
  // Majorities.
  {
    file: 'quorum.ts',
    text: 'Math.floor(voters / 2) + 1',
    replacement: 'Math.ceil(voters / 2)',
    because: 'two halves of an even group both decide',
  },
  {
    file: 'quorum.ts',
    text: 'if (count >= needed) greatest',
    replacement: 'if (count >= Math.max(1, needed - 1)) greatest',
    because: 'one voter less than a quorum decides',
  },
  {
    file: 'quorum.ts',
    text: 'votes.get(voter) === true',
    replacement: 'votes.has(voter)',
    because: 'a refusal counts as a vote',
  },
  {
    file: 'quorum.ts',
    text: "if (granted >= needed) return 'won';",
    replacement: "if (votes.size >= needed) return 'won';",
    because: 'votes of strangers and refusals win elections',
  },
  {
    file: 'quorum.ts',
    text: "voters.length - refused < needed ? 'lost' : 'open'",
    replacement: "'open'",
    because: 'a lost election is not over before its timeout',
  },
  // Logs compared.
  {
    file: 'message.ts',
    text: 'mine.index >= other.index : mine.term > other.term',
    replacement: 'mine.index > other.index : mine.term > other.term',
    because: 'equal logs refuse each other: no leader',
  },
  {
    file: 'message.ts',
    text: 'mine.term === other.term ? mine.index >= other.index : mine.term > other.term',
    replacement: 'mine.index >= other.index',
    because: 'a long log of an old term replaces what is committed',
  },
  {
    file: 'message.ts',
    text: 'mine.term === other.term ? mine.index >= other.index : mine.term > other.term',
    replacement: 'mine.term >= other.term',
    because: 'a shorter log of the last term loses what is committed',
  },
  // The log's snapshot.
  {
    file: 'log-outline.ts',
    text: 'return this.termAt(position.index) === position.term;',
    replacement: 'return this.termAt(position.index) !== undefined;',
    because: 'entries are put behind others than the leader has there',
  },
  {
    file: 'log-outline.ts',
    text: '    this.#persisted = Math.min(this.#persisted, index);\n',
    replacement: '',
    because: 'what was cut off still counts as durable',
  },
  {
    file: 'log-outline.ts',
    text: 'for (const write of this.#writes) write.last = Math.min(write.last, index);',
    replacement: '',
    because: 'a write of what was cut off makes what replaces it look durable',
  },
  {
    file: 'log-outline.ts',
    text: '      if (first.number > number) return;\n',
    replacement: '',
    because: 'a finished write makes those behind it look durable',
  },
  {
    file: 'log-outline.ts',
    text: 'at >= this.#base.index && (this.termAt(at) ?? 0) > term',
    replacement: 'at > this.#base.index && (this.termAt(at) ?? 0) > term',
    because: 'a follower that contradicts the base is probed there for ever',
  },
  {
    file: 'log-outline.ts',
    text: '    this.#writes.takeAll();\n',
    replacement: '',
    because: 'writes of the log that was given up count for the one that replaces it',
  },
  // Memberships.
  {
    file: 'membership.ts',
    text: "member => member.role === 'voter').map",
    replacement: 'member => member.role !== undefined).map',
    because: 'a server votes before it is caught up',
  },
  {
    file: 'membership.ts',
    text: 'this.#set(this.#inForce.filter(one => one.since <= index));',
    replacement: 'this.#set(this.#inForce.filter(one => one.since <= index + 1));',
    because: 'a change stays in force after it was cut off',
  },
  {
    file: 'membership.ts',
    text: "votersOf(others).length === 0 ? 'last-voter' : others",
    replacement: 'others',
    because: 'the last voter removes itself and nobody is left to decide',
  },
  {
    file: 'membership.ts',
    text: "role: 'joining', priority: change.priority",
    replacement: "role: 'voter', priority: change.priority",
    because: 'an empty server has a vote at once',
  },
  {
    file: 'membership.ts',
    text: 'this.#inForce.findLast(one => one.since <= index)',
    replacement: 'this.#inForce.findLast(one => one.since >= 0)',
    because: 'a checkpoint carries a membership that is not committed',
  },
  // Roles and terms.
  {
    file: 'role.ts',
    text: '    raft.vote = undefined;\n',
    replacement: '',
    because: 'a vote of an old term blocks the next one',
  },
  {
    file: 'role.ts',
    text: '    raft.outbox.hardStateChanged();\n',
    replacement: '',
    because: 'a term is said that is not durable',
  },
  {
    file: 'role.ts',
    text: "  if (role.kind === 'leader') endLeadership(raft, role);\n",
    replacement: '',
    because: 'reads at a leader that stepped down wait for ever',
  },
  {
    file: 'role.ts',
    text: '  if (leader !== undefined) raft.leaderLost = undefined;\n',
    replacement: '',
    because: 'after one kill a follower campaigns with every heartbeat that is late',
  },
  {
    file: 'role.ts',
    text: '  raft.leaderHeardAt = raft.now;\n',
    replacement: '',
    because: 'nobody remembers the leader: anybody who was cut off unseats it',
  },
  // Elections.
  {
    file: 'election.ts',
    text: "  if (mayCampaign(raft)) campaign(raft, 'pre-candidate');",
    replacement: "  if (mayCampaign(raft)) campaign(raft, 'candidate');",
    because: 'without a pre-vote a node that was cut off raises the term',
  },
  {
    file: 'election.ts',
    text: "  if (mayCampaign(raft)) campaign(raft, 'pre-candidate');",
    replacement: "  if (raft.voters.length > 0) campaign(raft, 'pre-candidate');",
    because: 'a joining server leads without a vote of its own',
  },
  {
    file: 'election.ts',
    text: 'memberships.since > raft.commit && previous !== undefined && isVoter(previous, id)',
    replacement: 'false',
    because: 'a leader that removed itself and crashed holds what others need, and may not lead',
  },
  {
    file: 'election.ts',
    text: '    raft.term++;\n',
    replacement: '',
    because: 'two candidates lead the same term one after the other',
  },
  {
    file: 'election.ts',
    text: '    raft.vote = id;\n    raft.outbox.hardStateChanged();\n',
    replacement: '    raft.outbox.hardStateChanged();\n',
    because: 'a candidate votes for another one as well',
  },
  {
    file: 'election.ts',
    text: '    raft.vote = id;\n    raft.outbox.hardStateChanged();\n',
    replacement: '    raft.vote = id;\n',
    because: 'a candidate forgets its own vote in a crash',
  },
  {
    file: 'election.ts',
    text: "role.kind === 'candidate' && outbox.termIsDurable(persisted)",
    replacement: "role.kind === 'candidate'",
    because: 'a candidate counts its own vote when any earlier write is durable',
  },
  {
    file: 'election.ts',
    text: "if (kind === 'pre-candidate') countVote(raft, role, id, true);",
    replacement: 'countVote(raft, role, id, true);',
    because: 'the only voter leads a term that a crash makes it forget, and leads it again',
  },
  {
    file: 'election.ts',
    text: "  if (result === 'won' && !role.votes.has(raft.options.id)) return;\n",
    replacement: '',
    because: 'a candidate leads by the votes of others a term that a crash makes it forget',
  },
  {
    file: 'election.ts',
    text: "return log.persistedIndex === log.lastIndex ? 'nothing' : 'term';",
    replacement: "return 'nothing';",
    because: 'votes are asked for by entries that a crash forgets, and counted after it',
  },
  {
    file: 'election.ts',
    text: 'request.term > raft.term && !isHeard && holdsAll',
    replacement: 'request.term > raft.term && holdsAll',
    because: 'pre-votes are given although a leader is at work',
  },
  {
    file: 'election.ts',
    text: 'const holdsAll = atLeastAsLong(request.last, raft.log.last);',
    replacement: 'const holdsAll = true;',
    because: 'a node that cannot win raises the term again and again',
  },
  {
    file: 'election.ts',
    text: 'const term = granted ? request.term : raft.term;',
    replacement: 'const term = request.term;',
    because: 'a refusal does not tell the term, and a refused node never catches up',
  },
  {
    file: 'election.ts',
    text: 'const free = raft.vote === undefined || raft.vote === from;',
    replacement: 'const free = true;',
    because: 'two votes a term: two leaders',
  },
  {
    file: 'election.ts',
    text: "free && raft.role.kind !== 'leader' && atLeastAsLong(request.last, raft.log.last)",
    replacement: "free && raft.role.kind !== 'leader'",
    because: 'a leader without what is committed',
  },
  {
    file: 'election.ts',
    text: '    raft.vote = from;\n    raft.outbox.hardStateChanged();\n',
    replacement: '    raft.vote = from;\n',
    because: 'a vote is sent that a crash forgets',
  },
  {
    file: 'election.ts',
    text: '  raft.leaderLost = leader;\n',
    replacement: '',
    because: 'after a kill a split vote waits for the long timeout',
  },
  {
    file: 'election.ts',
    text: 'raft.preVoteRefused = isHeard ? {from, request} : undefined;',
    replacement: '',
    because: 'who notices the end of a leader first has to ask a second time',
  },
  {
    file: 'election.ts',
    text: 'raft.options.heartbeatMs * raft.electionTurn();',
    replacement: 'raft.options.electionTimeoutMinMs;',
    because: 'after a kill the successor waits longer than it must',
  },
  {
    file: 'election.ts',
    text: "  appendAsLeader(raft, role, [{kind: 'empty', term: raft.term}]);\n",
    replacement: '  appendAsLeader(raft, role, []);\n',
    because: 'a new leader commits nothing before the first write, and serves no read',
  },
  {
    file: 'election.ts',
    text: 'firstIndex: log.lastIndex + 1,',
    replacement: 'firstIndex: 0,',
    because: 'a new leader serves reads, and takes changes, before it knows what is committed',
  },
  {
    file: 'state.ts',
    text: 'return mine > theirs || (mine === theirs && id < other);',
    replacement: 'return mine >= theirs;',
    because: 'after a kill all that are left campaign in the same moment',
  },
  {
    file: 'state.ts',
    text: 'return (ahead + this.random() ** 2) / levels;',
    replacement: 'return this.random();',
    because: 'priorities mean nothing in an election',
  },
  // The leader's side of the log.
  {
    file: 'replication.ts',
    text: 'index <= raft.commit || log.termAt(index) !== raft.term',
    replacement: 'index <= raft.commit',
    because: 'figure 8: an entry of an old term is committed by counting',
  },
  {
    file: 'replication.ts',
    text: 'voter === options.id ? log.persistedIndex :',
    replacement: 'voter === options.id ? log.lastIndex :',
    because: 'the leader counts itself before its disk has the entry',
  },
  {
    file: 'replication.ts',
    text: "options.quorum === 'all' ? voters.length : majorityOf(voters.length)",
    replacement: 'majorityOf(voters.length)',
    because: 'quorum=all is acknowledged by a majority',
  },
  {
    file: 'replication.ts',
    text: "  if (role.transfer !== undefined) return refuse('transferring');\n",
    replacement: '',
    because: 'under load the target of a transfer never reaches the end',
  },
  {
    file: 'replication.ts',
    text: "  if (uncommitted > options.uncommittedBytesMax) return refuse('queue-full');\n",
    replacement: '',
    because: 'without a quorum the queue grows without an end',
  },
  {
    file: 'replication.ts',
    text: '  progress.heardAt = raft.now;\n',
    replacement: '',
    because: 'a leader that is answered steps down all the same',
  },
  {
    file: 'replication.ts',
    text: "progress.mode === 'probe' || (progress.mode === 'snapshot' && servable)",
    replacement: "progress.mode === 'probe'",
    because: 'a peer that has its checkpoint is offered it for ever',
  },
  {
    file: 'replication.ts',
    text: '  if (reply.refused <= progress.match) return;\n',
    replacement: '',
    because: 'an old answer throws a peer back to one append at a time',
  },
  {
    file: 'replication.ts',
    text: 'progress.probe(raft.log.lastAtMost(reply.hint.index, reply.hint.term) + 1);',
    replacement: 'progress.probe(progress.next);',
    because: 'a follower whose log differs is asked the same for ever',
  },
  {
    file: 'replication.ts',
    text: '    progress.probe(progress.match + 1);\n    return;\n',
    replacement: '    return;\n',
    because: 'a lost append is never sent again',
  },
  {
    file: 'sending.ts',
    text: '    progress.resume();\n',
    replacement: '',
    because: 'a lost probe is never sent again',
  },
  {
    file: 'sending.ts',
    text: '  leadership.round++;\n',
    replacement: '',
    because: 'an answer of before a read confirms it',
  },
  {
    file: 'sending.ts',
    text: "progress.mode !== 'snapshot' && progress.next <= log.base.index",
    replacement: "progress.mode !== 'snapshot' && progress.next < log.base.index",
    because: 'an append begins at an entry that is forgotten',
  },
  {
    file: 'sending.ts',
    text: '    progress.sent(through, bytes);\n',
    replacement: '    progress.sent(through, bytes);\n    progress.next++;\n',
    because: 'every other entry is left out',
  },
  {
    file: 'election.ts',
    text: '  return raft.isBefore(other) && atLeastAsLong(raft.log.last, last);\n',
    replacement: '  return false;\n',
    because: 'two that ask at once split the votes',
  },
  {
    file: 'election.ts',
    text: '    raft.electionDeadline = Math.max(raft.electionDeadline, raft.now + heartbeatMs);\n',
    replacement: '',
    because: 'who grants a pre-vote stands against the candidate',
  },
  {
    file: 'election.ts',
    text: "kind === 'candidate' ? votingIntervals : 1",
    replacement: '1',
    because: 'a candidate gives up while its votes are being written',
  },
  {
    file: 'election.ts',
    text: '    raft.electionDeadline = Math.min(raft.electionDeadline, turn);\n',
    replacement: '',
    because: 'a candidate that cannot win is waited for',
  },
  {
    file: 'step.ts',
    text: '    tellCommit(raft, raft.role);\n',
    replacement: '',
    because: 'followers learn what is committed with the next append only',
  },
  {
    file: 'progress.ts',
    text: "return this.mode === 'replicate' && !this.#told;",
    replacement: "return this.mode === 'replicate';",
    because: 'a slow peer is told of every commit, however much waits for it',
  },
  {
    file: 'progress.ts',
    text: "if (this.mode === 'probe') return !this.#paused;",
    replacement: "if (this.mode === 'probe') return true;",
    because: 'a peer that does not answer is sent the same without an end',
  },
  {
    file: 'progress.ts',
    text: '      this.#bytes -= this.#inFlight.shift()?.bytes ?? 0;\n',
    replacement: '      this.#inFlight.shift();\n',
    because: 'the window fills up and stays full',
  },
  {
    file: 'progress.ts',
    text: 'this.match = Math.max(this.match, match);',
    replacement: 'this.match = match;',
    because: 'an old answer takes back what a newer one had said',
  },
  {
    file: 'progress.ts',
    text: "this.#enter('probe', Math.max(next, this.match + 1));",
    replacement: "this.#enter('probe', this.next);",
    because: 'what was lost is not sent again',
  },
  // The follower's side of the log.
  {
    file: 'acceptance.ts',
    text: 'Math.max(raft.commit, Math.min(append.commit, match))',
    replacement: 'Math.max(raft.commit, append.commit)',
    because: 'a follower commits what it did not compare with the leader',
  },
  {
    file: 'acceptance.ts',
    text: 'log.termAt(previous + 1 + i) !== entry.term);',
    replacement: 'previous + 1 + i > 0 || entry);',
    because: 'an old append cuts off what a newer one brought, and was answered',
  },
  {
    file: 'acceptance.ts',
    text: 'const match = previous.index + entries.length;',
    replacement: 'const match = Math.max(log.lastIndex, previous.index + entries.length);',
    because: 'a follower claims to have compared its whole log',
  },
  {
    file: 'acceptance.ts',
    text: "waits ? 'log' : 'term'",
    replacement: "'term'",
    because: 'entries are acknowledged before they are durable',
  },
  {
    file: 'acceptance.ts',
    text: 'const held = waits ? match : durable;',
    replacement: 'const held = match;',
    because: 'a heartbeat is answered with entries that are not durable yet',
  },
  {
    file: 'acceptance.ts',
    text: '    raft.memberships.truncate(keepThrough);\n',
    replacement: '',
    because: 'a change that was cut off stays in force',
  },
  {
    file: 'acceptance.ts',
    text: '  if (log.holds(last)) {\n',
    replacement: '  if (log.lastIndex < 0) {\n',
    because: 'a checkpoint drops entries behind it that were answered',
  },
  {
    file: 'acceptance.ts',
    text: '  if (last.index <= raft.commit) return;\n',
    replacement: '',
    because: 'an old checkpoint takes back what is applied',
  },
  {
    file: 'acceptance.ts',
    text: 'commit < atLeast.index && !raft.installing',
    replacement: 'commit < atLeast.index',
    because: 'the same checkpoint is fetched with every heartbeat',
  },
  {
    file: 'acceptance.ts',
    text: '  raft.commit = last.index;\n',
    replacement: '',
    because: 'a follower refuses what stands behind its checkpoint as uncommitted',
  },
  // Reads.
  {
    file: 'reads.ts',
    text: '  if (raft.commit < leadership.firstIndex) return;\n',
    replacement: '',
    because: 'a new leader serves a read from before what is committed',
  },
  {
    file: 'reads.ts',
    text: 'open === undefined || confirmedRound(raft, leadership) < open.round',
    replacement: 'open === undefined',
    because: 'a leader that was replaced serves old data',
  },
  {
    file: 'reads.ts',
    text: '  broadcast(raft, leadership);\n  leadership.readRound',
    replacement: '  leadership.readRound',
    because: 'answers of before the read confirm it',
  },
  {
    file: 'reads.ts',
    text: 'return tell(raft, request, undefined);',
    replacement: 'return tell(raft, request, raft.commit);',
    because: 'a follower answers a read that was meant for the leader',
  },
  {
    file: 'reads.ts',
    text: 'voter === raft.options.id || voter === other;',
    replacement: "voter !== other || voter !== '';",
    because: 'one follower stands for a majority of five',
  },
  {
    file: 'reads.ts',
    text: 'const knowsCommit = raft.commit >= role.firstIndex;',
    replacement: 'const knowsCommit = raft.commit >= 0;',
    because: 'a new leader serves the read of a follower from before what is committed',
  },
  // Changes of members, transfers, time.
  {
    file: 'reconfiguration.ts',
    text: 'raft.commit >= role.firstIndex && raft.commit >= memberships.since',
    replacement: 'raft.commit >= memberships.since',
    because: 'the error of 2015: a leader changes members before it committed anything of its own',
  },
  {
    file: 'reconfiguration.ts',
    text: 'raft.commit >= role.firstIndex && raft.commit >= memberships.since',
    replacement: 'raft.commit >= role.firstIndex',
    because: 'two changes at once: majorities that do not meet',
  },
  {
    file: 'reconfiguration.ts',
    text: "wanted.kind === 'remove' && answering < majorityOf(voters.length)",
    replacement: 'answering < 0',
    because: 'a removal leaves a group that cannot decide',
  },
  {
    file: 'reconfiguration.ts',
    text: '    follow(raft, raft.term, undefined);\n    return;\n',
    replacement: '    return;\n',
    because: 'a leader that was removed leads on',
  },
  {
    file: 'reconfiguration.ts',
    text: '  if (progress.match < catchUp.target) return;\n',
    replacement: '',
    because: 'a server gets its vote before it is near',
  },
  {
    file: 'transfer.ts',
    text: 'if (progress === undefined || progress.match < log.lastIndex) return;',
    replacement: 'if (progress === undefined) return;',
    because: 'the target begins an election that it cannot win',
  },
  {
    file: 'transfer.ts',
    text: "  if (options.quorum === 'majority' && commit < log.lastIndex) return;\n",
    replacement: '',
    because: 'the target is elected before it knows that everything is committed',
  },
  {
    file: 'transfer.ts',
    text: "options.quorum === 'majority' && commit < log.lastIndex",
    replacement: 'commit < log.lastIndex',
    because: 'with quorum=all a silent member keeps the leadership where it is',
  },
  {
    file: 'transfer.ts',
    text: '    leadership.transfer = undefined;\n',
    replacement: '',
    because: 'a transfer that failed stops writes for ever',
  },
  {
    file: 'transfer.ts',
    text: 'return heard && log.lastIndex - progress.match <= options.transferLagMax;',
    replacement: 'return true;',
    because: 'leadership goes to who is silent or far behind',
  },
  {
    file: 'step.ts',
    text: '  if (!hearsQuorum(raft, role)) return follow(raft, raft.term, undefined);\n',
    replacement: '',
    because: 'a leader that is cut off goes on taking writes and reads',
  },
  {
    file: 'step.ts',
    text: 'const through = Math.min(raft.commit, log.persistedIndex);',
    replacement: 'const through = raft.commit;',
    because: 'entries are applied that a crash would take from this log',
  },
  {
    file: 'step.ts',
    text: '      if (message.granted && message.term !== raft.term + 1) return;\n',
    replacement: '',
    because: 'a late pre-vote of another election counts',
  },
  {
    file: 'step.ts',
    text: "message.kind === 'vote' && !message.transfer && hearsLeader(raft)",
    replacement: "message.kind === 'vote' && hearsLeader(raft)",
    because: 'a transfer is refused by all who hear the leader that asked for it',
  },
  {
    file: 'step.ts',
    text: "message.kind === 'vote' && !message.transfer && hearsLeader(raft)",
    replacement: "message.kind === 'vote' && message.term < 0",
    because: 'one node that lost the leader alone unseats it',
  },
  {
    file: 'step.ts',
    text: '  if (message.term < raft.term) return refuseOld(raft, from, message);\n',
    replacement: '',
    because: 'messages of old terms are taken for those of this one',
  },
  {
    file: 'outbox.ts',
    text: "relies === 'log' ? this.#lastNumber : this.#termNumber",
    replacement: "relies === 'log' ? this.#termNumber : this.#termNumber",
    because: 'answers do not wait for the entries they speak of',
  },
  {
    file: 'outbox.ts',
    text: '      if (this.#hardStateChanged) this.#termNumber = number;\n',
    replacement: '',
    because: 'a candidate asks for votes before its own is durable',
  },
];
