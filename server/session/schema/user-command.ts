/**
 * Commands about users, given as statements.
 *
 * Only root may give them, but for the change of one's own password, which asks for the old one. A
 * user who is made by a statement gets the rights of an admin in the database it was given in.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {UserCommand} from '#server/plan/statement.ts';
import type {StatementContext} from '../statements/statement-context.ts';
import type {Security} from '#server/security/security.ts';

/** @throws {Refusal} `security.*`, `user.*`, `query.parameter` for a password that is no text. */
export async function runUserCommand(
  command: UserCommand,
  {request, server, guard}: StatementContext,
  security: Security,
): Promise<void> {
  const secret = (expression: Expression): string => secretOf(expression, request.parameters);
  if (command.kind === 'alter-user' && command.name === undefined) {
    const old = command.oldPassword === undefined ? '' : secret(command.oldPassword);
    await security.authenticate(server.user, old);
    await security.changeUser(server.user, {
      password: secret(command.password),
      databases: undefined,
    });
    return;
  }
  if (guard !== undefined) {
    throw new Refusal('security.root-only', `User '${guard.user}' is not allowed to change users`);
  }
  const {name = ''} = command;
  const isThere = security.users().some(user => user.name === name);
  switch (command.kind) {
    case 'create-user': {
      if (isThere && command.ifNotExists) return;
      const password = secret(command.password);
      if (isThere && command.orReplace) {
        return security.changeUser(name, {password, databases: undefined});
      }
      return security.createUser({name, password, databases: {[request.database]: ['admin']}});
    }
    case 'alter-user':
      if (!isThere && command.ifExists) return undefined;
      return security.changeUser(name, {
        password: secret(command.password),
        databases: undefined,
      });
    default:
      return !isThere && command.ifExists ? undefined : security.dropUser(name);
  }
}

/** A literal or a parameter: the grammar lets nothing else stand there. */
function secretOf(
  expression: Expression,
  parameters: StatementContext['request']['parameters'],
): string {
  const value =
    expression.kind === 'literal'
      ? expression.value
      : expression.kind === 'parameter'
        ? parameters.get(expression.name)
        : undefined;
  if (typeof value === 'string') return value;
  throw new Refusal('query.parameter', 'a password is a text');
}
