/**
 * A protocol as small as can be (docs/design/0049-how-to-add-a-protocol.md): over TCP, an object
 * of JSON a line, which has `do`, what that takes, and an `id`, which its answer repeats.
 */
import {createServer, type Server, type Socket} from 'node:net';
import {createInterface} from 'node:readline';
import {readArguments} from '#server/administration/arguments.ts';
import {administer, type AdministrationParts} from '#server/administration/command.ts';
import {administrativeCommands} from '#server/administration/commands.ts';
import {spokenArguments, spokenCommand} from '#server/administration/spelling.ts';
import {Refusal} from '#server/base/errors.ts';
import type {ReadMode} from '#server/cluster/read-consistency-gate.ts';
import type {WayOfCommands} from '#server/forwarding/administration-way.ts';
import {JsonParser, parseJsonText} from '#server/model/json-parser.ts';
import {jsonText} from '#server/model/json.ts';
import {parseRid} from '#server/model/rid.ts';
import {type MapValue, Rid, type Value} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {RecordCalls} from '#server/session/record-calls.ts';
import type * as api from '#server/session/session.ts';
import {statementRequest} from '#server/session/statement-request.ts';

/** The service is that of the cluster on its member, which has a way for commands too. */
type Parts = AdministrationParts & {readonly commands?: WayOfCommands | undefined};

/** Serves the protocol once it is told to listen. */
export function lineProtocol(parts: Parts): Server {
  return createServer(socket => void new LineConnection(parts, socket).serve().catch(() => {}));
}

const answerOf = (fields: Record<string, Value>): MapValue => new Map(Object.entries(fields));
const done = answerOf({done: true});

class LineConnection {
  readonly #parts: Parts;
  readonly #socket: Socket;
  readonly #client: ReturnType<Parts['service']['connect']>;
  readonly #cursors = new Map<string, api.RowCursor>();
  #principal: Principal | undefined;

  constructor(parts: Parts, socket: Socket) {
    this.#parts = parts;
    this.#socket = socket;
    this.#client = parts.service.connect({protocol: 'line'});
    socket.setNoDelay().on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const cursor of this.#cursors.values()) cursor.close();
      this.#client.close();
    });
  }

  async serve(): Promise<void> {
    for await (const line of createInterface({input: this.#socket})) {
      const given = parseJsonText(line) as MapValue;
      const answer = await this.#perform(given).catch(refusedAs);
      this.#socket.write(`${jsonText(new Map([['id', given.get('id') ?? null], ...answer]))}\n`);
    }
  }

  async #perform(given: MapValue): Promise<MapValue> {
    const {service, security} = this.#parts;
    const text = (name: string): string => (given.get(name) ?? '') as string;
    if (text('do') === 'login') {
      const source = this.#socket.remoteAddress ?? '';
      this.#principal = await security.authenticate(text('user'), text('password'), source);
      return done;
    }
    const who = this.#principal;
    if (who === undefined) throw new Refusal('security.unauthenticated', 'log in first');
    const database = text('database');
    const transactionId = text('transaction') || undefined;
    const timeoutMs = given.get('within') as number | undefined;
    const names = {clientName: text('as') || undefined, requestId: text('once') || undefined};
    const own = {database, transactionId, timeoutMs, readOnly: given.has('only')};
    const [consistency, after] = [given.get('reads') as ReadMode, given.get('after') as number];
    const scope = {...names, ...own, ...this.#client.context, consistency: {consistency, after}};
    const values = (given.get('values') ?? new Map()) as MapValue;
    const plain = statementRequest(database, text('text'), values);
    const statement = {...plain, ...scope, language: text('language') || 'sql', limit: 0};
    const rid = parseRid(text('rid')) ?? new Rid(0, 0);
    const records = new RecordCalls(service, who, scope);
    switch (text('do')) {
      case 'prepare': {
        const {columns = [], parameters} = await service.prepare(who, statement);
        const typed = (names: typeof parameters): Value =>
          new Map(names.map(({name, type}) => [name, type ?? null]));
        return answerOf({columns: typed(columns), parameters: typed(parameters)});
      }
      case 'run': {
        const cursor = await service.rows(who, statement);
        if (this.#client.signal.aborted) cursor.close();
        this.#cursors.set(text('id'), cursor);
        return answerOf({columns: [...(cursor.columns ?? [])]});
      }
      case 'next': {
        const rows = await this.#cursors.get(text('cursor'))?.next(Number(given.get('rows')));
        return answerOf({rows: (rows ?? []).map(row => [...row])});
      }
      case 'insert':
        return answerOf({record: (await records.insert(text('type'), values)) ?? null});
      case 'get':
        return answerOf({record: (await records.get(rid)) ?? null});
      case 'update':
        return answerOf({record: (await records.update(rid, values, 'merge')) ?? null});
      case 'delete':
        return answerOf({deleted: await records.delete(rid)});
      case 'load': {
        const loaded = (given.get('records') as MapValue[]).map(one => Object.fromEntries(one));
        return answerOf({...(await records.load(loaded as unknown as api.LoadedRecord[]))});
      }
      case 'begin':
        return answerOf({transaction: await service.begin(who, database, scope)});
      case 'commit':
        await service.commit(who, database, text('transaction'), undefined, scope);
        return done;
      case 'rollback':
        await service.rollback(who, database, text('transaction'), scope);
        return done;
      case 'subscribe':
        void this.#tell(await service.changes(who, {...scope, filters: [{}]})).catch(refusedAs);
        return done;
      default:
        return this.#command(who, text('do'), scope);
    }
  }

  async #tell(subscription: api.ChangeSubscription): Promise<void> {
    for (;;) {
      for (const {kind, typeName} of (await subscription.next()).changes) {
        this.#socket.write(`${jsonText(answerOf({event: kind, type: typeName}))}\n`);
      }
    }
  }

  async #command(who: Principal, line: string, context: api.RequestContext): Promise<MapValue> {
    const spoken = spokenCommand(Object.values(administrativeCommands), line);
    if (spoken === undefined) throw new Refusal('argument', `nobody knows '${line}' here`);
    const given = spokenArguments(spoken, new Map(), new JsonParser(16));
    const cluster = this.#parts.commands?.(who, true, context);
    const call = {parts: this.#parts, principal: who, isPrivate: true, context, tell() {}, cluster};
    const row = spoken.command as Parameters<typeof administer>[0];
    const answer = await administer(row, call, readArguments(row.arguments, given));
    return answerOf({answer: JSON.stringify(answer ?? null)});
  }
}

function refusedAs(error: unknown): MapValue {
  if (!(error instanceof Refusal)) throw error;
  return answerOf({refused: error.code, kind: error.category, message: error.message});
}
