/**
 * What the people of the generated network write: their walls, albums and groups, the posts in
 * them, the conversations under the posts, and who likes what.
 *
 * Time runs forwards along every edge: nobody writes in a forum before joining it, no answer is
 * older than what it answers, no like older than what is liked. The rows have the columns of
 * LDBC's files in `dynamic/`.
 */
import type {Chance} from './chance.ts';
import {beginning, ending, type Person} from './persons.ts';
import type {Tables} from './tables.ts';
import {shortReplies} from './words.ts';
import type {World} from './world.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface Member {
  readonly person: Person;
  readonly since: number;
}

interface Forum {
  readonly id: number;
  readonly members: readonly Member[];
  readonly tags: readonly number[];
}

interface Message {
  readonly kind: 'post' | 'comment';
  readonly id: number;
  readonly author: Person;
  readonly creationDate: number;
  readonly tags: readonly number[];
}

interface NewMessage extends Omit<Message, 'kind' | 'id'> {
  /** The columns of its own kind; the ones of both kinds are put in front of them. */
  readonly cells: readonly (string | number)[];
}

export class Forums {
  readonly #tables: Tables;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #tagNames: ReadonlyMap<number, string>;
  #messages = 0;

  constructor(tables: Tables, world: World, chance: Chance) {
    this.#tables = tables;
    this.#world = world;
    this.#chance = chance;
    this.#tagNames = new Map(world.tags.map(({id, name}) => [id, name]));
  }

