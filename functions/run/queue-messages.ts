/** A batch of a queue's messages: each failure goes back alone. */
import type { Clock } from '@tidewheel/kit/clock.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';

export interface QueueMessage {
  readonly messageId: string;
  readonly body: string;
}

export interface Taken {
  /** Messages to be delivered again. */
  readonly failed: readonly { readonly messageId: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

export async function takeEach<Message extends QueueMessage>(
  messages: readonly Message[],
  take: (message: Message) => Promise<string | readonly string[]>,
): Promise<Taken> {
  const failed: { messageId: string; reason: string }[] = [];
  const notes: string[] = [];
  for (const message of messages) {
    try {
      notes.push(...[await take(message)].flat());
    } catch (error: unknown) {
      failed.push({ messageId: message.messageId, reason: messageOf(error) });
    }
  }
  return { failed, notes };
}

// A queue that a function looks into now and then, until no message is visible. One that fails stays, and becomes visible
// again later.

export interface PolledMessage extends QueueMessage {
  readonly receipt: string;
  /** How often the queue has given it, this time included; 1 where that is not known. */
  readonly receives: number;
}

export interface PolledQueue {
  /** Some of the visible messages, hidden from then on for a while; none at the end. */
  receive(): Promise<readonly PolledMessage[]>;
  delete(message: PolledMessage): Promise<void>;
}

const MOST_ROUNDS = 50;
/** A server that does not answer takes ten more: the functions have 120. */
const MOST_SECONDS = 90;

/** @param take gets a batch, and whether the time of this invocation is over */
export async function drainQueue(
  { queue, clock }: { readonly queue: PolledQueue; readonly clock: Clock },
  take: (messages: readonly PolledMessage[], isTimeUp: () => boolean) => Promise<Taken>,
): Promise<Taken> {
  const until = clock.now().getTime() + MOST_SECONDS * 1_000;
  const isTimeUp = () => clock.now().getTime() > until;
  const notes: string[] = [];
  const failed: Taken['failed'][number][] = [];
  for (let round = 0; round < MOST_ROUNDS && !isTimeUp(); round += 1) {
    const messages = await queue.receive();
    if (messages.length === 0) break;
    const done = await take(messages, isTimeUp);
    notes.push(...done.notes);
    failed.push(...done.failed);
    const stay = new Set(done.failed.map(({ messageId }) => messageId));
    for (const message of messages) if (!stay.has(message.messageId)) await queue.delete(message);
  }
  return { notes, failed };
}
