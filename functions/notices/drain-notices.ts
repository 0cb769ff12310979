/** Takes events from their queue until none is visible. One that fails stays, and becomes visible again later. */
import { type NoticeDeps, type NoticeMessage, sendNotices } from './send-notices.ts';

interface Received extends NoticeMessage {
  readonly receipt: string;
}

export interface NoticeQueue {
  /** Some of the visible messages, hidden from then on for a while; none at the end. */
  receive(): Promise<readonly Received[]>;
  delete(message: Received): Promise<void>;
}

/** A round takes ten seconds for each target that does not answer: the rest waits for the next invocation. */
const MOST_ROUNDS = 5;

export async function drainNotices(deps: NoticeDeps & { readonly queue: NoticeQueue }) {
  const notes: string[] = [];
  const failed: { readonly messageId: string; readonly reason: string }[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const messages = await deps.queue.receive();
    if (messages.length === 0) break;
    const done = await sendNotices(deps, messages);
    notes.push(...done.notes);
    failed.push(...done.failed);
    const stay = new Set(done.failed.map(({ messageId }) => messageId));
    for (const message of messages) if (!stay.has(message.messageId)) await deps.queue.delete(message);
    if (stay.size > 0) break;
  }
  return { notes, failed };
}