  /** A wall of which a person's friends are members; most posts are the person's own. */
  addWall(owner: Person): void {
    const opened = owner.creationDate + hourMs;
    const friends = owner.friends.map(({person, since}) => ({person, since}));
    const forum = this.#addForum(`Wall of ${owner.name}`, {
      owner,
      opened,
      members: friends,
      tags: owner.interests.slice(0, 6),
    });
    const authors = [{person: owner, since: opened}];
    for (let left = this.#chance.powerLaw(3, 60); left > 0; left -= 1) {
      this.#addPost(forum, this.#chance.in100(85) ? authors : forum.members);
    }
  }

  /** Pictures without words, for some of the friends. */
  addAlbum(owner: Person, number: number): void {
    const chance = this.#chance;
    const opened = chance.soonAfter(owner.creationDate, ending - 7 * dayMs);
    const friends = owner.friends.filter(() => chance.in100(60));
    const forum = this.#addForum(`Album ${number} of ${owner.name}`, {
      owner,
      opened,
      members: friends.map(({person, since}) => ({person, since: Math.max(since, opened) + 1})),
      tags: owner.interests.slice(0, 2),
    });
    const pictures = chance.powerLaw(4, 40);
    for (let at = 0; at < pictures; at += 1) {
      this.#addPicture(forum, {person: owner, since: opened + at * 1_000});
    }
  }

  /** A forum about one tag: people from all over, and the longest conversations. */
  addGroup(owner: Person, persons: readonly Person[]): void {
    const chance = this.#chance;
    const tag = owner.interests[0] ?? chance.pickEarly(this.#world.tags).id;
    const opened = chance.soonAfter(owner.creationDate, ending - 7 * dayMs);
    const around = owner.friends.flatMap(({person}) => [
      person,
      ...person.friends.map(friend => friend.person),
    ]);
    const candidates = [...new Set([...around, ...chance.some(persons, 4)])];
    const joined = chance.some(
      candidates.filter(person => person !== owner),
      chance.powerLaw(5, 80),
    );
    const members = joined.map(person => {
      return {person, since: chance.soonAfter(Math.max(opened, person.creationDate), ending)};
    });
    const others = chance.some(owner.interests, 2).filter(other => other !== tag);
    const forum = this.#addForum(`Group for ${this.#nameOf(tag)} in ${owner.home.name}`, {
      owner,
      opened,
      members: [{person: owner, since: opened}, ...members],
      tags: [tag, ...others],
    });
    for (let left = chance.powerLaw(5, 120); left > 0; left -= 1) {
      this.#addPost(forum, forum.members);
    }
  }

  #addForum(
    title: string,
    {owner, opened, members, tags}: Omit<Forum, 'id'> & {owner: Person; opened: number},
  ): Forum {
    const tables = this.#tables;
    const id = dated(opened) + tables.count('dynamic/forum');
    tables.add('dynamic/forum', id, title, opened);
    tables.add('dynamic/forum_hasModerator_person', id, owner.id);
    for (const tag of tags) tables.add('dynamic/forum_hasTag_tag', id, tag);
    const joined = members.map(({person, since}) => ({person, since: Math.max(since, opened)}));
    for (const {person, since} of joined) {
      tables.add('dynamic/forum_hasMember_person', id, person.id, since);
    }
    return {id, members: joined, tags};
  }

  #addPost(forum: Forum, authors: readonly Member[]): void {
    if (authors.length === 0) return;
    const chance = this.#chance;
    const {person, since} = chance.pickEarly(authors);
    const about = chance.in100(55) ? chance.some(forum.tags, 1 + chance.below(3)) : [];
    // Now and then a topic that nobody there had before.
    const tags = chance.in100(15) ? [...about, chance.pick(this.#world.tags).id] : about;
    const content = this.#textAbout(tags, person);
    const post = this.#addMessage('post', {
      author: person,
      creationDate: since + 1 + chance.below(Math.max(1, ending - since - 1)),
      tags: [...new Set(tags)],
      cells: ['', person.language, content, content.length],
    });
    this.#tables.add('dynamic/forum_containerOf_post', forum.id, post.id);
    this.#addConversation(forum, post);
    this.#addLikes(forum, post);
  }

  #addPicture(forum: Forum, {person, since}: Member): void {
    const creationDate = Math.min(ending, since + 1);
    const picture = `photo${dated(creationDate) + this.#messages}.jpg`;
    const cells = [picture, '', '', 0];
    const post = this.#addMessage('post', {author: person, creationDate, tags: [], cells});
    this.#tables.add('dynamic/forum_containerOf_post', forum.id, post.id);
    if (this.#chance.in100(10)) this.#addLikes(forum, post);
  }

  /** A tree of answers whose size has a power law; each answers something said before it. */
  #addConversation(forum: Forum, post: Message): void {
    const chance = this.#chance;
    if (forum.members.length === 0 || !chance.in100(40)) return;
    const said: Message[] = [post];
    for (let left = chance.powerLaw(2, 40); left > 0; left -= 1) {
      const answered = chance.pickEarly(said);
      const {person, since} = chance.pickEarly(forum.members);
      const isShort = chance.in100(45);
      const shared = chance.some(answered.tags, 1);
      const further = [...shared, chance.pickEarly(this.#world.tags).id];
      const tags = isShort ? [] : [...new Set(chance.in100(60) ? further : shared)];
      const content = isShort ? chance.pickEarly(shortReplies) : this.#textAbout(tags, person);
      const start = Math.max(answered.creationDate, since);
      if (start >= ending) continue;
      const comment = this.#addMessage('comment', {
        author: person,
        creationDate: chance.soonAfter(start, Math.min(ending, start + 30 * dayMs)),
        tags,
        cells: [content, content.length],
      });
      this.#tables.add(`dynamic/comment_replyOf_${answered.kind}`, comment.id, answered.id);
      this.#addLikes(forum, comment);
      said.push(comment);
    }
  }

  #addLikes(forum: Forum, message: Message): void {
    const chance = this.#chance;
    if (!chance.in100(25)) return;
    const friends = message.author.friends.map(({person}) => person);
    const near = [...new Set([...friends, ...forum.members.map(({person}) => person)])];
    for (const person of chance.some(near, chance.powerLaw(1, 40))) {
      const start = Math.max(message.creationDate, person.creationDate);
      const when = chance.soonAfter(start, ending);
      this.#tables.add(`dynamic/person_likes_${message.kind}`, person.id, message.id, when);
    }
  }

  #addMessage(kind: Message['kind'], {author, creationDate, tags, cells}: NewMessage): Message {
    const chance = this.#chance;
    const tables = this.#tables;
    const id = dated(creationDate) + this.#messages;
    this.#messages += 1;
    const table = `dynamic/${kind}`;
    const {address, browser} = author;
    // A post begins with the name of its picture, and says in which language it is.
    const [picture = '', ...rest] = cells;
    if (kind === 'post') tables.add(table, id, picture, creationDate, address, browser, ...rest);
    else tables.add(table, id, creationDate, address, browser, ...cells);
    const isAway = chance.in100(20);
    const place = isAway ? chance.pickEarly(this.#world.cities) : author.home;
    tables.add(`${table}_hasCreator_person`, id, author.id);
    tables.add(`${table}_isLocatedIn_place`, id, place.countryId);
    for (const tag of tags) tables.add(`${table}_hasTag_tag`, id, tag);
    return {kind, id, author, creationDate, tags};
  }

  #textAbout(tags: readonly number[], {home}: Person): string {
    const chance = this.#chance;
    const about = tags.map(tag => `About ${this.#nameOf(tag).replaceAll('_', ' ')}`);
    const weather = chance.pick(['sun', 'rain', 'snow', 'wind', 'fog']);
    const closing = `there was ${weather} in ${home.name} ${1 + chance.below(28)} times`;
    return [...about, closing].join(', ');
  }

  #nameOf(tag: number): string {
    const name = this.#tagNames.get(tag);
    if (name === undefined) throw new Error(`there is no tag ${tag}`);
    return name;
  }
}

/** Ids grow with time, as LDBC does it: the day in the high bits, a serial number in the low. */
function dated(time: number): number {
  return Math.floor((time - beginning) / dayMs) * 2 ** 36;
}
