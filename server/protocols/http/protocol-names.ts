/** What paths and headers of this protocol are called, where several files need to know. */

/** Where the paths of all routes begin. */
export const basePath = '/api/v1/';

/** Names the transaction that a request runs in. */
export const sessionHeader = 'svc-session-id';

/** Names the conversation that a request belongs to, and in an answer the one that has begun. */
export const conversationHeader = 'mcp-session-id';
