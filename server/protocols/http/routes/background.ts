/** Commands that nobody waits for: `awaitResponse: false` of `/command`. */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RunRequest} from '#server/session/session.ts';
import type {Exchange} from '../message/exchange.ts';
import {lateRefusal} from '../message/late-refusal.ts';

/**
 * Answers 202 and runs the statement to its end, commit included, with nobody waiting; its
 * failure shows in the log only. A stop of the server waits for it as for any request. One that is
 * refused keeps its place for as long as its refusal would have been held back.
 */
export function runInBackground(
  exchange: Exchange,
  principal: Principal,
  request: RunRequest,
): void {
  const {context} = exchange;
  const {service, options} = context;
  if (!service.databaseExists(principal, request.database)) {
    const message = `Database '${request.database}' is not available`;
    throw new Refusal('database.not-found', message);
  }
  const leave = context.backgroundPlaces.enter(principal);
  context.backgroundCount++;
  const {idempotencyKey: requestId} = exchange;
  void drain(exchange, principal, {...request, requestId, signal: undefined})
    .catch((error: unknown) => {
      const text = reasonOf(error);
      const fields = {requestId: exchange.requestId, db: request.database, error: text};
      options.logger.log('warn', 'background command failed', fields);
      return lateRefusal(context, principal, error);
    })
    .finally(leave);
  exchange.answerJson(202, {result: 'Command accepted for asynchronous execution'});
}

async function drain(
  {context}: Exchange,
  principal: Principal,
  request: RunRequest,
): Promise<void> {
  try {
    const cursor = await context.service.run(principal, request);
    try {
      while ((await cursor.next()) !== undefined);
    } finally {
      cursor.close();
    }
  } finally {
    context.backgroundCount--;
  }
}
